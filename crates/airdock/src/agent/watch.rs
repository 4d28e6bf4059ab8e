//! Hints that a source may have changed. Nothing relies on them: they only make it quick.
//!
//! Each source is watched, and its parent too, since a directory may be removed, made again,
//! replaced by another or mounted over. Where the kernel can't tell (no watch left, a file
//! system that others change), the directory is looked at from time to time.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use inotify::{EventMask, EventOwned, Inotify, WatchDescriptor, WatchMask, Watches};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc;

use super::scan::is_ignored;

/// How often a source is looked at where the kernel can't tell of changes: a listing is cheap,
/// and nobody copies a bundle much faster.
pub const POLL: Duration = Duration::from_secs(2);

/// Room for many events at once; each has a name of up to 255 bytes.
const EVENT_BUFFER: usize = 64 * 1024;

/// How often the thread that waits for mounts looks whether it is still wanted.
const MOUNTS_LOOK: Timespec = Timespec {
    tv_sec: 60,
    tv_nsec: 0,
};

/// The thread that waits for mounts calls nothing deep.
const MOUNTS_STACK: usize = 64 * 1024;

/// File systems that other machines change, or that don't say so (`statfs(2)`).
const REMOTE: [u64; 7] = [
    0x6969,      // NFS
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB2
    0x0102_1997, // 9p
    0x6573_5546, // FUSE
    0x00c3_6400, // Ceph
    0x7461_636f, // OCFS2
];

/// What the watcher has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Something in or about a source changed.
    Changed,
    /// The kernel dropped events.
    Overflow,
}

/// What watching the directories below a source came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Below {
    /// Whether the kernel tells of the changes in all of them.
    pub told: bool,
    /// Whether one of them wasn't watched before: what came into it since may not have been seen.
    pub is_new: bool,
}

/// Watches sources for as long as it lives.
#[derive(Debug)]
pub struct Watcher {
    hints: mpsc::Receiver<Hint>,
    watches: Option<Watches>,
    parents: Parents,
    /// Directories below sources, ever: a kernel never gives a number twice.
    below: HashSet<WatchDescriptor>,
    task: tokio::task::JoinHandle<()>,
}

impl Watcher {
    /// Starts to watch. Never fails: what can't be watched is polled.
    pub fn start(sources: &[PathBuf]) -> Self {
        let (sender, hints) = mpsc::channel(1);
        let inotify = Inotify::init().ok();
        let watches = inotify.as_ref().map(Inotify::watches);
        let parents = Parents::default();
        let sieve = Sieve {
            names: sources
                .iter()
                .filter_map(|s| s.file_name())
                .map(OsString::from)
                .collect(),
            parents: parents.clone(),
        };
        let task = tokio::spawn(run(inotify, sieve, sender));
        Self {
            hints,
            watches,
            parents,
            below: HashSet::new(),
            task,
        }
    }

    /// The next hint. Cancel safe.
    pub async fn hint(&mut self) -> Hint {
        match self.hints.recv().await {
            Some(hint) => hint,
            None => std::future::pending().await,
        }
    }

    /// Makes sure that what stands at a source's path now is what is watched; cheap where it is.
    /// Returns whether the kernel tells of its changes.
    pub fn renew(&mut self, source: &Path) -> bool {
        self.watch(source).is_ok() && !is_remote(source)
    }

    /// The same for directories below a source.
    pub fn renew_below(&mut self, directories: &[PathBuf]) -> Below {
        let mut below = Below {
            told: true,
            is_new: false,
        };
        for directory in directories {
            let mut watches = self.watches.clone();
            let watch = watches.as_mut().map(|w| w.add(directory, source_mask()));
            match watch {
                Some(Ok(watch)) => {
                    below.told &= !is_remote(directory);
                    below.is_new |= self.below.insert(watch);
                }
                _ => below.told = false,
            }
        }
        below
    }

