//! Images on their way into the snapshotter that the runtime uses.

use std::sync::Arc;

use airdock_bundle::digest::Digest;
use airdock_containerd::{Client, Unpack, UnpackLayer};

use super::{ContainerdStore, Session};
use crate::store::StoreError;

/// containerd's own default.
const SNAPSHOTTER: &str = "overlayfs";

/// Where images are unpacked to.
#[derive(Debug)]
pub struct Snapshots {
    store: Arc<ContainerdStore>,
    /// What breaks it doesn't break an import.
    client: Client,
    snapshotter: String,
}

/// Images that are being unpacked, under a lease of their own: they outlast the import, and don't
/// stay where it fails.
#[derive(Debug)]
pub struct Unpacking<'a> {
    snapshots: &'a Snapshots,
    session: Session,
}

impl Snapshots {
    /// Without CRI, or where it doesn't tell, what containerd itself would take.
    pub async fn of(store: &Arc<ContainerdStore>) -> Self {
        let client = store.client.reconnected();
        let told = client.cri_snapshotter().await.ok().flatten();
        Self {
            snapshotter: told.unwrap_or_else(|| SNAPSHOTTER.to_owned()),
            store: Arc::clone(store),
            client,
        }
    }

    /// Whether an image is unpacked up to this layer, and stays so.
    pub async fn have(&self, config: &Digest, top: &UnpackLayer) -> Result<bool, StoreError> {
        let client = &self.client;
        let config = config.to_string();
        let asked = client.is_unpacked(&self.snapshotter, &config, &top.chain_id);
        Ok(asked.await?)
    }

    /// Takes a lease.
    pub async fn begin(&self) -> Result<Unpacking<'_>, StoreError> {
        Ok(Unpacking {
            session: Session::begin(Arc::clone(&self.store), "unpack").await?,
            snapshots: self,
        })
    }
}

impl Unpacking<'_> {
    /// An image whose layers follow.
    pub fn image(&self) -> Unpack {
        let Snapshots {
            client,
            snapshotter,
            ..
        } = self.snapshots;
        client.unpack(&self.session.lease, snapshotter)
    }

    /// Leaves what configs hold, and drops the rest; `now`: before it returns.
    pub async fn end(self, now: bool) {
        self.session.end(now).await;
    }
}
