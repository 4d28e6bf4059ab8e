//! Blobs that must be decompressed: one pass, in the order of the bundle, a few under way.
//!
//! A thread decompresses and cuts; each blob that it comes to is handed over as a channel, so
//! that the store takes it while the thread goes on to the next. Channels are bounded: a slow
//! store slows the thread down.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use airdock_bundle::archive::{ArchiveError, EntryId};
use airdock_bundle::open::Bundle;
use airdock_containerd::{Body, BodyError};
use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc;

use super::queue::Queue;
use super::sending::{self, Handed, OnTheirWay};
use super::{CHUNK, CHUNKS_AHEAD, Origin, Sender, WHOLE};
use crate::agent::failure::Failure;
use crate::agent::offer::OfferedBlob;
use crate::store::Put;

/// Sends the rest of the queue, and `blobs` in the order in which they come out of the bundle.
pub(super) async fn send(
    sender: &Sender<'_>,
    queue: Queue,
    blobs: Vec<OfferedBlob>,
    told: mpsc::UnboundedReceiver<()>,
) -> Result<Vec<(OfferedBlob, Put)>, Failure> {
    let wanted = wanted(sender, blobs);
    let (handover, handed) = mpsc::channel(1);
    let bundle = Arc::clone(&sender.bundle);
    let out = Out {
        handover,
        sent: sender.sent.clone(),
    };
    let pass = tokio::task::spawn_blocking(move || Cutter::run(&bundle, wanted, out));
    let outcomes = sending::send(sender, queue, Some(handed), told).await?;
    pass.await.unwrap_or(Ok(()))?;
    Ok(outcomes)
}

fn wanted(sender: &Sender<'_>, blobs: Vec<OfferedBlob>) -> HashMap<EntryId, Wanted> {
    let entry = |blob: OfferedBlob| match sender.origins.get(&blob.digest)? {
        Origin::Entry(entry) => Some((*entry, Wanted::Blob(blob))),
        Origin::Memory(_) | Origin::Elsewhere(_) => None,
    };
    blobs.into_iter().filter_map(entry).collect()
}

enum Wanted {
    Blob(OfferedBlob),
    /// It has been handed over, or nobody takes it any more.
    Done,
}

/// Where the pass tells what it comes to.
struct Out {
    handover: mpsc::Sender<Handed>,
    sent: mpsc::UnboundedSender<()>,
}

/// Turns the pass over the bundle into bodies.
struct Cutter {
    wanted: HashMap<EntryId, Wanted>,
    out: Out,
    current: Option<Current>,
}

/// The blob that the pass is in.
struct Current {
    entry: EntryId,
    blob: OfferedBlob,
    gathered: BytesMut,
    chunks: Option<mpsc::Sender<Result<Bytes, BodyError>>>,
    /// Of a large blob.
    _sent: Option<OnTheirWay>,
}

impl Cutter {
    fn run(
        bundle: &Bundle,
        wanted: HashMap<EntryId, Wanted>,
        out: Out,
    ) -> Result<(), ArchiveError> {
        let mut entries: Vec<EntryId> = wanted.keys().copied().collect();
        entries.sort_unstable();
        let mut cutter = Self {
            wanted,
            out,
            current: None,
        };
        let visited = bundle
            .archive()
            .visit(&entries, &mut |entry, bytes| cutter.take(entry, bytes));
        match &visited {
            Ok(()) => drop(cutter.end_current()),
            Err(error) => cutter.fail_current(error),
        }
        visited
    }

    fn take(&mut self, entry: EntryId, bytes: &[u8]) -> ControlFlow<()> {
        if self
            .current
            .as_ref()
            .is_none_or(|current| current.entry != entry)
        {
            self.end_current()?;
            self.begin(entry)?;
        }
        match &mut self.current {
            Some(current) => current.add(bytes),
            None => ControlFlow::Continue(()),
        }
    }

    fn begin(&mut self, entry: EntryId) -> ControlFlow<()> {
        let Some(wanted) = self.wanted.get_mut(&entry) else {
            return ControlFlow::Continue(());
        };
        let Wanted::Blob(blob) = std::mem::replace(wanted, Wanted::Done) else {
            return ControlFlow::Continue(());
        };
        let mut current = Current {
            entry,
            gathered: BytesMut::new(),
            chunks: None,
            _sent: (blob.size > WHOLE).then(|| OnTheirWay(self.out.sent.clone())),
            blob,
        };
        let mut handed = ControlFlow::Continue(());
        if current.blob.size > WHOLE {
            let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
            current.chunks = Some(sender);
            handed = self.hand_over(current.blob.clone(), Body::Chunks(receiver));
        }
        self.current = Some(current);
        handed
    }

    fn end_current(&mut self) -> ControlFlow<()> {
        let Some(current) = self.current.take() else {
            return ControlFlow::Continue(());
        };
        let rest = current.gathered.freeze();
        match current.chunks {
            None => self.hand_over(current.blob, Body::Whole(rest)),
            Some(chunks) => {
                if !rest.is_empty() {
                    drop(chunks.blocking_send(Ok(rest)));
                }
                ControlFlow::Continue(())
            }
        }
    }

    fn fail_current(&mut self, error: &ArchiveError) {
        let chunks = self.current.take().and_then(|current| current.chunks);
        if let Some(chunks) = chunks {
            drop(chunks.blocking_send(Err(error.to_string().into())));
        }
    }

    fn hand_over(&self, blob: OfferedBlob, body: Body) -> ControlFlow<()> {
        match self.out.handover.blocking_send((blob, body)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

impl Current {
    /// A store that gave this blob up doesn't end the pass: others may still be wanted.
    fn add(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        self.gathered.extend_from_slice(bytes);
        if let Some(chunks) = &self.chunks {
            while self.gathered.len() >= CHUNK {
                let chunk = self.gathered.split_to(CHUNK).freeze();
                drop(chunks.blocking_send(Ok(chunk)));
            }
        }
        ControlFlow::Continue(())
    }
}
