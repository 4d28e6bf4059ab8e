//! Unpacking an image's layers ahead of its first container.

use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Labels;
use crate::client::Client;
use crate::error::{Call, Error};
use crate::images::Target;
use crate::proto::snapshots::{CommitSnapshotRequest, PrepareSnapshotRequest};

/// Tells Prepare what its snapshot shall become, so that it can say that this exists.
const SNAPSHOT_REF: &str = "containerd.io/snapshot.ref";

/// On a compressed layer: the digest of its tar, which saves others the decompression.
const UNCOMPRESSED: &str = "containerd.io/uncompressed";

/// On a config: the snapshot of its topmost layer, which lives as long as the config.
const SNAPSHOT_GC_REF: &str = "containerd.io/gc.ref.snapshot.";

/// One layer of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnpackLayer {
    pub blob: Target,
    /// The digest of its tar.
    pub diff_id: String,
    /// The name of its snapshot: the hash over this layer's and all lower layers' diff ids.
    pub chain_id: String,
}

/// An image on its way into a snapshotter, from the lowest layer to the topmost.
#[derive(Debug)]
pub struct Unpack {
    client: Client,
    lease: String,
    snapshotter: String,
    /// The snapshot that the next one stands on: none below the lowest.
    top: String,
}

impl Client {
    /// Begins to unpack an image. What is unpacked of it is under the lease.
    pub fn unpack(&self, lease: &str, snapshotter: &str) -> Unpack {
        Unpack {
            client: self.clone(),
            lease: lease.to_owned(),
            snapshotter: snapshotter.to_owned(),
            top: String::new(),
        }
    }

    /// Whether the snapshot of an image's topmost layer is there, and lives as long as its config.
    pub async fn is_unpacked(
        &self,
        snapshotter: &str,
        config: &str,
        top: &str,
    ) -> Result<bool, Error> {
        let info = self.content_info(config).await?;
        let label = format!("{SNAPSHOT_GC_REF}{snapshotter}");
        let is_held = info.is_some_and(|info| info.labels.get(&label).is_some_and(|it| it == top));
        Ok(is_held && self.snapshot_exists(snapshotter, top).await?)
    }
}

impl Unpack {
    /// Unpacks the next layer, whose blob must be in the store, unless that is done. Nothing
    /// half-done stays when it fails. Who does the same at once does it in vain, but no harm.
    pub async fn layer(&mut self, layer: &UnpackLayer) -> Result<(), Error> {
        let key = format!("airdock-{} {}", unique(), layer.chain_id);
        match self.apply(&key, layer).await {
            Ok(()) => self.label(layer).await?,
            Err(error) => {
                // It may not be there, and there is an error to tell already.
                let _ = self.client.snapshot_remove(&self.snapshotter, &key).await;
                // Before we began, or while we worked.
                if !matches!(error, Error::AlreadyExists { .. }) {
                    return Err(error);
                }
            }
        }
        self.top.clone_from(&layer.chain_id);
        Ok(())
    }

    /// Has the snapshots live as long as the image's config, which must be in the store.
    pub async fn hold(&self, config: &str) -> Result<(), Error> {
        if self.top.is_empty() {
            return Ok(());
        }
        let label = format!("{SNAPSHOT_GC_REF}{}", self.snapshotter);
        let labels = Labels::from([(label, self.top.clone())]);
        self.client.content_update_labels(config, labels).await
    }

    async fn apply(&self, key: &str, layer: &UnpackLayer) -> Result<(), Error> {
        let labels = Labels::from([(SNAPSHOT_REF.to_owned(), layer.chain_id.clone())]);
        let prepare = PrepareSnapshotRequest {
            snapshotter: self.snapshotter.clone(),
            key: key.to_owned(),
            parent: self.top.clone(),
            labels: labels.clone(),
        };
        let client = &self.client;
        let mounts = client.snapshot_prepare(&self.lease, prepare).await?;
        let given = client.diff_apply(&self.lease, &layer.blob, mounts).await?;
        check(layer, given)?;
        let commit = CommitSnapshotRequest {
            snapshotter: self.snapshotter.clone(),
            name: layer.chain_id.clone(),
            key: key.to_owned(),
            labels,
        };
        client.snapshot_commit(&self.lease, commit).await
    }

    /// Says what the layer's bytes were unpacked to: before that it is only claimed.
    async fn label(&self, layer: &UnpackLayer) -> Result<(), Error> {
        let labels = Labels::from([(UNCOMPRESSED.to_owned(), layer.diff_id.clone())]);
        let digest = &layer.blob.digest;
        self.client.content_update_labels(digest, labels).await
    }
}

fn check(layer: &UnpackLayer, given: String) -> Result<(), Error> {
    if given == layer.diff_id {
        return Ok(());
    }
    Err(Error::DiffId {
        call: Call::new("diff.Apply", &layer.blob.digest),
        given,
        expected: layer.diff_id.clone(),
    })
}

/// Differs from whatever another process, or this one earlier, may have left.
fn unique() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    format!("{}-{}", process::id(), now.unwrap_or_default().as_nanos())
}
