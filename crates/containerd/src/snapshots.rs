//! Snapshots: unpacked layers, each on top of its parent.

use crate::client::{Client, service};
use crate::error::{Call, Error, existed, optional};
use crate::images::Target;
use crate::limits::APPLY_DEADLINE;
use crate::proto::diff::ApplyRequest;
use crate::proto::diff::diff_client::DiffClient;
use crate::proto::snapshots::snapshots_client::SnapshotsClient;
use crate::proto::snapshots::{
    CommitSnapshotRequest, PrepareSnapshotRequest, RemoveSnapshotRequest, StatSnapshotRequest,
};
use crate::proto::types::Mount;

const PLUGIN: &str = "io.containerd.snapshotter.v1";

/// The folders that snapshotters have unless they are configured otherwise, before their id.
const FOLDER: &str = "io.containerd.snapshotter.v1.";

impl Client {
    /// The snapshotter that CRI unpacks into, if it can be told.
    pub async fn cri_snapshotter(&self) -> Result<Option<String>, Error> {
        let roots = self.plugin_exports(PLUGIN, "root").await?;
        let image_fs = self.cri_image_fs().await?;
        Ok(image_fs.into_iter().find_map(|image_fs| {
            let folder = image_fs.mountpoint;
            let by_root = roots.iter().find(|(_, root)| **root == folder);
            let by_name = || Some(folder.rsplit_once(FOLDER)?.1.to_owned());
            by_root.map(|(id, _)| id.clone()).or_else(by_name)
        }))
    }

    /// Whether a snapshot of this name (for a layer, its chain id) is there.
    pub async fn snapshot_exists(&self, snapshotter: &str, name: &str) -> Result<bool, Error> {
        let parent = self.snapshot_parent(snapshotter, name).await?;
        Ok(parent.is_some())
    }

    /// What a snapshot stands on: for a container's, the chain id of its image. Empty for a
    /// lowest layer; `None` where there is no such snapshot.
    pub async fn snapshot_parent(
        &self,
        snapshotter: &str,
        name: &str,
    ) -> Result<Option<String>, Error> {
        let call = Call::new("snapshots.Stat", name);
        let request = self.request(StatSnapshotRequest {
            snapshotter: snapshotter.to_owned(),
            key: name.to_owned(),
        });
        let mut service = service!(self, SnapshotsClient<_>);
        let answer = self.answer(&call, service.stat(request)).await;
        let found = optional(answer)?;
        Ok(found.map(|found| found.info.unwrap_or_default().parent))
    }

    /// Starts a snapshot under `key`, and how to mount it. With the label
    /// `containerd.io/snapshot.ref` it ends in [`Error::AlreadyExists`] when the snapshot that
    /// this shall become is there already, and then that one is under the lease.
    pub(crate) async fn snapshot_prepare(
        &self,
        lease: &str,
        message: PrepareSnapshotRequest,
    ) -> Result<Vec<Mount>, Error> {
        let call = Call::new("snapshots.Prepare", &message.key).under(Some(lease));
        let request = self.leased(&call, message)?;
        let mut service = service!(self, SnapshotsClient<_>);
        let answer = self.answer(&call, service.prepare(request)).await?;
        Ok(answer.mounts)
    }

    pub(crate) async fn snapshot_commit(
        &self,
        lease: &str,
        message: CommitSnapshotRequest,
    ) -> Result<(), Error> {
        let call = Call::new("snapshots.Commit", &message.name).under(Some(lease));
        let request = self.leased(&call, message)?;
        let mut service = service!(self, SnapshotsClient<_>);
        self.answer(&call, service.commit(request)).await
    }

    pub(crate) async fn snapshot_remove(
        &self,
        snapshotter: &str,
        key: &str,
    ) -> Result<bool, Error> {
        let call = Call::new("snapshots.Remove", key);
        let request = self.request(RemoveSnapshotRequest {
            snapshotter: snapshotter.to_owned(),
            key: key.to_owned(),
        });
        let mut service = service!(self, SnapshotsClient<_>);
        existed(self.answer(&call, service.remove(request)).await)
    }

    /// Unpacks a layer onto `mounts`; the digest of what was unpacked, uncompressed.
    pub(crate) async fn diff_apply(
        &self,
        lease: &str,
        layer: &Target,
        mounts: Vec<Mount>,
    ) -> Result<String, Error> {
        let call = Call::new("diff.Apply", &layer.digest).under(Some(lease));
        let message = ApplyRequest {
            diff: Some(layer.into()),
            mounts,
        };
        let request = self.leased(&call, message)?;
        let mut service = service!(self, DiffClient<_>);
        let pending = service.apply(request);
        let answer = self.answer_within(APPLY_DEADLINE, &call, pending).await?;
        let applied = answer.applied.ok_or(Error::Malformed {
            call,
            field: "applied",
        })?;
        Ok(applied.digest)
    }
}
