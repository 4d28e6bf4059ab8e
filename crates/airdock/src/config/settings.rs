//! What the agent was told to do, resolved.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use airdock_bundle::platform::Platform;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::typed::Origin;
use super::{Distro, Endpoint, NameFilter, StoreSpec, StoreSpecError};
use crate::logging::{LogFormat, LogLevel};

/// What happens to the images that only a removed bundle held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The directory, absolute.
    pub directory: PathBuf,
    /// Bundles of the source with the greatest are brought first.
    pub priority: i32,
    /// Whether its subdirectories are looked at too.
    pub recursive: bool,
    /// Which names it may give.
    pub names: NameFilter,
    /// Whether it is used although others may write it.
    pub insecure_permissions: bool,
    /// How its images are treated.
    pub policy: Policy,
}

impl Source {
    /// A directory of which nothing was said.
    pub fn of(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            priority: 0,
            recursive: false,
            names: NameFilter::default(),
            insecure_permissions: false,
            policy: Policy::default(),
        }
    }
}

/// Everything that the agent needs to know, and may be told anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchSettings {
    /// The watched directories: none within another that is looked into.
    pub sources: Vec<Source>,
    /// Names that are published before others of their bundle.
    pub first: Vec<String>,
    /// Names whose images are unpacked ahead of their first container.
    pub unpack: Vec<String>,
    /// Bytes that must stay free where the store is.
    pub reserve: u64,
    /// Bundles that are brought at once.
    pub concurrency: usize,
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

/// Everything that any command needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which store, in the words of whoever said it.
    pub store: Option<StoreSpec>,
    /// The containerd namespace.
    pub namespace: String,
    /// The distribution whose directories are meant.
    pub distro: Option<Distro>,
    /// The platform whose images are wanted.
    pub platform: Platform,
    /// Where the agent answers questions.
    pub socket: Socket,
    /// Who may ask besides root.
    pub socket_group: Option<String>,
    /// Where metrics and health are served.
    pub metrics: Option<SocketAddr>,
    /// How log lines are written.
    pub log_format: LogFormat,
    /// The least important level that is written.
    pub log_level: LogLevel,
    /// What the agent does.
    pub watch: WatchSettings,
    /// Where each setting comes from, by its key: `log.level`, `source.0.path`.
    pub origins: BTreeMap<String, Origin>,
}

impl Settings {
    /// The store that is meant; the sockets of this machine are looked at where nobody said.
    pub fn endpoint(&self) -> Result<Endpoint, StoreSpecError> {
        let (store, namespace) = (self.store.clone(), self.namespace.clone());
        super::resolve_store(store, self.distro, Some(namespace))
    }

    /// What can't be changed while the agent runs, and differs.
    pub fn fixed(&self, new: &Self) -> Vec<&'static str> {
        let differs = [
            (
                "store",
                self.store != new.store || self.distro != new.distro,
            ),
            ("namespace", self.namespace != new.namespace),
            ("platform", self.platform != new.platform),
            (
                "state_dir",
                self.watch.state_directory != new.watch.state_directory,
            ),
            ("socket", self.socket != new.socket),
            ("socket_group", self.socket_group != new.socket_group),
            ("metrics", self.metrics != new.metrics),
            ("log.format", self.log_format != new.log_format),
            ("log.level", self.log_level != new.log_level),
        ];
        let differing = differs.into_iter().filter(|(_, differs)| *differs);
        differing.map(|(key, _)| key).collect()
    }
}

/// The status socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Where it is.
    pub path: PathBuf,
    /// Whether somebody said so: then it must be had.
    pub asked_for: bool,
}
