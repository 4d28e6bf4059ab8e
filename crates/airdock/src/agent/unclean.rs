//! After a power cut: what was imported shortly before may be torn on disk, whatever the store
//! says. It is read back, and what differs is thrown away, to be brought again.
//!
//! A marker in the state directory holds the kernel's boot id while an agent runs. A marker of
//! another boot says that the machine went down under a running agent; whatever the ledger says
//! was imported during that boot is suspect, and stays so, over any number of stops and crashes,
//! until it has been read back. So are the bundles: their files may be torn behind the same size
//! and times, and a compressed one is read whole, whatever index was kept of it.

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

/// The boots of this run and of those that ended badly.
#[derive(Debug)]
pub(super) struct Boot {
    /// The kernel's boot id.
    pub current: String,
    /// Boots that a running agent went down with, and whose imports haven't been read back yet.
    unclean: BTreeSet<String>,
    /// Whether they are being read back.
    verifying: bool,
}

impl Boot {
    /// Reads the marker, and sets it for this run. A state directory that can't be written is
    /// found out by the ledger.
    pub(super) fn begin(state: &Path) -> Self {
        let current = fs::read_to_string(BOOT_ID).unwrap_or_default();
        Self::begun_in(current.trim(), state)
    }

    fn begun_in(current: &str, state: &Path) -> Self {
        let before = fs::read_to_string(state.join(MARKER)).unwrap_or_default();
        let others = before.lines().filter(|boot| *boot != current);
        let boot = Self {
            current: current.to_owned(),
            unclean: others.map(str::to_owned).collect(),
            verifying: false,
        };
        boot.mark(state);
        boot
    }

    /// Whether the machine went down with a running agent, and not all was read back since.
    pub(super) fn is_after_a_crash(&self) -> bool {
        !self.unclean.is_empty()
    }

    /// One boot a line: this one, and those that aren't read back yet.
    fn mark(&self, state: &Path) {
        let boots = self.unclean.iter().chain([&self.current]);
        drop(fs::write(state.join(MARKER), lines(boots)));
    }

    /// All is read back: from now on only this boot's imports can become suspect.
    fn is_verified(&mut self, state: &Path) {
        self.unclean.clear();
        self.mark(state);
    }

    /// A clean end: nothing becomes suspect by it.
    pub(super) fn end(&self, state: &Path) {
        let marker = state.join(MARKER);
        drop(match self.unclean.is_empty() {
            true => fs::remove_file(marker),
            false => fs::write(marker, lines(self.unclean.iter())),
        });
    }
}

fn lines<'a>(boots: impl Iterator<Item = &'a String>) -> String {
    boots.map(String::as_str).collect::<Vec<_>>().join("\n")
}

impl Agent {
    /// Reads back what is suspect, beside everything else.
    pub(super) fn start_verifying(&mut self) {
        if self.boot.verifying || self.boot.unclean.is_empty() {
            return;
        }
        let blobs = self.suspects();
        if blobs.is_empty() {
            return self.trust_all();
        }
        self.boot.verifying = true;
        self.context
            .report(&Event::VerifyingAfterCrash { blobs: blobs.len() });
        let store = self.context.store.clone();
        self.tasks
            .spawn(async move { Done::Verified(discard_damaged(&store, &blobs).await) });
    }

    fn suspects(&self) -> Vec<Digest> {
        let unclean = &self.boot.unclean;
        let bundles = self.bundles.values();
        let suspects = bundles.filter(|bundle| unclean.contains(&bundle.entry.boot));
        let held = suspects.flat_map(|bundle| &bundle.entry.held);
        let blobs = held.flat_map(|held| held.offer.blobs());
        let digests: BTreeSet<Digest> = blobs.map(|blob| blob.digest.clone()).collect();
        digests.into_iter().collect()
    }

    /// A store that went away meanwhile is read back when it answers again.
    pub(super) fn verified(&mut self, result: Result<BTreeSet<Digest>, StoreError>, now: Instant) {
        self.boot.verifying = false;
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
        self.boot.is_verified(&self.settings.state_directory);
    }
}

async fn discard_damaged(store: &Store, blobs: &[Digest]) -> Result<BTreeSet<Digest>, StoreError> {
    let damaged = store.damaged(blobs).await?;
    store.discard(&damaged).await?;
    Ok(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unclean(boot: &Boot) -> Vec<&str> {
        boot.unclean.iter().map(String::as_str).collect()
    }

    #[test]
    fn a_boot_is_suspect_only_if_the_machine_went_down_with_it() {
        let state = tempfile::tempdir().unwrap();
        let first = Boot::begun_in("one", state.path());
        assert!(unclean(&first).is_empty());
        // The agent crashed, the machine didn't.
        assert!(unclean(&Boot::begun_in("one", state.path())).is_empty());
        first.end(state.path());
        assert!(unclean(&Boot::begun_in("two", state.path())).is_empty());
        assert_eq!(unclean(&Boot::begun_in("three", state.path())), ["two"]);
    }

    #[test]
    fn a_boot_stays_suspect_until_it_is_read_back() {
        let state = tempfile::tempdir().unwrap();
        let _crashed = Boot::begun_in("one", state.path());
        let stopped = Boot::begun_in("two", state.path());
        assert_eq!(unclean(&stopped), ["one"]);
        stopped.end(state.path());
        let crashed = Boot::begun_in("three", state.path());
        assert_eq!(unclean(&crashed), ["one"], "two ended well");
        let mut verified = Boot::begun_in("four", state.path());
        assert_eq!(unclean(&verified), ["one", "three"]);
        verified.is_verified(state.path());
        assert!(unclean(&Boot::begun_in("four", state.path())).is_empty());
    }
}
