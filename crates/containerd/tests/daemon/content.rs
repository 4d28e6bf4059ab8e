//! Blobs that are in the store.

use airdock_containerd::{Client, Error};
use airdock_testkit::fixture::sha256;
use airdock_testkit::{Daemon, Outcome, Suite};
use futures_util::TryStreamExt;

use crate::blob::{Blob, labels};
use crate::{LEASE, with_client};

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .on_each_containerd("content_is_listed_at_any_number", &[], with_client(list))
        .on_each_containerd("content_is_read_back", &[], with_client(read))
        .on_each_containerd("labels_change_one_by_one", &[], with_client(update))
        .on_each_containerd("deleted_content_is_gone", &[], with_client(delete))
        .on_each_containerd(
            "an_over_long_label_is_refused",
            &[],
            with_client(long_label),
        )
        .on_each_containerd("aborting_nothing_is_no_error", &[], with_client(abort))
}

async fn list(client: Client, _daemon: &mut Daemon) -> Outcome {
    // The daemon sends a hundred at a time.
    let blobs: Vec<Blob> = (0..120).map(|n| Blob::of(format!("blob {n}"))).collect();
    for blob in &blobs {
        blob.write(&client, blob.whole()).await?;
    }
    let listed = client.content_list().await?;
    let mut digests: Vec<&str> = listed.iter().map(|info| info.digest.as_str()).collect();
    let mut expected: Vec<&str> = blobs.iter().map(|blob| blob.digest.as_str()).collect();
    digests.sort_unstable();
    expected.sort_unstable();
    assert_eq!(digests, expected);
    assert!(
        listed
            .iter()
            .all(|it| it.labels == blobs[0].request().labels)
    );
    Ok(())
}

async fn read(client: Client, _daemon: &mut Daemon) -> Outcome {
    for blob in [Blob::large(1), Blob::of("small"), Blob::of("")] {
        blob.write(&client, blob.whole()).await?;
        let read = client.content_read(&blob.digest);
        let chunks: Vec<_> = read.try_collect().await?;
        assert!(chunks.concat() == blob.data);
    }
    let error = client.content_read(&sha256(b"absent")).try_next().await;
    assert!(matches!(error, Err(Error::NotFound { .. })));
    Ok(())
}

async fn update(client: Client, daemon: &mut Daemon) -> Outcome {
    let blob = Blob::of("labelled");
    blob.write(&client, blob.whole()).await?;
    daemon.ctr_text(&["content", "label", &blob.digest, "theirs=1"])?;
    let change = labels(&[
        ("io.airdock.bundle", "b2"),
        ("containerd.io/gc.ref.content.l.0", "x"),
    ]);
    client.content_update_labels(&blob.digest, change).await?;
    let info = client.content_info(&blob.digest).await?.unwrap();
    let expected = [
        ("io.airdock.bundle", "b2"),
        ("containerd.io/gc.ref.content.l.0", "x"),
        ("theirs", "1"),
    ];
    assert_eq!(info.labels, labels(&expected));
    let removal = labels(&[("io.airdock.bundle", "")]);
    client.content_update_labels(&blob.digest, removal).await?;
    let info = client.content_info(&blob.digest).await?.unwrap();
    assert_eq!(info.labels, labels(&expected[1..]));
    Ok(())
}

async fn delete(client: Client, daemon: &mut Daemon) -> Outcome {
    let blob = Blob::of("short-lived");
    blob.write(&client, blob.whole()).await?;
    assert!(client.content_delete(&blob.digest).await?);
    assert!(!client.content_delete(&blob.digest).await?);
    assert_eq!(client.content_info(&blob.digest).await?, None);
    assert!(!blob.is_in(daemon));
    Ok(())
}

async fn long_label(client: Client, daemon: &mut Daemon) -> Outcome {
    let blob = Blob::of("labelled");
    let mut request = blob.request();
    request.labels = labels(&[("io.airdock.bundle", &"x".repeat(5000))]);
    let written = client.write(Some(LEASE), request, blob.whole()).await;
    assert!(
        matches!(written, Err(Error::InvalidArgument { .. })),
        "{written:?}"
    );
    assert!(crate::blob::ingests(daemon)?.is_empty());
    Ok(())
}

async fn abort(client: Client, _daemon: &mut Daemon) -> Outcome {
    assert!(!client.abort("airdock-nothing").await?);
    assert!(client.ingests("").await?.is_empty());
    Ok(())
}
