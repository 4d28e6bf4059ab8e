//! The watched directories: how they were found, and what stands in them.

use std::path::{Path, PathBuf};

use tokio::time::Instant;

use super::event::Event;
use super::run::Agent;
use super::scan::scan;
use super::watch::POLL;
use crate::exit::Exit;

/// How a source was found at its last listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceState {
    /// It hasn't been listed yet.
    Unseen,
    /// It was listed.
    Watched {
        /// The kernel can't tell of its changes: it is looked at from time to time.
        polled: bool,
    },
    /// It can't be listed. What it gave stays: a disk may come back.
    Missing {
        /// Why.
        reason: String,
    },
}

impl SourceState {
    /// Whether the next listing may wait for a hint.
    fn is_told(&self) -> bool {
        *self == Self::Watched { polled: false }
    }

    /// The word used in the status.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Unseen => "unseen",
            Self::Watched { polled: false } => "watched",
            Self::Watched { polled: true } => "polled",
            Self::Missing { .. } => "missing",
        }
    }

    /// Why it isn't watched.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Missing { reason } => Some(reason),
            Self::Unseen | Self::Watched { .. } => None,
        }
    }

    /// What a command that waited for it would exit with.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Unseen | Self::Watched { .. } => Exit::Success,
            Self::Missing { .. } => Exit::Unreadable,
        }
    }
}

impl Agent {
    /// Lists all sources.
    pub(super) fn scan(&mut self) {
        let now = Instant::now();
        let sources = self.settings.sources.iter();
        let directories: Vec<PathBuf> = sources.map(|s| s.directory.clone()).collect();
        for directory in &directories {
            let state = self.scan_source(directory, now);
            self.found(directory, state);
        }
        let all_told = self.sources.values().all(SourceState::is_told);
        let pause = if all_told { self.settings.resync } else { POLL };
        self.scan_at = now + pause.min(self.settings.resync);
    }

    /// Watches first: what comes after the listing is then told.
    fn scan_source(&mut self, directory: &Path, now: Instant) -> SourceState {
        let polled = !self.watcher.renew(directory);
        match scan(directory) {
            Ok(candidates) => {
                self.compare(directory, candidates, now);
                SourceState::Watched { polled }
            }
            Err(error) => SourceState::Missing {
                reason: error.to_string(),
            },
        }
    }

    /// Tells when a source is found in another state than before.
    fn found(&mut self, directory: &Path, state: SourceState) {
        let before = self.sources.insert(directory.to_owned(), state.clone());
        let before = before.unwrap_or(SourceState::Unseen);
        if std::mem::discriminant(&before) == std::mem::discriminant(&state) {
            return;
        }
        let directory = directory.to_owned();
        self.context.report(&match state {
            SourceState::Unseen => return,
            SourceState::Watched { polled } => Event::Watching { directory, polled },
            SourceState::Missing { reason } => Event::SourceMissing { directory, reason },
        });
    }
}
