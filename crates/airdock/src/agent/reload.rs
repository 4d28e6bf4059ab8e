//! New settings for an agent that runs.
//!
//! They come in as a value and are taken over between two steps of the loop. What has been
//! imported from a source that is no longer watched stays as it is: that somebody stops watching
//! a directory doesn't say that its images aren't needed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tokio::time::Instant;

use super::event::Event;
use super::patterns::Patterns;
use super::run::Agent;
use super::watch::Watcher;
use crate::config::WatchSettings;

impl Agent {
    /// Takes new settings over. The state directory stays what it is.
    pub(super) fn reload(&mut self, mut new: WatchSettings) {
        let now = Instant::now();
        new.state_directory
            .clone_from(&self.settings.state_directory);
        let before = directories(&self.settings);
        self.settings = new;
        self.context.reserve = self.settings.reserve;
        self.context.first = Patterns::new(&self.settings.first);
        self.context.unpack = Patterns::new(&self.settings.unpack);
        let after = directories(&self.settings);
        for directory in before.difference(&after) {
            self.stop_watching(directory);
        }
        self.watch_anew(&after);
        self.recall(&after.difference(&before).cloned().collect());
        self.judge_anew(now);
        self.context.report(&Event::Reloaded {
            sources: after.len(),
        });
        self.scan_at = now;
        self.healing.soon(now);
    }

    fn stop_watching(&mut self, directory: &Path) {
        self.sources.remove(directory);
        for paths in [&mut self.unlisted, &mut self.unnamed] {
            paths.retain(|below| !below.starts_with(directory));
        }
        self.bundles
            .retain(|_, bundle| bundle.entry.source != directory);
        self.context.report(&Event::SourceRemoved {
            directory: directory.to_owned(),
        });
    }

    fn watch_anew(&mut self, directories: &BTreeSet<PathBuf>) {
        let directories: Vec<PathBuf> = directories.iter().cloned().collect();
        self.watcher = Watcher::start(&directories);
    }

    /// What the ledger knows of sources that are watched from now on.
    fn recall(&mut self, added: &BTreeSet<PathBuf>) {
        if added.is_empty() {
            return;
        }
        if let Err(error) = self.remember(|source| added.contains(source)) {
            let reason = error.to_string();
            self.context.report(&Event::LedgerFailed { reason });
        }
    }

    /// Bundles for which something else holds now are looked at again. Those that are being
    /// brought are when they come back.
    fn judge_anew(&mut self, now: Instant) {
        for bundle in self.bundles.values_mut() {
            let source = self.settings.source(&bundle.entry.source);
            let terms = source.map(|source| source.terms(&self.context.platform));
            if bundle.is_judged() && terms.is_some_and(|terms| terms != bundle.entry.terms) {
                bundle.settle(now, None);
            }
        }
    }
}

fn directories(settings: &WatchSettings) -> BTreeSet<PathBuf> {
    let sources = settings.sources.iter();
    sources.map(|source| source.directory.clone()).collect()
}
