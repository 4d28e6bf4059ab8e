//! The watched directories: how they were found, and what stands in them.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use tokio::time::Instant;

use super::event::Event;
use super::run::Agent;
use super::safety::{Unsafe, check_directory};
use super::scan::{Listing, scan};
use super::watch::POLL;
use crate::config::Source;
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
    /// Others may write it: nothing is taken from it. What it gave stays.
    Unsafe {
        /// Who, and how to mend it.
        reason: String,
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
            Self::Unsafe { .. } => "unsafe",
            Self::Missing { .. } => "missing",
        }
    }

    /// Why it isn't watched.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Missing { reason } | Self::Unsafe { reason } => Some(reason),
            Self::Unseen | Self::Watched { .. } => None,
        }
    }

    /// What a command that waited for it would exit with.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Unseen | Self::Watched { .. } => Exit::Success,
            Self::Unsafe { .. } => Exit::Refused,
            Self::Missing { .. } => Exit::Unreadable,
        }
    }
}

impl Agent {
    /// Lists all sources.
    pub(super) fn scan(&mut self) {
        let now = Instant::now();
        self.catch_up();
        self.scan_at = now + self.settings.resync;
        if self.ledger.is_behind() {
            self.scan_at = self.scan_at.min(now + POLL);
        }
        for source in self.settings.sources.clone() {
            let state = self.scan_source(&source, now);
            if !state.is_told() {
                self.scan_at = self.scan_at.min(now + POLL);
            }
            self.found(&source.directory, state);
        }
    }

    /// Watches first: what comes after the listing is then told.
    fn scan_source(&mut self, source: &Source, now: Instant) -> SourceState {
        let told = self.watcher.renew(&source.directory);
        match list(source) {
            Ok(listing) => {
                let below = self
                    .watcher
                    .renew_below(&source.directory, &listing.directories);
                if below.is_new {
                    self.scan_at = now;
                }
                self.note_unlisted(&source.directory, &listing);
                self.note_unnamed(&source.directory, &listing);
                self.compare(&source.directory, listing, now);
                SourceState::Watched {
                    polled: !(told && below.told),
                }
            }
            Err(Unlisted::Unsafe(reason)) => SourceState::Unsafe { reason },
            Err(Unlisted::Missing(reason)) => SourceState::Missing { reason },
        }
    }

    /// Tells once of each directory below a source that can't be listed.
    fn note_unlisted(&mut self, source: &Path, listing: &Listing) {
        let paths = listing.unlisted.iter().map(|(path, _)| path.clone());
        let told = renew(&mut self.unlisted, source, paths.collect());
        let new = listing
            .unlisted
            .iter()
            .filter(|(path, _)| !told.contains(path));
        for (directory, error) in new {
            self.context.report(&Event::SourceMissing {
                directory: directory.clone(),
                reason: error.to_string(),
            });
        }
    }

    /// Tells once of each file that isn't looked at for its name.
    fn note_unnamed(&mut self, source: &Path, listing: &Listing) {
        let paths = listing.unnamed.iter().cloned().collect();
        let told = renew(&mut self.unnamed, source, paths);
        for path in listing.unnamed.iter().filter(|path| !told.contains(*path)) {
            let path = shown_bytes(path);
            self.context.report(&Event::NotUtf8 { path });
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
            SourceState::Unsafe { reason } => Event::SourceUnsafe { directory, reason },
            SourceState::Missing { reason } => Event::SourceMissing { directory, reason },
        });
    }
}

/// Puts the paths below a source in the place of those of its last listing, which are returned.
fn renew(
    paths: &mut BTreeSet<PathBuf>,
    source: &Path,
    now: BTreeSet<PathBuf>,
) -> BTreeSet<PathBuf> {
    let of_others = |path: &PathBuf| !path.starts_with(source);
    let (others, before) = std::mem::take(paths).into_iter().partition(of_others);
    *paths = others;
    paths.extend(now);
    before
}

/// A path byte by byte: what isn't printable ASCII as `\xff`.
pub fn shown_bytes(path: &Path) -> String {
    path.as_os_str()
        .as_encoded_bytes()
        .escape_ascii()
        .to_string()
}

/// Why a source wasn't listed.
enum Unlisted {
    Unsafe(String),
    Missing(String),
}

fn list(source: &Source) -> Result<Listing, Unlisted> {
    if !source.insecure_permissions {
        match check_directory(&source.directory) {
            Ok(()) => {}
            Err(Unsafe::Unknown { error, .. }) => return Err(Unlisted::Missing(error.to_string())),
            Err(error) => return Err(Unlisted::Unsafe(error.to_string())),
        }
    }
    scan(&source.directory, source.recursive).map_err(|error| Unlisted::Missing(told(&error)))
}

/// Root is refused only what the agent gave up at its start.
fn told(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("{error}; a directory that was named after the start needs a restart")
        }
        _ => error.to_string(),
    }
}
