//! Where images go. Two stores, one set of verbs: look ([`Store::view`]), bring
//! ([`Store::begin`], [`Session`]), give up ([`Store::release`]).

pub mod containerd;
pub mod error;
pub mod extent;
pub mod labels;
pub mod layout;
pub mod owner;
pub mod records;
pub mod view;
mod writers;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use airdock_bundle::digest::Digest;
use airdock_containerd::Body;
use tokio_util::sync::CancellationToken;

use crate::agent::offer::OfferedBlob;
use crate::agent::plan::{Orphan, Step};
use crate::config::{Endpoint, OnRemove};
use containerd::ContainerdStore;
pub use error::StoreError;
use extent::Extent;
use layout::LayoutStore;
use records::RecordRules;
use view::{Revision, Seen, View};

/// A store. Clones share it.
#[derive(Clone, Debug)]
pub enum Store {
    /// containerd behind its socket.
    Containerd(Arc<ContainerdStore>),
    /// An OCI image layout directory.
    Layout(Arc<LayoutStore>),
}

/// Who works on the store: kept apart, so that an agent that starts may clean up after itself
/// without touching a `load`, or another agent, that runs beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The agent with this state directory.
    Agent(PathBuf),
    /// `airdock load`.
    Load,
}

impl Role {
    /// What our leases and ingests start with.
    pub fn prefix(&self) -> String {
        match self {
            Self::Agent(state) => format!("airdock-agent-{}-", labels::source_id(state)),
            Self::Load => "airdock-load-".to_owned(),
        }
    }
}

/// How a blob came into the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// Its bytes were sent.
    Sent,
    /// It was there already.
    Present,
    /// The bytes aren't what their digest or size says; nothing was stored.
    Differs,
}

impl Store {
    /// Opens a store; a layout is created if it doesn't exist. containerd is not asked yet.
    pub fn open(endpoint: &Endpoint, role: &Role) -> Result<Self, StoreError> {
        match endpoint {
            Endpoint::Containerd { socket, namespace } => {
                let store = ContainerdStore::new(socket, namespace, role)?;
                Ok(Self::Containerd(Arc::new(store)))
            }
            Endpoint::Layout(directory) => {
                Ok(Self::Layout(Arc::new(LayoutStore::open(directory)?)))
            }
        }
    }

    /// Which names an image gets here.
    pub fn rules(&self) -> RecordRules {
        match self {
            Self::Containerd(_) => RecordRules::Containerd,
            Self::Layout(_) => RecordRules::Layout,
        }
    }

