//! Settings of the agent, as they are typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::config::{Layer, OnConflict, OnRemove, Seconds, SourceTable, Typed};

/// None has a default here: what isn't typed may stand in the file.
#[derive(Clone, Debug, Args)]
pub(super) struct AgentOptions {
    /// Directories of bundles, instead of those in the file [default: the distribution's, or
    /// /var/lib/airdock/bundles]
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// Look into subdirectories too
    #[arg(long, env = "AIRDOCK_RECURSIVE")]
    recursive: bool,
    /// What becomes of images that only a removed bundle held [default: unpin]
    #[arg(long, value_enum, env = "AIRDOCK_ON_REMOVE")]
    on_remove: Option<OnRemove>,
    /// How long a removed bundle may come back before its images are released, in seconds
    /// [default: 60]
    #[arg(long, value_name = "SECONDS", env = "AIRDOCK_RELEASE_GRACE")]
    release_grace: Option<Seconds>,
    /// What happens to a name that exists, points elsewhere and isn't ours [default: replace]
    #[arg(long, value_enum, env = "AIRDOCK_ON_CONFLICT")]
    on_conflict: Option<OnConflict>,
    /// Import only names that match one of these; * stands for any characters
    #[arg(long, value_name = "PATTERN")]
    allow: Vec<String>,
    /// Don't import names that match one of these
    #[arg(long, value_name = "PATTERN")]
    deny: Vec<String>,
    /// Take bundles from directories that others than root may write
    #[arg(long, env = "AIRDOCK_INSECURE_PERMISSIONS")]
    insecure_permissions: bool,
    /// How long a file must be left alone where its writer can't be asked for, in seconds
    /// [default: 10]
    #[arg(long, value_name = "SECONDS", env = "AIRDOCK_DEBOUNCE")]
    debounce: Option<Seconds>,
    /// How often directories and store are looked at without any hint, in seconds [default: 300]
    #[arg(long, value_name = "SECONDS", env = "AIRDOCK_RESYNC")]
    resync: Option<Seconds>,
    /// How many bundles are brought at once [default: 2]
    #[arg(long, value_name = "NUMBER", env = "AIRDOCK_CONCURRENCY")]
    concurrency: Option<usize>,
    /// Where the agent remembers what it has done [default: /var/lib/airdock]
    #[arg(long, env = "AIRDOCK_STATE_DIR", value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Where the agent answers questions [default: /run/airdock/airdock.sock, or airdock.sock in
    /// another state directory than the default]
    #[arg(long, env = "AIRDOCK_SOCKET", value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Who may ask besides root
    #[arg(long, value_name = "GROUP", env = "AIRDOCK_SOCKET_GROUP")]
    socket_group: Option<String>,
    /// Serve metrics and health there, as 127.0.0.1:PORT [default: not at all]
    #[arg(long, env = "AIRDOCK_METRICS", value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    #[command(flatten)]
    import: ImportOptions,
}

impl AgentOptions {
    /// Adds what was typed.
    pub(super) fn add_to(&self, typed: &mut Typed) {
        self.import.add_to(typed);
        typed.directories.clone_from(&self.directories);
        typed.layer = Layer {
            debounce: self.debounce,
            resync: self.resync,
            concurrency: self.concurrency,
            state_dir: self.state_dir.clone(),
            socket: self.socket.clone(),
            socket_group: self.socket_group.clone(),
            metrics: self.metrics,
            source: vec![self.source()],
            ..std::mem::take(&mut typed.layer)
        };
    }

    fn source(&self) -> SourceTable {
        SourceTable {
            recursive: self.recursive.then_some(true),
            on_remove: self.on_remove,
            release_grace: self.release_grace,
            on_conflict: self.on_conflict,
            allow: several(&self.allow),
            deny: several(&self.deny),
            insecure_permissions: self.insecure_permissions.then_some(true),
            ..SourceTable::default()
        }
    }
}

/// Settings of every command that imports.
#[derive(Clone, Debug, Args)]
pub(super) struct ImportOptions {
    /// MiB that must stay free where the store is [default: 0]
    #[arg(long, value_name = "MIB", env = "AIRDOCK_RESERVE")]
    reserve: Option<u64>,
    /// Names that are published before others in a bundle; * stands for any characters [default:
    /// those of pause and CNI images]
    #[arg(long, value_name = "PATTERN")]
    first: Vec<String>,
    /// Unpack these images while they are imported, containerd's only; * stands for any
    /// characters, and alone for all images [default: none]
    #[arg(long, value_name = "PATTERN")]
    unpack: Vec<String>,
}

impl ImportOptions {
    /// Adds what was typed.
    pub(super) fn add_to(&self, typed: &mut Typed) {
        typed.layer.reserve = self.reserve;
        typed.layer.first = several(&self.first);
        typed.layer.unpack = several(&self.unpack);
    }
}

fn several(typed: &[String]) -> Option<Vec<String>> {
    (!typed.is_empty()).then(|| typed.to_vec())
}
