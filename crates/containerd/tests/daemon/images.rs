//! Image records.

use std::time::SystemTime;

use airdock_containerd::{Client, Error, Record, SumKey, Target};
use airdock_testkit::{Daemon, Outcome, Suite};

use crate::blob::{Blob, labels};
use crate::with_client;

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .on_each_containerd("a_name_is_created_once", &[], with_client(create))
        .on_each_containerd("an_update_changes_what_it_lists", &[], with_client(update))
        .on_each_containerd("images_are_listed_and_filtered", &[], with_client(list))
        .on_each_containerd(
            "a_list_tells_whether_anything_changed",
            &[],
            with_client(sums),
        )
        .on_each_containerd("a_deleted_name_is_gone", &[], with_client(delete))
}

const NAME: &str = "docker.io/library/t:1";

fn record(name: &str, target: &Blob) -> Record {
    Record {
        name: name.to_owned(),
        target: Target {
            media_type: "application/vnd.oci.image.manifest.v1+json".to_owned(),
            digest: target.digest.clone(),
            size: target.data.len() as u64,
        },
        labels: labels(&[("io.airdock.bundle", "b1")]),
        created: None,
        updated: None,
    }
}

async fn create(client: Client, daemon: &mut Daemon) -> Outcome {
    let record = record(NAME, &Blob::of("{}"));
    assert_eq!(client.image(NAME).await?, None);
    client.image_create(None, &record).await?;
    let found = client.image(NAME).await?.unwrap();
    assert!(found.created.is_some_and(|time| time <= SystemTime::now()));
    assert_eq!(found.target, record.target);
    assert_eq!(found.labels, record.labels);
    assert!(
        daemon
            .ctr_text(&["images", "ls"])?
            .contains("io.airdock.bundle=b1")
    );
    let error = client.image_create(None, &record).await.unwrap_err();
    assert!(matches!(error, Error::AlreadyExists { .. }), "{error}");
    assert!(error.to_string().contains(NAME), "{error}");
    Ok(())
}

async fn update(client: Client, daemon: &mut Daemon) -> Outcome {
    let (old, new) = (Blob::of("{}"), Blob::of("{ }"));
    client.image_create(None, &record(NAME, &old)).await?;
    daemon.ctr_text(&["images", "label", NAME, "theirs=1"])?;

    let mut change = record(NAME, &new);
    change.labels = labels(&[("pinned", "yes"), ("not.in.the.mask", "1")]);
    let mask = ["target", "labels.pinned", "labels.io.airdock.bundle"];
    client.image_update(None, &change, &mask).await?;
    let found = client.image(NAME).await?.unwrap();
    assert_eq!(found.target, change.target);
    assert_eq!(found.labels, labels(&[("pinned", "yes"), ("theirs", "1")]));

    let absent = record("docker.io/library/absent:1", &new);
    let error = client.image_update(None, &absent, &["target"]).await;
    assert!(matches!(error, Err(Error::NotFound { .. })), "{error:?}");
    Ok(())
}

async fn list(client: Client, _daemon: &mut Daemon) -> Outcome {
    let names = ["docker.io/library/a:1", "docker.io/library/b:1"];
    for name in names {
        let record = record(name, &Blob::of("{}"));
        client.image_create(None, &record).await?;
    }
    let listed = client.images(&[]).await?;
    let listed: Vec<_> = listed.iter().map(|record| record.name.as_str()).collect();
    assert_eq!(listed, names);
    let filter = format!("name=={}", names[1]);
    let found = client.images(&[&filter]).await?;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].name, names[1]);
    Ok(())
}

async fn sums(client: Client, _daemon: &mut Daemon) -> Outcome {
    let blob = Blob::of("{}");
    blob.write(&client, blob.whole()).await?;
    let many: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    let many: Vec<_> = many.iter().map(|n| (n.as_str(), n.as_str())).collect();
    let mut record = record(NAME, &blob);
    record.labels = labels(&many);
    client.image_create(None, &record).await?;
    client
        .content_update_labels(&blob.digest, labels(&many))
        .await?;
    let key = SumKey::default();
    let sum = async || -> Result<_, Error> {
        let images = client.image_listing(&[]).await?.sum(&key);
        let content = client.content_listing().await?.sum(&key);
        Ok((images, content))
    };
    let (images, content) = sum().await?;
    // The daemon shuffles labels each time.
    for _ in 0..10 {
        assert_eq!(sum().await?, (images, content));
    }
    let change = labels(&[("7", "8")]);
    client.content_update_labels(&blob.digest, change).await?;
    let (same, changed) = sum().await?;
    assert_eq!(same, images);
    assert_ne!(changed, content);
    record.labels.insert("7".to_owned(), "8".to_owned());
    client.image_update(None, &record, &["labels.7"]).await?;
    assert_ne!(sum().await?.0, images);
    Ok(())
}

async fn delete(client: Client, daemon: &mut Daemon) -> Outcome {
    for sync in [false, true] {
        client
            .image_create(None, &record(NAME, &Blob::of("{}")))
            .await?;
        assert!(client.image_delete(NAME, sync).await?);
        assert!(!client.image_delete(NAME, sync).await?);
        assert!(!daemon.ctr_text(&["images", "ls"])?.contains(NAME));
    }
    Ok(())
}
