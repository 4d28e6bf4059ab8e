//! Hints that a source may have changed. Nothing relies on them: they only make it quick.
//!
//! Each source is watched, and its parent too, since a directory may be removed, made again,
//! replaced by another or mounted over. Where the kernel can't tell (no watch left, a file
//! system that others change), the directory is looked at from time to time.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
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

/// File systems that other machines change, or that don't say so (`statfs(2)`, and for those from
/// elsewhere the list by which `tail -f` decides the same).
const REMOTE: [u64; 22] = [
    0x6969,      // NFS
    0x517b,      // SMB
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB2
    0x0102_1997, // 9p
    0x6573_5546, // FUSE, virtiofs
    0x00c3_6400, // Ceph
    0x7461_636f, // OCFS2
    0x0116_1970, // GFS2
    0x0bd0_0bd0, // Lustre
    0x4750_4653, // GPFS
    0x1983_0326, // BeeGFS
    0xaad7_aaea, // PanFS
    0xbeef_dead, // StorNext
    0x6163_6673, // ACFS
    0x5346_414f, // AFS
    0x6b41_4653, // kAFS
    0x7375_7245, // Coda
    0x2003_0528, // OrangeFS
    0x786f_4256, // VirtualBox
    0xbacb_acbc, // VMware
    0x7c7c_6673, // Parallels
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
    /// Apart, so that a hint that waits already doesn't hide that others were lost.
    overflows: mpsc::Receiver<Hint>,
    watches: Option<Watches>,
    watched: Watched,
    /// What each path that is watched was when it was looked at last.
    paths: HashMap<PathBuf, WatchDescriptor>,
    task: tokio::task::JoinHandle<()>,
}

impl Watcher {
    /// Starts to watch. Never fails: what can't be watched is polled.
    pub fn start(sources: &[PathBuf]) -> Self {
        let (sender, hints) = mpsc::channel(1);
        let (overflow, overflows) = mpsc::channel(1);
        let inotify = Inotify::init().ok();
        let watches = inotify.as_ref().map(Inotify::watches);
        let watched = Watched::default();
        let names = sources.iter().filter_map(|s| s.file_name());
        let sieve = Sieve {
            names: names.map(OsString::from).collect(),
            watched: watched.clone(),
        };
        let task = tokio::spawn(run(inotify, sieve, [sender, overflow]));
        Self {
            hints,
            overflows,
            watches,
            watched,
            paths: HashMap::new(),
            task,
        }
    }

    /// The next hint. Cancel safe.
    pub async fn hint(&mut self) -> Hint {
        tokio::select! {
            Some(hint) = self.hints.recv() => hint,
            Some(hint) = self.overflows.recv() => hint,
            else => std::future::pending().await,
        }
    }

    /// Makes sure that what stands at a source's path now is what is watched; cheap where it is.
    /// Returns whether the kernel tells of its changes.
    pub fn renew(&mut self, source: &Path) -> bool {
        if let Some(parent) = source.parent() {
            // Without it a directory that is made anew is found by the next listing.
            drop(self.watch(parent, Kind::Parent));
        }
        self.watch(source, Kind::Source).is_ok() && !is_remote(source)
    }

    /// The same for directories below a source: one that is copied into it is told of when it is
    /// made, and is whole much later.
    pub fn renew_below(&mut self, source: &Path, directories: &[PathBuf]) -> Below {
        self.forget_below(source, directories);
        let mut below = Below {
            told: true,
            is_new: false,
        };
        for directory in directories {
            match self.watch(directory, Kind::Below) {
                Ok(is_new) => {
                    below.told &= !is_remote(directory);
                    below.is_new |= is_new;
                }
                Err(_) => below.told = false,
            }
        }
        below
    }

    /// Stops watching what no longer stands below a source.
    fn forget_below(&mut self, source: &Path, directories: &[PathBuf]) {
        let is_gone = |path: &PathBuf, watch: &WatchDescriptor| {
            path.starts_with(source)
                && self.watched.kind(watch) == Kind::Below
                && !directories.contains(path)
        };
        let paths = self.paths.iter();
        let gone: Vec<PathBuf> = paths
            .filter(|(path, watch)| is_gone(path, watch))
            .map(|(path, _)| path.clone())
            .collect();
        for path in gone {
            if let Some(old) = self.paths.remove(&path) {
                self.unwatch(old);
            }
        }
    }