    /// Watching an inode twice is watching it once; a new directory at the path gets a new watch.
    fn watch(&self, source: &Path) -> io::Result<()> {
        let mut watches = self.watches.clone().ok_or(io::ErrorKind::Unsupported)?;
        if let Some(parent) = source.parent()
            && let Ok(watch) = watches.add(parent, parent_mask())
        {
            self.parents.insert(watch);
        }
        let watch = watches.add(source, source_mask())?;
        self.parents.remove(&watch);
        Ok(())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The watches that are on parents only: most of what happens there is no business of ours.
#[derive(Clone, Debug, Default)]
struct Parents(Arc<Mutex<HashSet<WatchDescriptor>>>);

impl Parents {
    fn insert(&self, watch: WatchDescriptor) {
        self.lock().insert(watch);
    }

    fn remove(&self, watch: &WatchDescriptor) {
        self.lock().remove(watch);
    }

    fn contains(&self, watch: &WatchDescriptor) -> bool {
        self.lock().contains(watch)
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<WatchDescriptor>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells events that say something about a source from the rest.
#[derive(Debug)]
struct Sieve {
    /// The last components of the sources.
    names: Vec<OsString>,
    parents: Parents,
}

impl Sieve {
    fn hint(&self, event: &EventOwned) -> Option<Hint> {
        if event.mask.contains(EventMask::Q_OVERFLOW) {
            return Some(Hint::Overflow);
        }
        let says_something = match &event.name {
            None => true,
            Some(name) if self.parents.contains(&event.wd) => self.names.contains(name),
            Some(name) => !is_ignored(name),
        };
        says_something.then_some(Hint::Changed)
    }
}

/// Not `MODIFY`: a long copy would wake us at each write, and its end is told by `CLOSE_WRITE`.
fn source_mask() -> WatchMask {
    WatchMask::CREATE
        | WatchMask::CLOSE_WRITE
        | WatchMask::MOVED_TO
        | WatchMask::MOVED_FROM
        | WatchMask::DELETE
        | WatchMask::ATTRIB
        | WatchMask::DELETE_SELF
        | WatchMask::MOVE_SELF
        | WatchMask::ONLYDIR
        | WatchMask::MASK_ADD
}

fn parent_mask() -> WatchMask {
    WatchMask::CREATE
        | WatchMask::MOVED_TO
        | WatchMask::MOVED_FROM
        | WatchMask::DELETE
        | WatchMask::ONLYDIR
        | WatchMask::MASK_ADD
}

async fn run(inotify: Option<Inotify>, sieve: Sieve, hints: mpsc::Sender<Hint>) {
    let told = hints.clone();
    // Without it a directory that is mounted over is found by the next listing.
    drop(
        std::thread::Builder::new()
            .name("mounts".to_owned())
            .stack_size(MOUNTS_STACK)
            .spawn(move || mounts(&told)),
    );
    match inotify {
        Some(inotify) => forward(inotify, &sieve, &hints).await,
        None => std::future::pending().await,
    }
}

async fn forward(inotify: Inotify, sieve: &Sieve, hints: &mpsc::Sender<Hint>) {
    let Ok(mut events) = inotify.into_event_stream(vec![0; EVENT_BUFFER]) else {
        return;
    };
    while let Some(Ok(event)) = events.next().await {
        if let Some(hint) = sieve.hint(&event) {
            // A hint that waits already says the same.
            let _ = hints.try_send(hint);
        }
    }
}

/// The kernel marks this file whenever a mount comes or goes (`proc_pid_mounts(5)`): that is how
/// a directory that is mounted over is noticed. A thread, for it does nothing but wait.
fn mounts(hints: &mpsc::Sender<Hint>) {
    let Ok(file) = std::fs::File::open("/proc/self/mountinfo") else {
        return;
    };
    let interest = PollFlags::PRI | PollFlags::ERR;
    while !hints.is_closed() {
        match poll(&mut [PollFd::new(&file, interest)], Some(&MOUNTS_LOOK)) {
            Ok(0) => {}
            Ok(_) => {
                let _ = hints.try_send(Hint::Changed);
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn is_remote(path: &Path) -> bool {
    let Ok(stat) = rustix::fs::statfs(path) else {
        return false;
    };
    u64::try_from(stat.f_type).is_ok_and(|kind| REMOTE.contains(&kind))
}
