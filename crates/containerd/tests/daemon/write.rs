//! Writing blobs.

use airdock_containerd::{Body, Client, Error, Labels, Written};
use airdock_testkit::{Daemon, Outcome, Suite};
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::blob::{Blob, ingests, queue};
use crate::{LEASE, in_an_hour, with_client};

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .on_each_containerd("a_small_blob_arrives", &[], with_client(small))
        .on_each_containerd("an_empty_blob_arrives", &[], with_client(empty))
        .on_each_containerd("a_large_blob_arrives_either_way", &[], with_client(large))
        .on_each_containerd(
            "a_blob_that_is_there_is_not_sent",
            &[],
            with_client(already_there),
        )
        .on_each_containerd(
            "wrong_bytes_are_refused_and_leave_nothing",
            &[],
            with_client(wrong_bytes),
        )
        .on_each_containerd(
            "a_body_of_another_size_leaves_nothing",
            &[],
            with_client(wrong_size),
        )
        .on_each_containerd(
            "a_body_that_fails_leaves_nothing",
            &[],
            with_client(failing_body),
        )
        .on_each_containerd(
            "what_an_earlier_writer_left_is_never_resumed",
            &[],
            with_client(leftover),
        )
        .on_each_containerd(
            "another_writer_of_the_same_blob_is_waited_for",
            &[],
            with_client(locked),
        )
        .on_each_containerd(
            "a_blob_of_another_namespace_is_shared",
            &[],
            with_client(shared),
        )
}

async fn small(client: Client, daemon: &mut Daemon) -> Outcome {
    let blob = Blob::of("small");
    assert_eq!(blob.write(&client, blob.whole()).await?, Written::Committed);
    assert!(blob.is_in(daemon));
    let listed = daemon.ctr_text(&["content", "ls"])?;
    assert!(listed.contains("io.airdock.bundle=b1"), "{listed}");
    assert!(ingests(daemon)?.is_empty());
    Ok(())
}

async fn empty(client: Client, daemon: &mut Daemon) -> Outcome {
    let blob = Blob::of("");
    assert_eq!(blob.write(&client, blob.whole()).await?, Written::Committed);
    assert!(blob.is_in(daemon));
    Ok(())
}

async fn large(client: Client, daemon: &mut Daemon) -> Outcome {
    let (chunked, whole) = (Blob::large(1), Blob::large(2));
    let written = chunked.write(&client, chunked.chunks()).await?;
    assert_eq!(written, Written::Committed);
    let written = whole.write(&client, whole.whole()).await?;
    assert_eq!(written, Written::Committed);
    assert!(chunked.is_in(daemon) && whole.is_in(daemon));
    let info = client.content_info(&chunked.digest).await?.unwrap();
    assert_eq!(info.labels, chunked.request().labels);
    Ok(())
}

async fn already_there(client: Client, daemon: &mut Daemon) -> Outcome {
    let blob = Blob::large(3);
    blob.write(&client, blob.chunks()).await?;
    let (chunks, receiver) = mpsc::channel(1);
    let again = blob.write(&client, Body::Chunks(receiver)).await?;
    assert_eq!(again, Written::AlreadyExists);
    // Nothing was taken, and nobody is there to take it.
    assert!(chunks.try_send(Ok(Bytes::new())).is_err());

    let small = Blob::of("small");
    small.write(&client, small.whole()).await?;
    let again = small.write(&client, small.whole()).await?;
    assert_eq!(again, Written::AlreadyExists);
    assert!(ingests(daemon)?.is_empty());
    Ok(())
}

async fn wrong_bytes(client: Client, daemon: &mut Daemon) -> Outcome {
    for (right, wrong) in [
        (Blob::of("right"), Blob::of("wrong")),
        (Blob::large(4), Blob::large(5)),
    ] {
        for body in [wrong.whole(), wrong.chunks()] {
            let error = right.write(&client, body).await.unwrap_err();
            assert!(matches!(error, Error::FailedPrecondition { .. }), "{error}");
            assert!(!error.is_retryable());
            assert!(error.to_string().contains(&right.digest), "{error}");
        }
    }
    assert!(ingests(daemon)?.is_empty());
    assert!(client.content_list().await?.is_empty());
    Ok(())
}

async fn wrong_size(client: Client, daemon: &mut Daemon) -> Outcome {
    let blob = Blob::large(6);
    let mut request = blob.request();
    for size in [0, request.size - 1, request.size + 1] {
        request.size = size;
        for body in [blob.whole(), blob.chunks()] {
            let written = client.write(Some(LEASE), request.clone(), body).await;
            assert!(
                matches!(written, Err(Error::BodySize { .. })),
                "{size}: {written:?}"
            );
        }
    }
    assert!(ingests(daemon)?.is_empty());
    Ok(())
}

