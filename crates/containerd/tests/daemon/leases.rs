//! Leases, and what they protect.

use airdock_containerd::{Client, Error, Labels, Written};
use airdock_testkit::{Daemon, Outcome, Suite};

use crate::blob::{Blob, labels};
use crate::{in_an_hour, with_client};

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .on_each_containerd("a_lease_is_listed_until_deleted", &[], with_client(list))
        .on_each_containerd(
            "a_lease_protects_what_was_written_under_it",
            &[],
            with_client(protects),
        )
        .on_each_containerd(
            "a_blob_that_was_there_is_protected_too",
            &[],
            with_client(adopts),
        )
        .on_each_containerd("an_unknown_lease_is_named", &[], with_client(unknown))
}

/// Has garbage collected: what nothing refers to is gone after this.
async fn collect(client: &Client) -> Result<(), Error> {
    client
        .lease_create("other", in_an_hour(), Labels::new())
        .await?;
    client.lease_delete("other", true).await?;
    Ok(())
}

async fn list(client: Client, daemon: &mut Daemon) -> Outcome {
    let ours = labels(&[("io.airdock.bundle", "b1")]);
    client.lease_create("airdock-1", in_an_hour(), ours).await?;
    client
        .lease_create("other", in_an_hour(), Labels::new())
        .await?;
    let leases = client.leases("airdock-").await?;
    assert_eq!(leases.len(), 1);
    assert_eq!(leases[0].id, "airdock-1");
    assert_eq!(leases[0].labels["io.airdock.bundle"], "b1");
    assert!(leases[0].created.is_some());
    let listed = daemon.ctr_text(&["leases", "ls"])?;
    assert!(listed.contains("airdock-1") && listed.contains("containerd.io/gc.expire="));

    let again = client
        .lease_create("airdock-1", in_an_hour(), Labels::new())
        .await;
    assert!(
        matches!(again, Err(Error::AlreadyExists { .. })),
        "{again:?}"
    );
    assert!(client.lease_delete("airdock-1", false).await?);
    assert!(!client.lease_delete("airdock-1", true).await?);
    assert!(client.leases("airdock-").await?.is_empty());
    Ok(())
}

async fn protects(client: Client, daemon: &mut Daemon) -> Outcome {
    let (small, large) = (Blob::of("small"), Blob::large(1));
    client
        .lease_create("airdock-1", in_an_hour(), Labels::new())
        .await?;
    for (blob, body) in [(&small, small.whole()), (&large, large.chunks())] {
        let lease = Some("airdock-1");
        client.write(lease, blob.request(), body).await?;
    }
    collect(&client).await?;
    assert!(small.is_in(daemon) && large.is_in(daemon));
    client.lease_delete("airdock-1", true).await?;
    assert!(!small.is_in(daemon) && !large.is_in(daemon));
    Ok(())
}

async fn adopts(client: Client, daemon: &mut Daemon) -> Outcome {
    let (rewritten, added, large) = (Blob::of("rewritten"), Blob::of("added"), Blob::large(2));
    for lease in ["airdock-1", "airdock-2"] {
        client
            .lease_create(lease, in_an_hour(), Labels::new())
            .await?;
    }
    for blob in [&rewritten, &added, &large] {
        let lease = Some("airdock-1");
        client.write(lease, blob.request(), blob.whole()).await?;
    }
    for blob in [&rewritten, &large] {
        let lease = Some("airdock-2");
        let written = client.write(lease, blob.request(), blob.chunks()).await?;
        assert_eq!(written, Written::AlreadyExists);
    }
    client.lease_add("airdock-2", &added.digest).await?;
    client.lease_delete("airdock-1", true).await?;
    assert!(rewritten.is_in(daemon) && added.is_in(daemon) && large.is_in(daemon));
    Ok(())
}

async fn unknown(client: Client, _daemon: &mut Daemon) -> Outcome {
    let blob = Blob::large(3);
    for body in [blob.whole(), blob.chunks()] {
        let written = client.write(Some("airdock-9"), blob.request(), body).await;
        let error = written.unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{error}");
        assert!(error.to_string().contains("airdock-9"), "{error}");
    }
    assert!(client.ingests("").await?.is_empty());
    Ok(())
}
