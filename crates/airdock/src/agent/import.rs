//! From a plan to blobs in the store: what it lacks, in as few transactions as it can be done.
//!
//! A bundle that can be read anywhere gives several blobs at once, the largest first. One that
//! must be decompressed gives them in its own order, in one pass, while earlier ones are still
//! being written. What is kept in memory goes beside either: configs, and documents after what
//! they refer to.

mod buffers;
mod counted;
mod damaged;
mod queue;
mod random;
mod sending;
mod stream;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use airdock_bundle::archive::{ArchiveError, EntryId, Region};
use airdock_bundle::digest::Digest;
use airdock_bundle::escape::escaped;
use airdock_bundle::image::{Blob, Place};
use airdock_bundle::open::Bundle;
use airdock_containerd::Body;
use bytes::Bytes;

use super::context::Context;
use super::failure::Failure;
use super::offer::{BlobKind, OfferedBlob};
use super::open::Opened;
use super::plan::BundlePlan;
use super::space;
use super::unpack::Arrivals;
use crate::store::{Put, Session, StoreError};
use buffers::Buffers;
use counted::Told;
use queue::Queue;
use sending::OnTheirWay;
use tokio::sync::mpsc;

/// Blobs up to this size are sent in one message with their commit: it saves the daemon a
/// transaction, and is well under the 16 MiB that it takes as one message.
pub(super) const WHOLE: u64 = CHUNK as u64;

/// The size of a message of a large blob, and how many wait for the store: what is read ahead
/// is bounded by their product times the blobs under way.
pub(super) const CHUNK: usize = 1024 * 1024;
pub(super) const CHUNKS_AHEAD: usize = 1;

/// A bundle and what is to be done for it.
#[derive(Debug)]
pub struct Planned {
    /// The bundle.
    pub opened: Opened,
    /// What is to be done.
    pub plan: BundlePlan,
}

/// A bundle whose blobs are in the store, kept there by the session.
#[derive(Debug)]
pub struct Complete {
    /// The bundle.
    pub opened: Opened,
    /// What is to be done.
    pub plan: BundlePlan,
    /// What keeps the blobs until names do.
    pub session: Session,
    /// Bytes that went to the store.
    pub bytes_sent: u64,
    /// Bytes that were needed and there.
    pub bytes_skipped: u64,
    /// Blobs whose content isn't what their digest says: images that need them get no name.
    pub damaged: HashSet<Digest>,
}

/// Where the bytes of a blob are.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    Memory(Bytes),
    Entry(EntryId),
    /// In another bundle, where it was compared with its digest.
    Elsewhere(Region),
}

/// Sends what the store lacks, and tells of each blob that is there.
pub(super) async fn import(
    planned: Planned,
    arrivals: &Arrivals,
    context: &Context,
) -> Result<Complete, Failure> {
    let Planned { opened, plan } = planned;
    space::check(&plan, context).await?;
    let session = context.store.begin(opened.offer.short_id()).await?;
    let mut complete = Complete {
        bytes_skipped: 0,
        bytes_sent: 0,
        damaged: HashSet::new(),
        opened,
        plan,
        session,
    };
    match complete.bring(arrivals, context).await {
        Ok(()) => Ok(complete),
        Err(failure) => {
            complete.session.abandon().await;
            Err(explained(failure, &complete.opened))
        }
    }
}

/// What stands behind a failure where it is the bundle: the store only heard that no more came.
fn explained(failure: Failure, opened: &Opened) -> Failure {
    let path = &opened.path;
    match failure {
        Failure::Cancelled => failure,
        Failure::Store(error) if error.is_unreachable() => error.into(),
        _ if !opened.bundle.archive().unchanged().unwrap_or(false) => {
            Failure::Changed(path.clone())
        }
        Failure::Store(error) => match error.body() {
            Some(reason) => Failure::Unreadable {
                reason: format!("{}: {reason}", escaped(&path.to_string_lossy())),
            },
            None => error.into(),
        },
        other => other,
    }
}

impl Complete {
    async fn bring(&mut self, arrivals: &Arrivals, context: &Context) -> Result<(), Failure> {
        self.secure(context).await?;
        self.tell_present(arrivals);
        let origins = Arc::new(origins(&self.opened));
        let streamed = self.streamed(&origins)?;
        let (sent, told) = mpsc::unbounded_channel();
        let sender = Sender {
            bundle: Arc::clone(&self.opened.bundle),
            session: &self.session,
            origins: Arc::clone(&origins),
            arrivals,
            context,
            path: &self.opened.path,
            buffers: Buffers::new(CHUNK),
            sent,
        };
        let coming: HashSet<&Digest> = streamed.iter().map(|blob| &blob.digest).collect();
        let queue = Queue::new(&self.plan.write, |blob| coming.contains(&blob.digest));
        let outcomes = match streamed.is_empty() {
            true => sending::send(&sender, queue, None, told).await?,
            false => stream::send(&sender, queue, streamed, told).await?,
        };
        for blob in &self.plan.relabel {
            self.session.relabel(blob).await?;
        }
        let doubted = self.settle(outcomes);
        let bundle = Arc::clone(&self.opened.bundle);
        self.damaged = damaged::among(doubted, bundle, origins).await?;
        Ok(())
    }

