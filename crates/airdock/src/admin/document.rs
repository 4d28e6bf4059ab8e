//! The status document. Keys are never renamed within a version; new ones may come.

use std::path::PathBuf;

use airdock_bundle::Verdict;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agent::scan::Fingerprint;

/// The version of the document's form.
pub const VERSION: u32 = 1;

/// Everything that the agent knows, at one moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// [`VERSION`].
    pub version: u32,
    /// The program.
    pub agent: AgentStatus,
    /// Where images go.
    pub store: StoreStatus,
    /// The watched directories.
    pub sources: Vec<SourceStatus>,
    /// Every bundle, by path.
    pub bundles: Vec<BundleStatus>,
    /// Every name that a bundle holds, or would hold if it weren't refused.
    pub images: Vec<ImageStatus>,
}

/// The program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgentStatus {
    /// Of airdock.
    pub version: String,
    /// Process id.
    pub pid: u32,
    /// When it started.
    pub started: Timestamp,
    /// Where it remembers what it did.
    pub state_dir: PathBuf,
    /// Whether every bundle that stood in the sources at the start has come to an end.
    pub ready: bool,
    /// How often the store was looked at since the start.
    pub resyncs: u64,
}

/// Where images go.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoreStatus {
    /// As in log lines.
    pub name: String,
    /// `unknown`, `reachable` or `unreachable`.
    pub state: String,
    /// Why it is unreachable.
    pub reason: Option<String>,
}

impl StoreStatus {
    /// Whether it answered the last time.
    pub fn is_reachable(&self) -> bool {
        self.state == "reachable"
    }
}

/// A watched directory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SourceStatus {
    /// Its path.
    pub directory: PathBuf,
    /// `watched`, `polled`, `missing`, `unsafe` (others may write it), or `unseen` before the first look.
    pub state: String,
    /// Why it isn't watched.
    pub reason: Option<String>,
    /// Bundles in it.
    pub bundles: usize,
    /// Paths in it that aren't looked at because their names aren't UTF-8, escaped byte by byte.
    #[serde(default)]
    pub not_utf8: Vec<String>,
}

/// Where a bundle is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BundleState {
    /// Somebody may still be writing it.
    Settling,
    /// It waits for its turn, or for the store.
    Waiting,
    /// It is being read and sent.
    Importing,
    /// What it gives is in the store, read back.
    Imported,
    /// Cut short, or still arriving.
    Incomplete,
    /// It can't be imported as it is.
    Refused,
    /// Something went wrong that is tried again.
    Failing,
    /// It is gone; its images are held for a while.
    Releasing,
}

impl BundleState {
    /// Every state, in the order of a bundle's way.
    pub const ALL: [Self; 8] = [
        Self::Settling,
        Self::Waiting,
        Self::Importing,
        Self::Imported,
        Self::Incomplete,
        Self::Refused,
        Self::Failing,
        Self::Releasing,
    ];

    /// The word used in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Settling => "settling",
            Self::Waiting => "waiting",
            Self::Importing => "importing",
            Self::Imported => "imported",
            Self::Incomplete => "incomplete",
            Self::Refused => "refused",
            Self::Failing => "failing",
            Self::Releasing => "releasing",
        }
    }
}

/// A bundle.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BundleStatus {
    /// Where it stands.
    pub path: PathBuf,
    /// Where it is on its way.
    pub state: BundleState,
    /// What it turned out to be, the last time that it was read.
    pub verdict: Option<Verdict>,
    /// Why it is in this state, where that needs a reason.
    pub reason: Option<String>,
    /// The same for copies and renames of the same images; null before it was read.
    pub id: Option<String>,
    /// Bytes.
    pub size: u64,
    /// How it looked when this was written.
    pub fingerprint: Fingerprint,
    /// When its content came.
    pub arrived: Timestamp,
    /// When it was read the last time.
    pub judged: Option<Timestamp>,
    /// Images that it holds.
    pub images: usize,
    /// Whether images of an earlier version are held because this one can't replace them.
    pub holds_earlier: bool,
    /// Bytes written so far, while it is importing.
    pub bytes_done: Option<u64>,
    /// Bytes to write, while it is importing.
    pub bytes_total: Option<u64>,
    /// Seconds until it is looked at again, where that is planned.
    pub retry_seconds: Option<f64>,
}

/// A name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ImageStatus {
    /// Normalised; of a refused image, as the bundle gives it, escaped.
    pub name: String,
    /// What it points to, as the store showed it the last time; null where it doesn't exist.
    pub digest: Option<String>,
    /// What the bundle that has the name gives; null for a refused image.
    pub wanted: Option<String>,
    /// Of its config: what CRI calls the image's id.
    pub config: Option<String>,
    /// The platform that was chosen.
    pub platform: Option<String>,
    /// Bytes of all that it needs.
    pub size: u64,
    /// Whether kubelet's garbage collection leaves it alone.
    pub pinned: bool,
    /// The other names in the store under which the same image is found.
    pub also: Vec<String>,
    /// The bundles that hold it, the one that has the name first.
    pub bundles: Vec<PathBuf>,
    /// Since when the bundle that has the name gives it.
    pub since: Option<Timestamp>,
    /// Why it isn't imported.
    pub refused: Option<String>,
    /// Whether that is on purpose: its source doesn't let it be given.
    #[serde(default)]
    pub left_out: bool,
}

impl ImageStatus {
    /// `imported`, `absent`, `refused` or `left out`.
    pub fn state(&self) -> &'static str {
        match (&self.refused, self.is_imported()) {
            (Some(_), _) if self.left_out => "left out",
            (Some(_), _) => "refused",
            (None, true) => "imported",
            (None, false) => "absent",
        }
    }

    /// Whether the name exists and points to what its bundle gives.
    pub fn is_imported(&self) -> bool {
        self.digest.is_some() && self.digest == self.wanted
    }
}
