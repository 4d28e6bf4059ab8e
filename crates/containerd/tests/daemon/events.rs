//! Events.

use airdock_containerd::{Client, Event, Record, Target, Topic};
use airdock_testkit::{Daemon, Outcome, Suite};
use futures_util::StreamExt;

use crate::blob::{Blob, labels};
use crate::with_client;

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .on_each_containerd("image_events_name_the_image", &[], with_client(images))
        .on_each_containerd("content_events_name_the_digest", &[], with_client(content))
        .on_each_containerd(
            "a_stopped_daemon_ends_the_stream",
            &[],
            with_client(stopped),
        )
}

const NAME: &str = "docker.io/library/t:1";

fn record(name: &str) -> Record {
    Record {
        name: name.to_owned(),
        target: Target {
            media_type: "application/vnd.oci.image.manifest.v1+json".to_owned(),
            digest: Blob::of("{}").digest,
            size: 2,
        },
        labels: labels(&[]),
        created: None,
        updated: None,
    }
}

async fn images(client: Client, _daemon: &mut Daemon) -> Outcome {
    let elsewhere = Client::connect(client.socket(), "elsewhere")?;
    let mut events = client.events(&Topic::ALL);
    let changes = async {
        elsewhere.image_create(None, &record("elsewhere:1")).await?;
        client.image_create(None, &record(NAME)).await?;
        client
            .image_update(None, &record(NAME), &["target"])
            .await?;
        client.image_delete(NAME, false).await
    };
    // Polled first, as its promise demands.
    let (seen, changed) = tokio::join!(events.by_ref().take(3).collect::<Vec<_>>(), changes);
    changed?;
    let expected = [Topic::ImageCreate, Topic::ImageUpdate, Topic::ImageDelete];
    for (event, topic) in seen.into_iter().zip(expected) {
        let name = NAME.to_owned();
        assert_eq!(event?, Event { topic, name });
    }
    Ok(())
}

async fn content(client: Client, _daemon: &mut Daemon) -> Outcome {
    let blob = Blob::of("short-lived");
    let mut events = client.events(&[Topic::ContentDelete]);
    let changes = async {
        blob.write(&client, blob.whole()).await?;
        client.content_delete(&blob.digest).await
    };
    let (seen, changed) = tokio::join!(events.next(), changes);
    changed?;
    let expected = Event {
        topic: Topic::ContentDelete,
        name: blob.digest,
    };
    assert_eq!(seen.unwrap()?, expected);
    Ok(())
}

async fn stopped(client: Client, daemon: &mut Daemon) -> Outcome {
    let mut events = client.events(&Topic::ALL);
    let record = record(NAME);
    let change = client.image_create(None, &record);
    let (first, changed) = tokio::join!(events.next(), change);
    changed?;
    first.unwrap()?;
    daemon.kill()?;
    let error = events.next().await.unwrap().unwrap_err();
    assert!(error.is_retryable(), "{error}");
    Ok(())
}