    /// How the store is called in messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Containerd(store) => store.describe(),
            Self::Layout(store) => format!("oci:{}", store.directory().display()),
        }
    }

    /// Everything that the store holds.
    pub async fn view(&self) -> Result<View, StoreError> {
        match self {
            Self::Containerd(store) => store.view().await,
            Self::Layout(store) => store.view().await,
        }
    }

    /// The same, unless all is as it was in a revision that is known: that is seen at a fraction of
    /// the cost.
    pub async fn look(&self, known: Option<Revision>) -> Result<Seen, StoreError> {
        match self {
            Self::Containerd(store) => store.look(known).await,
            Self::Layout(store) => Ok(Seen::Other {
                view: store.view().await?,
                revision: None,
            }),
        }
    }

    /// At least what the store holds of some names and blobs.
    pub async fn view_of(&self, extent: &Extent) -> Result<View, StoreError> {
        match self {
            Self::Containerd(store) => store.view_of(extent).await,
            Self::Layout(store) => store.view().await,
        }
    }

    /// A path in the file system that the store's blobs go to, if it can be seen from here.
    pub async fn root(&self) -> Option<PathBuf> {
        match self {
            Self::Containerd(store) => store.root().await,
            Self::Layout(store) => Some(store.directory().to_owned()),
        }
    }

    /// Cleans up after a process of ours that died. Harmless beside one that lives in another role.
    pub async fn tidy(&self) -> Result<(), StoreError> {
        match self {
            Self::Containerd(store) => store.tidy().await,
            Self::Layout(store) => store.tidy().await,
        }
    }

    /// Cleans up after every `load` that is known to have died; what a living one has isn't touched.
    pub async fn bury(&self) -> Result<(), StoreError> {
        match self {
            Self::Containerd(store) => store.bury().await,
            Self::Layout(_) => Ok(()),
        }
    }

    /// Gives back what sessions of this process could not give back when they ended.
    pub async fn clear_leftovers(&self) -> Result<(), StoreError> {
        match self {
            Self::Containerd(store) => store.clear_leftovers().await,
            Self::Layout(_) => Ok(()),
        }
    }

    /// Starts to bring a bundle: what is written and protected stays until the session ends.
    pub async fn begin(&self, bundle: &str) -> Result<Session, StoreError> {
        match self {
            Self::Containerd(store) => {
                let session = containerd::Session::begin(Arc::clone(store), bundle).await?;
                Ok(Session::Containerd(session))
            }
            Self::Layout(store) => {
                let session = layout::Session::begin(Arc::clone(store)).await?;
                Ok(Session::Layout(session))
            }
        }
    }

    /// Gives up names that nothing holds any more. Returns those that were given up: a name that
    /// a container uses, or that isn't as it was, stays.
    pub async fn release(
        &self,
        orphans: &[Orphan],
        policy: OnRemove,
    ) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Containerd(store) => store.release(orphans, policy).await,
            Self::Layout(store) => store.release(orphans, policy).await,
        }
    }

    /// What kubelet would see for a name; `None` where the store has no CRI to ask.
    pub async fn seen_by_cri(&self, name: &str) -> Option<bool> {
        match self {
            Self::Containerd(store) => store.seen_by_cri(name).await,
            Self::Layout(_) => None,
        }
    }

    /// The image that CRI starts every pod with; `None` where there is no CRI.
    pub async fn sandbox_image(&self) -> Option<String> {
        match self {
            Self::Containerd(store) => store.sandbox_image().await,
            Self::Layout(_) => None,
        }
    }

    /// Throws blobs away, whatever refers to them.
    pub async fn discard(&self, digests: &BTreeSet<Digest>) -> Result<(), StoreError> {
        match self {
            Self::Containerd(store) => store.discard(digests).await,
            Self::Layout(store) => store.discard(digests),
        }
    }

    /// The digests among those given whose bytes in the store aren't what they should be.
    pub async fn damaged(&self, blobs: &[Digest]) -> Result<BTreeSet<Digest>, StoreError> {
        match self {
            Self::Containerd(store) => store.damaged(blobs).await,
            Self::Layout(store) => store.damaged(blobs).await,
        }
    }
}

/// The bringing of one bundle.
#[derive(Debug)]
pub enum Session {
    /// Under a lease.
    Containerd(containerd::Session),
    /// Under a lock.
    Layout(layout::Session),
}

impl Session {
    /// Keeps blobs that are there, and all that they refer to, from garbage collection.
    pub async fn protect(&self, roots: &[Digest]) -> Result<(), StoreError> {
        match self {
            Self::Containerd(session) => session.protect(roots).await,
            Self::Layout(_) => Ok(()),
        }
    }

    /// Writes a blob; the store has checked size and digest when this returns.
    pub async fn put(&self, blob: &OfferedBlob, body: Body) -> Result<Put, StoreError> {
        match self {
            Self::Containerd(session) => session.put(blob, body).await,
            Self::Layout(session) => session.put(blob, body).await,
        }
    }

    /// Makes a document that is there keep its children alive.
    pub async fn relabel(&self, blob: &OfferedBlob) -> Result<(), StoreError> {
        match self {
            Self::Containerd(session) => session.relabel(blob).await,
            Self::Layout(_) => Ok(()),
        }
    }

    /// Creates, moves and holds names, those of an image in order. Once it shall `stop`, what was
    /// begun is ended and the rest is left.
    pub async fn publish(
        &self,
        steps: &[Step],
        stop: &CancellationToken,
    ) -> Result<(), StoreError> {
        match self {
            Self::Containerd(session) => session.publish(steps, stop).await,
            Self::Layout(session) => session.publish(steps).await,
        }
    }

    /// Ends well.
    pub async fn finish(self) {
        match self {
            Self::Containerd(session) => session.end(false).await,
            Self::Layout(_) => {}
        }
    }

    /// Ends early: what was half written is dropped.
    pub async fn abandon(self) {
        match self {
            Self::Containerd(session) => session.end(true).await,
            Self::Layout(_) => {}
        }
    }
}