    /// Watching an inode twice is watching it once; a new directory at the path gets a new watch,
    /// and the old one goes. Returns whether it is new.
    fn watch(&mut self, path: &Path, kind: Kind) -> io::Result<bool> {
        let mut watches = self.watches.clone().ok_or(io::ErrorKind::Unsupported)?;
        let watch = watches.add(path, kind.mask())?;
        self.watched.insert(watch.clone(), kind);
        let before = self.paths.insert(path.to_owned(), watch.clone());
        let is_new = before.as_ref() != Some(&watch);
        if let Some(before) = before.filter(|_| is_new) {
            self.unwatch(before);
        }
        Ok(is_new)
    }

    /// Another path may lead to the same directory. One that was deleted took its watch with it.
    fn unwatch(&mut self, watch: WatchDescriptor) {
        if self.paths.values().any(|other| *other == watch) {
            return;
        }
        self.watched.remove(&watch);
        if let Some(mut watches) = self.watches.clone() {
            drop(watches.remove(watch));
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a directory is watched as: the first of these that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// A source.
    Source,
    /// A directory below a source.
    Below,
    /// The parent of a source: most of what happens there is no business of ours.
    Parent,
}

impl Kind {
    /// Not `MODIFY`: a long copy would wake us at each write, and `CLOSE_WRITE` tells of its end.
    fn mask(self) -> WatchMask {
        let entries = WatchMask::CREATE
            | WatchMask::MOVED_TO
            | WatchMask::MOVED_FROM
            | WatchMask::DELETE
            | WatchMask::ONLYDIR
            | WatchMask::MASK_ADD;
        match self {
            Self::Parent => entries,
            Self::Below => entries | WatchMask::CLOSE_WRITE | WatchMask::ATTRIB,
            Self::Source => {
                let itself = WatchMask::DELETE_SELF | WatchMask::MOVE_SELF;
                entries | WatchMask::CLOSE_WRITE | WatchMask::ATTRIB | itself
            }
        }
    }
}

/// What each watch is on.
#[derive(Clone, Debug, Default)]
struct Watched(Arc<Mutex<HashMap<WatchDescriptor, Kind>>>);

impl Watched {
    fn insert(&self, watch: WatchDescriptor, kind: Kind) {
        let mut watched = self.lock();
        let known = watched.entry(watch).or_insert(kind);
        *known = kind.min(*known);
    }

    fn remove(&self, watch: &WatchDescriptor) {
        self.lock().remove(watch);
    }

    /// An event may come before its watch is known: then it is taken to say something.
    fn kind(&self, watch: &WatchDescriptor) -> Kind {
        self.lock().get(watch).copied().unwrap_or(Kind::Below)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WatchDescriptor, Kind>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells events that say something about a source from the rest.
#[derive(Debug)]
struct Sieve {
    /// The last components of the sources.
    names: Vec<OsString>,
    watched: Watched,
}

impl Sieve {
    fn hint(&self, event: &EventOwned) -> Option<Hint> {
        if event.mask.contains(EventMask::Q_OVERFLOW) {
            return Some(Hint::Overflow);
        }
        let says_something = match (&event.name, self.watched.kind(&event.wd)) {
            (None, _) | (Some(_), Kind::Below) => true,
            (Some(name), Kind::Parent) => self.names.contains(name),
            (Some(name), Kind::Source) => !is_ignored(name) || is_switch(name),
        };
        says_something.then_some(Hint::Changed)
    }
}

/// Kubernetes changes all files of a volume at once by renaming a link, `..data`, that they all
/// lead through.
fn is_switch(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"..")
}

async fn run(inotify: Option<Inotify>, sieve: Sieve, [hints, overflows]: [mpsc::Sender<Hint>; 2]) {
    let told = hints.clone();
    // Without it a directory that is mounted over is found by the next listing.
    drop(
        std::thread::Builder::new()
            .name("mounts".to_owned())
            .stack_size(MOUNTS_STACK)
            .spawn(move || mounts(&told)),
    );
    match inotify {
        Some(inotify) => forward(inotify, &sieve, [hints, overflows]).await,
        None => std::future::pending().await,
    }
}

async fn forward(inotify: Inotify, sieve: &Sieve, [hints, overflows]: [mpsc::Sender<Hint>; 2]) {
    let Ok(mut events) = inotify.into_event_stream(vec![0; EVENT_BUFFER]) else {
        return;
    };
    while let Some(Ok(event)) = events.next().await {
        // A hint that waits already says the same.
        let _ = match sieve.hint(&event) {
            Some(hint @ Hint::Overflow) => overflows.try_send(hint),
            Some(hint @ Hint::Changed) => hints.try_send(hint),
            None => Ok(()),
        };
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