async fn failing_body(client: Client, daemon: &mut Daemon) -> Outcome {
    let blob = Blob::large(7);
    let body = Body::Chunks(queue([
        Ok(blob.data.slice(..5_000_000)),
        Err("the disk is gone".into()),
    ]));
    let error = blob.write(&client, body).await.unwrap_err();
    let Error::Body { source, .. } = error else {
        return Err(error.into());
    };
    assert_eq!(source.to_string(), "the disk is gone");
    assert!(ingests(daemon)?.is_empty());
    assert_eq!(
        blob.write(&client, blob.chunks()).await?,
        Written::Committed
    );
    Ok(())
}

/// Leaves `data` behind under `blob`'s reference, as a killed writer would.
async fn leave(client: &Client, blob: &Blob, data: &Bytes) -> Outcome {
    let (chunks, receiver) = mpsc::channel(1);
    let write = blob.write(client, Body::Chunks(receiver));
    let watch = async {
        chunks.send(Ok(data.clone())).await?;
        loop {
            let left = client.ingests(&blob.reference()).await?;
            if left.iter().any(|it| it.offset == data.len() as u64) {
                return Outcome::Ok(());
            }
        }
    };
    tokio::select! {
        written = write => Err(format!("ended with {written:?}").into()),
        watched = watch => watched,
    }
}

async fn leftover(client: Client, daemon: &mut Daemon) -> Outcome {
    let foreign = Blob::large(8).data;
    for (seed, left) in [(20, foreign.slice(..5_000_000)), (30, foreign)] {
        let (chunked, whole) = (Blob::large(seed), Blob::large(seed + 1));
        for (blob, body) in [(&chunked, chunked.chunks()), (&whole, whole.whole())] {
            leave(&client, blob, &left).await?;
            assert_eq!(ingests(daemon)?.len(), 1);
            assert_eq!(blob.write(&client, body).await?, Written::Committed);
            assert!(blob.is_in(daemon));
            assert!(ingests(daemon)?.is_empty());
        }
    }
    let small = Blob::of("small");
    leave(&client, &small, &Bytes::from_static(b"fore")).await?;
    let written = small.write(&client, small.whole()).await?;
    assert_eq!(written, Written::Committed);
    assert!(small.is_in(daemon));
    Ok(())
}

async fn locked(client: Client, daemon: &mut Daemon) -> Outcome {
    let blob = Blob::large(10);
    let other = &client.connections(1)[0];
    let (chunks, receiver) = mpsc::channel(1);
    let first = blob.write(&client, Body::Chunks(receiver));
    let second = async {
        // The first has the ingest open once it takes from its body.
        let _ = chunks.send(Ok(blob.data.slice(..1))).await;
        let room = chunks.reserve_owned().await.unwrap();
        let feed = async {
            while !daemon.log().contains("locked") {
                tokio::task::yield_now().await;
            }
            room.send(Ok(blob.data.slice(1..)));
        };
        tokio::join!(blob.write(other, blob.chunks()), feed).0
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(
        (first?, second?),
        (Written::Committed, Written::AlreadyExists)
    );
    assert!(blob.is_in(daemon));
    Ok(())
}

async fn shared(client: Client, daemon: &mut Daemon) -> Outcome {
    let elsewhere = Client::connect(client.socket(), "elsewhere")?;
    elsewhere
        .lease_create(LEASE, in_an_hour(), Labels::new())
        .await?;
    let (chunked, whole, small) = (Blob::large(11), Blob::large(12), Blob::of("small"));
    for blob in [&chunked, &whole, &small] {
        blob.write(&elsewhere, blob.chunks()).await?;
        assert!(!blob.is_in(daemon));
    }
    // Committed without a byte of it: there is no body.
    let (_chunks, receiver) = mpsc::channel(1);
    let written = chunked.write(&client, Body::Chunks(receiver)).await?;
    assert_eq!(written, Written::Committed);
    for blob in [&whole, &small] {
        let written = blob.write(&client, blob.whole()).await?;
        assert_eq!(written, Written::Committed);
    }
    assert!(chunked.is_in(daemon) && whole.is_in(daemon) && small.is_in(daemon));
    let info = client.content_info(&chunked.digest).await?.unwrap();
    assert_eq!(info.labels, chunked.request().labels);
    Ok(())
}
