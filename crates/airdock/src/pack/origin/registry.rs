//! Registries as an origin: each name is asked for at its own.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use airdock_bundle::digest::Digest;
use airdock_bundle::document::Descriptor;
use airdock_bundle::document::media_type::{self, LayerKind};
use airdock_bundle::name::Name;
use airdock_bundle::write::Listed;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::{Blob, Blobs, Wanted};
use crate::pull::{PullError, Registries};

/// All registries.
#[derive(Debug)]
pub struct RegistryOrigin {
    registries: Arc<Registries>,
    jobs: usize,
    /// Documents that were read, so that none is asked for twice.
    documents: Mutex<HashMap<Digest, Bytes>>,
}

impl RegistryOrigin {
    /// Asks these, and fetches so many blobs at a time.
    pub fn new(registries: Registries, jobs: usize) -> Self {
        Self {
            registries: Arc::new(registries),
            jobs: jobs.max(1),
            documents: Mutex::default(),
        }
    }

    /// What a name stands for at its registry.
    pub async fn resolve(&self, name: &Name) -> Result<Option<Descriptor>, PullError> {
        let Some((descriptor, bytes)) = self.registries.resolve(name).await? else {
            return Ok(None);
        };
        self.remember(&descriptor.digest, &bytes);
        Ok(Some(descriptor))
    }

    /// A document's bytes.
    pub async fn document(
        &self,
        name: &Name,
        descriptor: &Descriptor,
    ) -> Result<Option<Bytes>, PullError> {
        if let Some(bytes) = self.remembered(&descriptor.digest) {
            return Ok(Some(bytes));
        }
        let bytes = self.registries.document(name, descriptor).await?;
        if let Some(bytes) = &bytes {
            self.remember(&descriptor.digest, bytes);
        }
        Ok(bytes)
    }

    /// What refers to a digest.
    pub async fn referrers(&self, name: &Name, subject: &Digest) -> Result<Vec<Listed>, PullError> {
        let found = self.registries.referrers(name, subject).await?;
        let listed = found.into_iter().map(|referrer| Listed {
            descriptor: referrer.descriptor,
            names: referrer.name.into_iter().collect(),
        });
        Ok(listed.collect())
    }

    /// What its registry may not distribute is mostly not there, and asking is no use.
    pub fn has(&self, descriptor: &Descriptor) -> bool {
        let kind = media_type::layer(&descriptor.media_type);
        !matches!(kind, Some(LayerKind::Tar { foreign: true, .. }))
    }

    /// Starts to fetch layers, in their order.
    pub fn blobs(&self, wanted: &[Wanted]) -> Blobs {
        let mut pending = Vec::new();
        let mut receivers = Vec::new();
        for wanted in wanted {
            let (sender, receiver) = watch::channel(State::Pending);
            receivers.push((wanted.descriptor.digest.clone(), receiver));
            pending.push((wanted.clone(), sender));
        }
        let task = tokio::spawn(fetch(Arc::clone(&self.registries), pending, self.jobs));
        let task = Arc::new(AbortOnDropHandle::new(task));
        let blob = |(digest, state)| {
            let blob = PulledBlob {
                state,
                runtime: Handle::current(),
                _task: Arc::clone(&task),
            };
            (digest, Blob::Pulled(blob))
        };
        receivers.into_iter().map(blob).collect()
    }

    fn remembered(&self, digest: &Digest) -> Option<Bytes> {
        let documents = self.documents.lock();
        let documents = documents.unwrap_or_else(PoisonError::into_inner);
        documents.get(digest).cloned()
    }

    fn remember(&self, digest: &Digest, bytes: &Bytes) {
        let documents = self.documents.lock();
        let mut documents = documents.unwrap_or_else(PoisonError::into_inner);
        documents.insert(digest.clone(), bytes.clone());
    }
}

async fn fetch(
    registries: Arc<Registries>,
    pending: Vec<(Wanted, watch::Sender<State>)>,
    jobs: usize,
) {
    let fetching = stream::iter(pending).map(|(wanted, sender)| {
        let registries = Arc::clone(&registries);
        async move {
            let fetched = registries.blob(&wanted.name, &wanted.descriptor).await;
            sender.send_replace(match fetched {
                Ok(path) => State::Here(path),
                Err(error) => State::Failed(Arc::new(error)),
            });
        }
    });
    fetching
        .buffer_unordered(jobs)
        .for_each(|()| std::future::ready(()))
        .await;
}

#[derive(Clone, Debug)]
enum State {
    Pending,
    Here(PathBuf),
    Failed(Arc<PullError>),
}

/// A layer that is fetched, or was.
#[derive(Debug)]
pub struct PulledBlob {
    state: watch::Receiver<State>,
    runtime: Handle,
    /// Fetching ends when nobody wants any of the blobs any more.
    _task: Arc<AbortOnDropHandle<()>>,
}

/// Why a layer isn't there, within an [`io::Error`].
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
pub struct NotPulled(Arc<PullError>);

impl NotPulled {
    /// The cause.
    pub fn cause(&self) -> &PullError {
        &self.0
    }
}

impl PulledBlob {
    /// Its bytes, when they are here. Never on a thread of the runtime.
    pub fn open(&self) -> io::Result<impl Read + use<>> {
        let mut state = self.state.clone();
        let arrived = state.wait_for(|state| !matches!(state, State::Pending));
        let arrived = self.runtime.block_on(arrived).map(|state| state.clone());
        match arrived {
            Ok(State::Here(path)) => File::open(path),
            Ok(State::Failed(error)) => Err(io::Error::other(NotPulled(error))),
            Ok(State::Pending) | Err(_) => Err(io::Error::other("fetching it was given up")),
        }
    }
}
