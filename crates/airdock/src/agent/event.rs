//! What happened, as values. Logs, progress bars and reports are made from these; nothing else
//! in the agent prints.

use std::path::PathBuf;
use std::time::Duration;

use airdock_bundle::Verdict;
use airdock_bundle::digest::Digest;
use serde::{Serialize, Serializer};

/// Something that an operator may want to know.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A source is watched from now on.
    Watching {
        /// The source.
        directory: PathBuf,
        /// Whether the kernel tells of changes, or the directory is looked at from time to time.
        polled: bool,
    },
    /// A source can't be listed.
    SourceMissing {
        /// The source.
        directory: PathBuf,
        /// Why.
        reason: String,
    },
    /// Something in a source isn't looked at, because its name isn't UTF-8.
    NotUtf8 {
        /// Its path, escaped byte by byte.
        path: String,
    },
    /// A source isn't used: others than root may write it.
    SourceUnsafe {
        /// The source.
        directory: PathBuf,
        /// Why.
        reason: String,
    },
    /// A source has bundles that are new, changed or gone.
    DirectoryChanged {
        /// The source.
        directory: PathBuf,
        /// New or changed bundles.
        changed: usize,
        /// Bundles that are gone.
        gone: usize,
    },
    /// A source is watched no longer.
    SourceRemoved {
        /// The source.
        directory: PathBuf,
    },
    /// New settings hold from now on.
    Reloaded {
        /// How many sources there are.
        sources: usize,
    },
    /// New settings can't be used; the old ones still hold.
    NotReloaded {
        /// File, line and key, and what is wrong.
        reason: String,
    },
    /// Settings have changed that can't be taken over while the agent runs.
    RestartNeeded {
        /// Their keys.
        keys: Vec<&'static str>,
    },
    /// The kernel dropped events; the directories are listed again.
    EventsLost,
    /// A bundle's missing blobs are being sent.
    Importing {
        /// The bundle.
        bundle: PathBuf,
        /// Images that it gives.
        images: usize,
        /// Bytes that the store lacks.
        missing: u64,
        /// Bytes that are needed and there.
        present: u64,
    },
    /// Some of a bundle's bytes have been sent.
    Progress {
        /// The bundle.
        bundle: PathBuf,
        /// Bytes just sent or found present.
        bytes: u64,
    },
    /// A name points to an image of a bundle, read back from the store.
    ImageImported {
        /// The name.
        name: String,
        /// What it points to.
        digest: Digest,
        /// What it pointed to before.
        moved_from: Option<Digest>,
        /// The bundle.
        bundle: PathBuf,
    },
    /// An image of a bundle isn't imported.
    ImageRefused {
        /// Its names, or its digest.
        image: String,
        /// Why.
        reason: String,
        /// The bundle.
        bundle: PathBuf,
    },
    /// A name of an image isn't one that the bundle's source lets it give.
    ImageLeftOut {
        /// The name.
        image: String,
        /// The bundle.
        bundle: PathBuf,
    },
    /// All that a bundle gives is in the store, read back.
    Loaded {
        /// The bundle.
        bundle: PathBuf,
        /// What was done.
        totals: Totals,
    },
    /// The layers of an image are unpacked ahead of its first container.
    Unpacked {
        /// Its names.
        image: String,
        /// The bundle.
        bundle: PathBuf,
        /// How long it took.
        #[serde(serialize_with = "seconds")]
        elapsed: Duration,
    },
    /// They are not; the runtime tries it again when it starts a container.
    NotUnpacked {
        /// Its names.
        image: String,
        /// The bundle.
        bundle: PathBuf,
        /// Why.
        reason: String,
    },
    /// A bundle has nothing that the store lacks.
    Unchanged {
        /// The bundle.
        bundle: PathBuf,
    },
    /// A bundle is not what can be imported, or not all of it.
    Judged {
        /// The bundle.
        bundle: PathBuf,
        /// What it is.
        verdict: Verdict,
        /// Why.
        reason: String,
        /// Whether an earlier version's images stay.
        kept: bool,
    },
    /// Bringing a bundle failed; it is tried again.
    Failed {
        /// The bundle.
        bundle: PathBuf,
        /// Why.
        reason: String,
        /// When it is tried again.
        #[serde(serialize_with = "seconds")]
        retry: Duration,
    },
    /// Two bundles give one name different images.
    BundlesDisagree {
        /// The name.
        name: String,
        /// The bundle that came last and has it.
        winner: PathBuf,
        /// The other.
        loser: PathBuf,
    },
    /// A name was in the store before us and points elsewhere.
    ForeignName {
        /// The name.
        name: String,
        /// What the store has.
        stored: Digest,
        /// What the bundle has.
        offered: Digest,
        /// The bundle.
        bundle: PathBuf,
        /// Whether the store's stays.
        kept: bool,
    },
    /// Names were lost, moved or unpinned by somebody, and are being put right.
    Restoring {
        /// The bundle that holds them.
        bundle: PathBuf,
        /// How many names.
        names: usize,
        /// How many blobs.
        blobs: usize,
    },
    /// Images are lost, and their bundle can't give them back.
    Lost {
        /// The bundle that held them.
        bundle: PathBuf,
        /// The image's names.
        image: String,
    },
    /// A bundle is gone; its images are held for a while.
    Departed {
        /// The bundle.
        bundle: PathBuf,
        /// For how long.
        #[serde(serialize_with = "seconds")]
        grace: Duration,
    },
    /// A name is no longer held.
    Released {
        /// The name.
        name: String,
        /// How.
        policy: &'static str,
    },
    /// The store doesn't answer; everything waits for it.
    StoreUnreachable {
        /// Which.
        store: String,
        /// Why.
        reason: String,
        /// When it is asked again.
        #[serde(serialize_with = "seconds")]
        retry: Duration,
    },
    /// The store answers.
    StoreReachable {
        /// Which.
        store: String,
    },
    /// The machine went down under a running agent: what was imported shortly before is read back.
    VerifyingAfterCrash {
        /// How many blobs.
        blobs: usize,
    },
    /// A blob in the store isn't what its digest says; it was thrown away, to be brought again.
    DamagedInStore {
        /// Its digest.
        digest: Digest,
    },
    /// Neither the store nor any bundle has the image that CRI starts every pod with.
    SandboxMissing {
        /// Its name, as CRI is configured.
        name: String,
    },
    /// CRI doesn't list an image that is in the store.
    UnseenByCri {
        /// The name.
        name: String,
    },
    /// The agent can't be asked for its status.
    NoStatusSocket {
        /// Why.
        reason: String,
    },
    /// What the agent knows can't be written down.
    LedgerFailed {
        /// Why.
        reason: String,
    },
    /// All that the agent knows is written down again.
    LedgerRecovered,
}

/// What bringing a bundle came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Images whose names were read back.
    pub images: usize,
    /// Bytes that went to the store.
    pub bytes_sent: u64,
    /// Bytes that were needed and there.
    pub bytes_skipped: u64,
    /// How long it took.
    #[serde(serialize_with = "seconds")]
    pub elapsed: Duration,
}

/// Durations are seconds wherever programs read them.
fn seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}