    /// Makes sure that what was there stays there. Between the plan and this moment it may have
    /// been collected: what is under the lease now and still there is safe, the rest is written.
    async fn secure(&mut self, context: &Context) -> Result<(), Failure> {
        if !self.plan.present.is_empty() {
            self.session.protect(&self.plan.roots).await?;
            let gone = self
                .plan
                .gone(&context.store.view_of(&self.plan.extent()).await?);
            self.plan.write_again(&gone, &self.opened.offer);
        }
        self.bytes_skipped = self.plan.spared();
        Ok(())
    }

    fn tell_present(&self, arrivals: &Arrivals) {
        let written: HashSet<&Digest> = self.plan.write.iter().map(|b| &b.digest).collect();
        let needed = self.opened.offer.blobs().map(|blob| &blob.digest);
        arrivals.there(needed.filter(|digest| !written.contains(digest)));
    }

    /// The blobs that can only be had by decompressing the whole bundle.
    fn streamed(&self, origins: &HashMap<Digest, Origin>) -> Result<Vec<OfferedBlob>, Failure> {
        let mut streamed = Vec::new();
        for blob in &self.plan.write {
            if let Some(Origin::Entry(entry)) = origins.get(&blob.digest)
                && self.opened.bundle.archive().region(*entry)?.is_none()
            {
                streamed.push(blob.clone());
            }
        }
        Ok(streamed)
    }

    /// Sums up; returns the blobs that the store took for something else than they should be, or
    /// that no pass over the bundle came to.
    fn settle(&mut self, outcomes: Vec<(OfferedBlob, Put)>) -> Vec<Digest> {
        let leaves = self.plan.write.iter().filter(|b| b.kind == BlobKind::Leaf);
        let mut doubted: BTreeSet<Digest> = leaves.map(|blob| blob.digest.clone()).collect();
        for (blob, put) in outcomes {
            match put {
                Put::Sent => self.bytes_sent += blob.size,
                Put::Present => self.bytes_skipped += blob.size,
                Put::Differs => {
                    doubted.insert(blob.digest);
                    continue;
                }
            }
            doubted.remove(&blob.digest);
        }
        doubted.into_iter().collect()
    }
}

/// What the senders share.
pub(super) struct Sender<'a> {
    pub bundle: Arc<Bundle>,
    pub session: &'a Session,
    pub origins: Arc<HashMap<Digest, Origin>>,
    arrivals: &'a Arrivals,
    pub context: &'a Context,
    pub path: &'a std::path::Path,
    buffers: Buffers,
    /// Told when the bytes of a large blob are out.
    sent: mpsc::UnboundedSender<()>,
}

impl Sender<'_> {
    /// Hands a blob to the store.
    pub(super) async fn put(&self, blob: &OfferedBlob, body: Body) -> Result<Put, StoreError> {
        let told = Told::nothing(self.path.to_owned(), self.context.reporter.clone());
        let put = self.session.put(blob, told.of(body)).await?;
        if put != Put::Differs {
            told.all(blob.size);
            self.arrivals.there([&blob.digest]);
        }
        Ok(put)
    }

    /// Sends a blob that can be read where it lies.
    async fn send_one(
        &self,
        blob: &OfferedBlob,
        sent: Option<OnTheirWay>,
    ) -> Result<Put, StoreError> {
        let body = match self.origins.get(&blob.digest) {
            Some(Origin::Memory(bytes)) => Body::Whole(bytes.clone()),
            Some(Origin::Entry(entry)) => {
                let archive = self.bundle.archive();
                random::body(archive, *entry, blob.size, &self.buffers, sent).await?
            }
            Some(Origin::Elsewhere(region)) => {
                random::region_body(region.clone(), &self.buffers, sent).await?
            }
            None => return Ok(Put::Differs),
        };
        self.put(blob, body).await
    }
}

fn origins(opened: &Opened) -> HashMap<Digest, Origin> {
    let contents = opened
        .bundle
        .images()
        .iter()
        .filter_map(|i| i.outcome.as_ref().ok());
    let blobs = contents.flat_map(|content| &content.blobs);
    let origin = |blob: &Blob| match &blob.place {
        Place::Memory(bytes) => Some(Origin::Memory(bytes.clone())),
        Place::Entry(entry) => Some(Origin::Entry(*entry)),
        Place::Elsewhere => {
            let region = opened.elsewhere.get(&blob.descriptor.digest);
            region.cloned().map(Origin::Elsewhere)
        }
    };
    blobs
        .filter_map(|blob| Some((blob.descriptor.digest.clone(), origin(blob)?)))
        .collect()
}

pub(super) fn body_error(error: &ArchiveError) -> StoreError {
    StoreError::Body(error.to_string())
}
