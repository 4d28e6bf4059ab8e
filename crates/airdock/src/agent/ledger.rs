//! What the agent remembers of each bundle, so that an unchanged one is never read again.
//!
//! A cache: losing it costs one look at every bundle. One file a bundle, replaced atomically, and
//! beside it the [`index`] of a compressed one.

pub mod index;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use airdock_bundle::Verdict;
use airdock_bundle::digest::{Algorithm, Digest};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use self::index::IndexFile;
use super::offer::Offer;
use super::publish::Refused;
use super::scan::Fingerprint;
use super::terms::Terms;

/// The format of the files. A file of another version is left alone and counts as absent.
const VERSION: u32 = 1;

/// What the names of files start with that are being written.
const UNFINISHED: &str = ".unfinished-";

/// A bundle as it was left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    version: u32,
    /// Where the bundle stands.
    pub path: PathBuf,
    /// The directory that it was found in.
    pub source: PathBuf,
    /// How it looked when the verdict was reached.
    pub fingerprint: Fingerprint,
    /// When its content came.
    pub arrived: Timestamp,
    /// What it turned out to be.
    pub verdict: Verdict,
    /// Why, where it isn't ok.
    pub reason: Option<String>,
    /// What it gives, and what an earlier version of it gave and this one doesn't replace.
    pub held: Vec<Held>,
    /// Images of it that can't be imported.
    #[serde(default)]
    pub refused: Vec<Refused>,
    /// Names in it that its source doesn't let it give.
    #[serde(default)]
    pub left_out: Vec<Refused>,
    /// Under which settings the verdict was reached.
    #[serde(default)]
    pub terms: Terms,
    /// When the verdict was reached.
    #[serde(default)]
    pub judged: Option<Timestamp>,
    /// When it went, while its images may still be held for it.
    pub gone: Option<Timestamp>,
    /// The kernel's boot id at the time of the import.
    pub boot: String,
}

/// Images that a bundle holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The images.
    pub offer: Arc<Offer>,
    /// When they came.
    pub arrived: Timestamp,
    /// Whether the file on disk still has them.
    pub live: bool,
}

impl Entry {
    /// A bundle of which nothing is known yet.
    pub fn new(path: PathBuf, source: PathBuf, fingerprint: Fingerprint) -> Self {
        Self {
            version: VERSION,
            path,
            source,
            fingerprint,
            arrived: fingerprint.changed,
            verdict: Verdict::Incomplete,
            reason: None,
            held: Vec::new(),
            refused: Vec::new(),
            left_out: Vec::new(),
            terms: Terms::default(),
            judged: None,
            gone: None,
            boot: String::new(),
        }
    }
}

/// Why the state directory can't be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// It can't be read or written.
    #[error("state directory {}: {action}: {source}; choose another with --state-dir", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Another agent has it.
    #[error(
        "state directory {} is in use by the agent with pid {pid}; stop it, or choose another with --state-dir",
        path.display()
    )]
    Busy {
        /// The state directory.
        path: PathBuf,
        /// As the other agent wrote it.
        pid: String,
    },
}

/// The state directory, locked for this process.
#[derive(Debug)]
pub struct Ledger {
    directory: PathBuf,
    /// What could not be written yet: the state directory may be full for a while.
    unwritten: BTreeMap<PathBuf, Entry>,
    /// Held for as long as the agent lives; the kernel lets go of it even after a SIGKILL.
    _lock: File,
}

impl Ledger {
    /// Opens, and where needed makes, the state directory.
    pub fn open(state: &Path) -> Result<Self, LedgerError> {
        let directory = state.join("ledger");
        fs::create_dir_all(&directory).map_err(|e| failed("create", &directory, e))?;
        let lock = lock(state)?;
        remove_unfinished(&directory);
        index::remove_unowned(&directory);
        Ok(Self {
            unwritten: BTreeMap::new(),
            directory,
            _lock: lock,
        })
    }

    /// Everything that is remembered. A file that can't be understood counts as absent: its
    /// bundle is looked at again.
    pub fn load(&self) -> Result<Vec<Entry>, LedgerError> {
        let listed =
            fs::read_dir(&self.directory).map_err(|e| failed("list", &self.directory, e))?;
        let files = listed.filter_map(Result::ok).map(|entry| entry.path());
        let remembered = files.filter(|path| path.extension().is_some_and(|e| e == "json"));
        Ok(remembered.filter_map(|path| read(&path)).collect())
    }

    /// Remembers an entry, durably; what can't be written is kept for [`catch_up`](Self::catch_up).
    pub fn write(&mut self, entry: &Entry) -> Result<(), LedgerError> {
        let path = self.file_of(&entry.path);
        let written = write_atomically(&self.directory, &path, entry);
        match written {
            Ok(()) => {
                self.unwritten.remove(&entry.path);
                Ok(())
            }
            Err(error) => {
                self.unwritten.insert(entry.path.clone(), entry.clone());
                Err(failed("write", &path, error))
            }
        }
    }

    /// Whether anything could not be written yet.
    pub fn is_behind(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Writes what could not be written before.
    pub fn catch_up(&mut self) -> Result<(), LedgerError> {
        let entries: Vec<Entry> = self.unwritten.values().cloned().collect();
        entries.iter().try_for_each(|entry| self.write(entry))
    }

    /// Forgets a bundle.
    pub fn forget(&mut self, bundle: &Path) -> Result<(), LedgerError> {
        self.unwritten.remove(bundle);
        self.index_of(bundle).remove();
        let path = self.file_of(bundle);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", &path, error))
            }
            _ => Ok(()),
        }
    }

    /// Where the index of a bundle is kept, if it has one.
    pub fn index_of(&self, bundle: &Path) -> IndexFile {
        IndexFile::beside(&self.file_of(bundle))
    }

    /// Forgets every index.
    pub fn forget_indexes(&self) {
        index::remove_all(&self.directory);
    }

    fn file_of(&self, bundle: &Path) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        let digest = Digest::of(Algorithm::Sha256, bundle.as_os_str().as_bytes());
        self.directory.join(format!("{}.json", digest.hex()))
    }
}

