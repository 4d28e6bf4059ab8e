//! What the agent was told to do, resolved.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;

/// What happens to the images that only a removed bundle held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnRemove {
    /// Take our pin and our labels off; garbage collection may take the image.
    #[default]
    Unpin,
    /// Remove the names that we made and that no container uses.
    Delete,
    /// Leave the images pinned, for good.
    Keep,
}

impl OnRemove {
    /// The word used in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unpin => "unpin",
            Self::Delete => "delete",
            Self::Keep => "keep",
        }
    }
}

/// What happens to a name that exists, points elsewhere and isn't ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnConflict {
    /// The bundle wins: the operator put it there.
    #[default]
    Replace,
    /// The name stays as it is, and this is reported.
    Keep,
}

/// How the images of one source are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// What happens to the images that only a removed bundle held.
    pub on_remove: OnRemove,
    /// What happens to a name that exists and isn't ours.
    pub on_conflict: OnConflict,
    /// How long a removed bundle may come back before its images are released.
    pub release_grace: Duration,
}

/// A watched directory.
#[derive(Clone, Debug)]
pub struct Source {
    /// The directory, absolute.
    pub directory: PathBuf,
    /// How its images are treated.
    pub policy: Policy,
}

/// Everything that the agent needs to know.
#[derive(Clone, Debug)]
pub struct WatchSettings {
    /// The watched directories.
    pub sources: Vec<Source>,
    /// How long a file must be left alone where its writer can't be asked for.
    pub debounce: Duration,
    /// How often the directories and the store are looked at without any hint.
    pub resync: Duration,
    /// Where the ledger is.
    pub state_directory: PathBuf,
}

impl WatchSettings {
    /// The source at a directory, where there is one.
    pub fn source(&self, directory: &Path) -> Option<&Source> {
        self.sources.iter().find(|s| s.directory == directory)
    }
}
