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

/// An image whose blobs are all in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpack {
    pub snapshotter: String,
    /// The config's digest.
    pub config: String,
    /// From the lowest to the topmost.
    pub layers: Vec<UnpackLayer>,
}

impl Client {
    /// Unpacks what isn't unpacked yet, in order, and ties the result to the config. Nothing
    /// half-done stays when it fails. Layers that several images share may be unpacked at once.
    pub async fn unpack(&self, lease: &str, image: &Unpack) -> Result<(), Error> {
        let mut parent = "";
        for layer in &image.layers {
            let step = Step {
                client: self,
                lease,
                snapshotter: &image.snapshotter,
                parent,
                layer,
            };
            step.run().await?;
            parent = &layer.chain_id;
        }
        if parent.is_empty() {
            return Ok(());
        }
        let label = format!("{SNAPSHOT_GC_REF}{}", image.snapshotter);
        let labels = Labels::from([(label, parent.to_owned())]);
        self.content_update_labels(&image.config, labels).await
    }
}

/// One layer on top of its parent.
struct Step<'a> {
    client: &'a Client,
    lease: &'a str,
    snapshotter: &'a str,
    parent: &'a str,
    layer: &'a UnpackLayer,
}

impl Step<'_> {
    async fn run(&self) -> Result<(), Error> {
        let key = format!("airdock-{} {}", unique(), self.layer.chain_id);
        let unpacked = match self.unpack(&key).await {
            // Before we began, or while we worked.
            Err(Error::AlreadyExists { .. }) => Ok(()),
            unpacked => unpacked,
        };
        // Gone already unless something went wrong, and that is then the error to tell.
        let _ = self.client.snapshot_remove(self.snapshotter, &key).await;
        unpacked?;
        self.label().await
    }

    async fn unpack(&self, key: &str) -> Result<(), Error> {
        let chain_id = &self.layer.chain_id;
        let prepare = PrepareSnapshotRequest {
            snapshotter: self.snapshotter.to_owned(),
            key: key.to_owned(),
            parent: self.parent.to_owned(),
            labels: Labels::from([(SNAPSHOT_REF.to_owned(), chain_id.clone())]),
        };
        let mounts = self.client.snapshot_prepare(self.lease, prepare).await?;
        let apply = self.client.diff_apply(self.lease, &self.layer.blob, mounts);
        self.check(apply.await?)?;
        let commit = CommitSnapshotRequest {
            snapshotter: self.snapshotter.to_owned(),
            name: chain_id.clone(),
            key: key.to_owned(),
            labels: Labels::from([(SNAPSHOT_REF.to_owned(), chain_id.clone())]),
        };
        self.client.snapshot_commit(self.lease, commit).await
    }

    fn check(&self, given: String) -> Result<(), Error> {
        if given == self.layer.diff_id {
            return Ok(());
        }
        Err(Error::DiffId {
            call: Call::new("diff.Apply", &self.layer.blob.digest),
            given,
            expected: self.layer.diff_id.clone(),
        })
    }

    async fn label(&self) -> Result<(), Error> {
        let layer = self.layer;
        let labels = Labels::from([(UNCOMPRESSED.to_owned(), layer.diff_id.clone())]);
        let update = self
            .client
            .content_update_labels(&layer.blob.digest, labels);
        update.await
    }
}

/// Differs from whatever another process, or this one earlier, may have left.
fn unique() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    format!("{}-{}", process::id(), now.unwrap_or_default().as_nanos())
}
