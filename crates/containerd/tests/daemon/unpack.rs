//! Unpacking.

use airdock_containerd::{Body, Client, Error, Record, Target, UnpackLayer};
use airdock_testkit::fixture::{self, Image, Layer, sha256};
use airdock_testkit::{Daemon, Need, Outcome, Suite};

use crate::blob::{Blob, labels};
use crate::{LEASE, with_client};

const SNAPSHOTTER: &str = "overlayfs";

const NEEDS: &[Need] = &[Need::Root, Need::Overlay];

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .on_each_containerd("layers_become_snapshots", NEEDS, with_client(unpack))
        .on_each_containerd(
            "unpacking_twice_is_unpacking_once",
            NEEDS,
            with_client(twice),
        )
        .on_each_containerd("a_wrong_diff_id_leaves_nothing", NEEDS, with_client(wrong))
}

/// An image with a plain and a compressed layer.
fn image() -> Image {
    Image::new()
        .layer(Layer::file("one", b"1"))
        .layer(Layer::file("two", b"2").gzip())
}

/// An image in the store.
struct Written {
    config: String,
    layers: Vec<UnpackLayer>,
}

impl Written {
    async fn unpack(&self, client: &Client) -> Result<(), Error> {
        let mut unpack = client.unpack(LEASE, SNAPSHOTTER);
        for layer in &self.layers {
            unpack.layer(layer).await?;
        }
        unpack.hold(&self.config).await
    }

    async fn is_unpacked(&self, client: &Client) -> Result<bool, Error> {
        let top = self.layers.last().expect("it has layers");
        client
            .is_unpacked(SNAPSHOTTER, &self.config, &top.chain_id)
            .await
    }
}

/// Writes the image's blobs; what to unpack of it.
async fn write(client: &Client, image: &Image) -> Result<Written, Error> {
    for blob in image.blobs() {
        let blob = Blob::of(blob.content);
        blob.write(client, Body::Whole(blob.data.clone())).await?;
    }
    let mut chain_id = String::new();
    let layers = image.layers().iter().map(|layer| {
        chain_id = match chain_id.as_str() {
            "" => layer.diff_id(),
            parent => sha256(format!("{parent} {}", layer.diff_id()).as_bytes()),
        };
        UnpackLayer {
            blob: target(layer.blob()),
            diff_id: layer.diff_id(),
            chain_id: chain_id.clone(),
        }
    });
    Ok(Written {
        config: image.config().digest().to_owned(),
        layers: layers.collect(),
    })
}

fn target(blob: &fixture::Blob) -> Target {
    Target {
        media_type: blob.descriptor.media_type.clone(),
        digest: blob.digest().to_owned(),
        size: blob.descriptor.size,
    }
}

async fn unpack(client: Client, daemon: &mut Daemon) -> Outcome {
    let image = image();
    let written = write(&client, &image).await?;
    assert!(!written.is_unpacked(&client).await?);
    written.unpack(&client).await?;
    assert!(written.is_unpacked(&client).await?);
    // From here on the config, which a name holds, holds the snapshots.
    let record = Record {
        name: "example.com/airdock/t:1".to_owned(),
        target: target(&image.config()),
        labels: labels(&[]),
        created: None,
        updated: None,
    };
    client.image_create(None, &record).await?;
    client.lease_delete(LEASE, true).await?;
    let listed = daemon.ctr_text(&["snapshots", "ls"])?;
    for layer in &written.layers {
        assert!(listed.contains(&layer.chain_id), "{listed}");
        assert!(client.snapshot_exists(SNAPSHOTTER, &layer.chain_id).await?);
    }
    assert!(!listed.contains("airdock-"), "{listed}");
    client.image_delete(&record.name, true).await?;
    assert!(
        !client
            .snapshot_exists(SNAPSHOTTER, &written.layers[0].chain_id)
            .await?
    );
    Ok(())
}

async fn twice(client: Client, daemon: &mut Daemon) -> Outcome {
    let written = write(&client, &image()).await?;
    let (one, two) = tokio::join!(written.unpack(&client), written.unpack(&client));
    one?;
    two?;
    written.unpack(&client).await?;
    let listed = daemon.ctr_text(&["snapshots", "ls"])?;
    assert_eq!(listed.lines().count(), 1 + written.layers.len(), "{listed}");
    for layer in &written.layers {
        let info = client.content_info(&layer.blob.digest).await?.unwrap();
        assert_eq!(info.labels["containerd.io/uncompressed"], layer.diff_id);
    }
    Ok(())
}

async fn wrong(client: Client, daemon: &mut Daemon) -> Outcome {
    let mut written = write(&client, &image()).await?;
    written.layers[1].diff_id = sha256(b"something else");
    let error = written.unpack(&client).await.unwrap_err();
    assert!(matches!(error, Error::DiffId { .. }), "{error}");
    assert!(error.to_string().contains(&written.layers[1].blob.digest));
    let listed = daemon.ctr_text(&["snapshots", "ls"])?;
    assert!(listed.contains(&written.layers[0].chain_id), "{listed}");
    assert!(!listed.contains(&written.layers[1].chain_id), "{listed}");
    assert!(!listed.contains("airdock-"), "{listed}");
    Ok(())
}
