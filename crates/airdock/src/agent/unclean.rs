//! After a power cut: what was imported shortly before may be torn on disk, whatever the store
//! says. It is read back, and what differs is thrown away, to be brought again.
//!
//! A marker in the state directory holds the kernel's boot id while an agent runs. A marker of
//! another boot says that the machine went down under a running agent; whatever the ledger says
//! was imported during that boot is suspect.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use airdock_bundle::digest::Digest;
use tokio::time::Instant;

use super::event::Event;
use super::notice::write_down;
use super::run::Agent;
use super::work::Done;
use crate::store::{Store, StoreError};

const MARKER: &str = "running";
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The boots of this run and of one that ended badly.
#[derive(Debug)]
pub(super) struct Boot {
    /// The kernel's boot id.
    pub current: String,
    /// The boot that a running agent went down with.
    unclean: Option<String>,
}

impl Boot {
    /// Reads the marker, and sets it for this run. A state directory that can't be written is
    /// found out by the ledger.
    pub(super) fn begin(state: &Path) -> Self {
        let current = fs::read_to_string(BOOT_ID).unwrap_or_default();
        let current = current.trim().to_owned();
        let marker = state.join(MARKER);
        let before = fs::read_to_string(&marker).ok();
        drop(fs::write(&marker, &current));
        Self {
            unclean: before.filter(|boot| *boot != current),
            current,
        }
    }

    /// A clean end: nothing is suspect at the next start.
    pub(super) fn end(state: &Path) {
        drop(fs::remove_file(state.join(MARKER)));
    }
}

impl Agent {
    /// Reads back what is suspect, beside everything else.
    pub(super) fn start_verifying(&mut self) {
        let Some(unclean) = self.boot.unclean.take() else {
            return;
        };
        let suspects = self.bundles.values().filter(|b| b.entry.boot == unclean);
        let held = suspects.flat_map(|bundle| &bundle.entry.held);
        let blobs: BTreeSet<Digest> = held
            .flat_map(|held| held.offer.blobs())
            .map(|blob| blob.digest.clone())
            .collect();
        if blobs.is_empty() {
            return;
        }
        self.context
            .report(&Event::VerifyingAfterCrash { blobs: blobs.len() });
        let store = self.context.store.clone();
        let blobs: Vec<Digest> = blobs.into_iter().collect();
        self.tasks
            .spawn(async move { Done::Verified(discard_damaged(&store, &blobs).await) });
    }

    pub(super) fn verified(&mut self, result: Result<BTreeSet<Digest>, StoreError>, now: Instant) {
        match result {
            Ok(damaged) => {
                for digest in damaged {
                    self.context.report(&Event::DamagedInStore { digest });
                }
                self.trust_all();
            }
            Err(error) => self.unreachable(&error, now),
        }
        self.healing.soon(now);
    }

    fn trust_all(&mut self) {
        for bundle in self.bundles.values_mut() {
            if bundle.entry.boot != self.boot.current {
                bundle.entry.boot.clone_from(&self.boot.current);
                write_down(&mut self.ledger, &self.context, &bundle.entry);
            }
        }
    }
}

async fn discard_damaged(store: &Store, blobs: &[Digest]) -> Result<BTreeSet<Digest>, StoreError> {
    let damaged = store.damaged(blobs).await?;
    store.discard(&damaged).await?;
    Ok(damaged)
}
