//! Settings as somebody says them, and the file that says them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::key::table;
use super::lines::Lines;
use super::unknown::Unknown;
use super::value::{PlatformText, Seconds};
use super::{ConfigError, Distro, OnConflict, OnRemove, StoreSpec};
use crate::logging::{LogFormat, LogLevel};

/// Where it is looked for unless a command says otherwise.
pub const DEFAULT_PATH: &str = "/etc/airdock/airdock.toml";

table! {
    /// Settings as they are said: all of them may be left out.
    pub struct Layer {
        /// Where images go: `containerd`, `containerd:SOCKET`, or `oci:DIR` for an OCI image
        /// layout directory. Unless it is said, the one containerd socket that exists.
        pub store: Option<StoreSpec>,
        /// The containerd namespace.
        pub namespace: Option<String>,
        /// Sets the socket, and the watched directory, to those of a distribution: `k0s`, `k3s`,
        /// `rke2`, `microk8s` or `containerd`.
        pub distro: Option<Distro>,
        /// The platform whose images are wanted, as `OS/ARCHITECTURE[/VARIANT]`. Unless it is
        /// said, this machine's.
        pub platform: Option<PlatformText>,
        /// Names that are published before others of their bundle; `*` stands for any characters.
        pub first: Option<Vec<String>>,
        /// Names whose images are unpacked while they are imported, so that their first pod
        /// doesn't wait for it; `*` stands for any characters, and alone for all images. Unless
        /// it is said, none: the runtime unpacks an image when its first container starts.
        pub unpack: Option<Vec<String>>,
        /// MiB that must stay free where the store is.
        pub reserve: Option<u64>,
        /// How many bundles are brought at once, 1 to 16.
        pub concurrency: Option<usize>,
        /// How long a file must be left alone where its writer can't be asked for, in seconds.
        pub debounce: Option<Seconds>,
        /// How often directories and store are looked at without any hint, in seconds.
        pub resync: Option<Seconds>,
        /// Where the agent remembers what it has done.
        pub state_dir: Option<PathBuf>,
        /// Where the agent answers questions. Unless it is said, `airdock.sock` in another state
        /// directory than the default.
        pub socket: Option<PathBuf>,
        /// Who may ask besides root: a group's name or number.
        pub socket_group: Option<String>,
        /// Where metrics and health are served, as `127.0.0.1:PORT`. Unless it is said, nowhere.
        pub metrics: Option<SocketAddr>,
        /// What is written to the log.
        pub log: LogTable,
        /// A watched directory; several of these tables may follow each other. Unless there is
        /// one, the distribution's directory is watched, or `/var/lib/airdock/bundles`.
        pub source: Vec<SourceTable>,
    }
}

table! {
    /// `[log]`
    pub struct LogTable {
        /// How lines are written: `logfmt` or `json`.
        pub format: Option<LogFormat>,
        /// The least important lines that are written: `error`, `warn`, `info` or `debug`.
        pub level: Option<LogLevel>,
    }
}

table! {
    /// `[[source]]`
    pub struct SourceTable {
        /// The directory. It need not exist yet.
        pub path: Option<PathBuf>,
        /// Of the bundles that wait, those of the source with the greatest number are brought
        /// first; among equals the smallest.
        pub priority: Option<i32>,
        /// Look into subdirectories too, up to 8 deep.
        pub recursive: Option<bool>,
        /// What becomes of images that only a removed bundle held: `unpin`, `delete` or `keep`.
        pub on_remove: Option<OnRemove>,
        /// How long a removed bundle may come back before its images are released, in seconds.
        pub release_grace: Option<Seconds>,
        /// What happens to a name that exists, points elsewhere and isn't ours: `replace` or
        /// `keep`.
        pub on_conflict: Option<OnConflict>,
        /// Only names that match one of these patterns are imported, if there are any; `*` stands
        /// for any characters, `?` for one. Names are whole, as in `docker.io/library/x:1`.
        pub allow: Option<Vec<String>>,
        /// Names that match one of these patterns are not imported, whatever `allow` says.
        pub deny: Option<Vec<String>>,
        /// Take bundles from here although others than root may write the directory, a directory
        /// above it, or the bundles: whoever may, decides which images run on this node.
        pub insecure_permissions: Option<bool>,
    }
}

/// A file that was read, or the absence of one.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// Where it is.
    pub path: PathBuf,
    /// What it says.
    pub layer: Layer,
    /// Keys that mean nothing, in the order of the file.
    pub unknown: Vec<Unknown>,
    /// Which key stands in which line.
    pub(super) lines: Lines,
}

impl Written {
    /// Reads a file that somebody named: it must exist.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = fs::read_to_string(path).map_err(|cause| ConfigError::Unreadable {
            path: path.to_owned(),
            cause,
        })?;
        Self::parse(path, &text)
    }

    /// Reads the file at the path where it is looked for by default: none says nothing.
    pub fn read_default(path: &Path) -> Result<Self, ConfigError> {
        match Self::read(path) {
            Err(ConfigError::Unreadable { cause, .. })
                if cause.kind() == io::ErrorKind::NotFound =>
            {
                Ok(Self {
                    path: path.to_owned(),
                    ..Self::default()
                })
            }
            read => read,
        }
    }

    /// One line for each key that means nothing.
    pub fn warnings(&self) -> Vec<String> {
        let warning = |unknown: &Unknown| match unknown.line {
            Some(line) => format!("{}:{line}: {unknown}", self.path.display()),
            None => format!("{}: {unknown}", self.path.display()),
        };
        self.unknown.iter().map(warning).collect()
    }

    /// Understands the text of a file. `path` is what messages call it.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let wrong = |key: &str, line: Option<usize>, error: &toml::de::Error| ConfigError::Wrong {
            path: path.to_owned(),
            line: line.or_else(|| super::lines::line_of(text, error.span()?.start)),
            key: super::lines::shown(key),
            reason: error.message().trim_end().replace('\n', "; "),
        };
        let table = toml::de::DeTable::parse(text).map_err(|e| wrong("", None, &e))?;
        let lines = Lines::of(text, &table);
        let mut unknown = Vec::new();
        let mut note = |key: serde_ignored::Path<'_>| unknown.push(key.to_string());
        let mut track = serde_path_to_error::Track::new();
        let deserializer = toml::Deserializer::from(table);
        let deserializer = serde_path_to_error::Deserializer::new(deserializer, &mut track);
        let layer = serde_ignored::deserialize(deserializer, &mut note);
        let layer = layer.map_err(|error| {
            let key = super::lines::dotted(&track.path());
            wrong(&key, lines.get(&key), &error)
        })?;
        let mut unknown: Vec<Unknown> = unknown
            .iter()
            .map(|key| Unknown::new(key, &lines))
            .collect();
        unknown.sort_by_key(|unknown| unknown.line);
        Ok(Self {
            path: path.to_owned(),
            layer,
            unknown,
            lines,
        })
    }
}

#[cfg(test)]
mod tests;