/// What an agent that was killed was about to write; failing to remove it is no reason to stop.
fn remove_unfinished(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> LedgerError {
    let path = path.to_owned();
    LedgerError::Io {
        action,
        path,
        source,
    }
}

fn lock(state: &Path) -> Result<File, LedgerError> {
    let path = state.join("lock");
    let mut file = File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path)
        .map_err(|e| failed("open", &path, e))?;
    if file.try_lock().is_err() {
        let pid = fs::read_to_string(&path).unwrap_or_default();
        return Err(LedgerError::Busy {
            path: state.to_owned(),
            pid: pid.trim().to_owned(),
        });
    }
    // The lock counts; the pid is for people, and doesn't fit where the disk is full.
    let pid = std::process::id();
    drop(file.set_len(0).and_then(|()| writeln!(file, "{pid}")));
    Ok(file)
}

fn read(path: &Path) -> Option<Entry> {
    let bytes = fs::read(path).ok()?;
    let entry: Entry = serde_json::from_slice(&bytes).ok()?;
    (entry.version == VERSION).then_some(entry)
}

/// Temp file, fsync, rename, fsync of the directory: after a power cut the old file or the new.
fn write_atomically(directory: &Path, path: &Path, entry: &Entry) -> io::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempfile_in(directory)?;
    file.write_all(&serde_json::to_vec(entry)?)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> Entry {
        let file = tempfile::NamedTempFile::new().unwrap();
        let fingerprint = Fingerprint::of(&file.as_file().metadata().unwrap());
        Entry::new(path.into(), "/bundles".into(), fingerprint)
    }

    #[test]
    fn what_is_written_is_remembered_and_what_is_forgotten_is_not() {
        let state = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(state.path()).unwrap();
        ledger.write(&entry("/bundles/a.tar")).unwrap();
        ledger.write(&entry("/bundles/b.tar")).unwrap();
        ledger.forget(Path::new("/bundles/b.tar")).unwrap();
        let paths: Vec<_> = ledger.load().unwrap().into_iter().map(|e| e.path).collect();
        assert_eq!(paths, [Path::new("/bundles/a.tar")]);
    }

    #[test]
    fn what_a_killed_agent_was_writing_is_removed() {
        let state = tempfile::tempdir().unwrap();
        drop(Ledger::open(state.path()).unwrap());
        let unfinished = state.path().join("ledger").join(".unfinished-a1b2");
        fs::write(&unfinished, b"{").unwrap();
        drop(Ledger::open(state.path()).unwrap());
        assert!(!unfinished.exists());
    }

    #[test]
    fn an_index_goes_with_its_entry() {
        let state = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(state.path()).unwrap();
        let kept = |ledger: &Ledger, bundle: &str| {
            let index = ledger.index_of(Path::new(bundle));
            index.keep(Some(b"index"));
            index
        };
        let forgotten = kept(&ledger, "/bundles/a.tar.gz");
        ledger.forget(Path::new("/bundles/a.tar.gz")).unwrap();
        assert_eq!(forgotten.read(), None);
        // An agent that was killed before it wrote the entry.
        let unowned = kept(&ledger, "/bundles/b.tar.gz");
        ledger.write(&entry("/bundles/c.tar.gz")).unwrap();
        let owned = kept(&ledger, "/bundles/c.tar.gz");
        drop(ledger);
        let ledger = Ledger::open(state.path()).unwrap();
        assert_eq!(unowned.read(), None);
        assert_eq!(owned.read().as_deref(), Some(&b"index"[..]));
        ledger.forget_indexes();
        assert_eq!(owned.read(), None);
        assert_eq!(ledger.load().unwrap().len(), 1);
    }

    #[test]
    fn a_torn_or_newer_file_counts_as_absent() {
        let state = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(state.path()).unwrap();
        fs::write(state.path().join("ledger/torn.json"), b"{\"versio").unwrap();
        let newer = serde_json::to_string(&entry("/x")).unwrap();
        let newer = newer.replace("\"version\":1", "\"version\":2");
        fs::write(state.path().join("ledger/newer.json"), newer).unwrap();
        assert_eq!(ledger.load().unwrap(), []);
    }

    #[test]
    fn what_could_not_be_written_is_written_later() {
        let state = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(state.path()).unwrap();
        fs::remove_dir(state.path().join("ledger")).unwrap();
        ledger.write(&entry("/bundles/a.tar")).unwrap_err();
        ledger.write(&entry("/bundles/b.tar")).unwrap_err();
        ledger.forget(Path::new("/bundles/b.tar")).unwrap();
        assert!(ledger.is_behind());
        fs::create_dir(state.path().join("ledger")).unwrap();
        ledger.catch_up().unwrap();
        assert!(!ledger.is_behind());
        let paths: Vec<_> = ledger.load().unwrap().into_iter().map(|e| e.path).collect();
        assert_eq!(paths, [Path::new("/bundles/a.tar")]);
    }

    #[test]
    fn a_second_agent_is_told_who_has_the_directory() {
        let state = tempfile::tempdir().unwrap();
        let _first = Ledger::open(state.path()).unwrap();
        let second = Ledger::open(state.path()).unwrap_err().to_string();
        assert!(second.contains(&std::process::id().to_string()), "{second}");
    }
}
