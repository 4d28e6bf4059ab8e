//! A socket in front of a daemon's: it passes calls through, keeps count of them and of their
//! bytes, and spoils those that a test names.
//!
//! It knows HTTP/2 and the two trailers of gRPC, and nothing of any service: a call is its path
//! (`/containerd.services.content.v1.Content/Write`), and tests name the end of it
//! (`Content/Write`).

mod fault;
mod forward;

use std::io;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{oneshot, watch};

pub use fault::Fault;
use fault::{Faults, Kind};

/// A call that came through, or was spoilt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// `/containerd.services.content.v1.Content/Write`.
    pub path: String,
    /// Bytes that the client sent so far.
    pub sent: u64,
}

/// A proxy; dropping it breaks its connections.
#[derive(Debug)]
pub struct Proxy {
    dir: TempDir,
    record: Arc<Mutex<Record>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What has happened, and what is to happen.
#[derive(Debug, Default)]
struct Record {
    calls: Vec<Call>,
    faults: Faults,
    /// Tells the calls that wait for it.
    healing: watch::Sender<()>,
}

/// A fault that strikes now.
#[derive(Debug)]
struct Struck {
    kind: Kind,
    /// Changes when all is healed after this moment.
    healing: watch::Receiver<()>,
}

impl Proxy {
    /// A proxy for the daemon at `upstream`.
    pub fn before(upstream: &Path) -> io::Result<Self> {
        // Short, for a socket's path has 107 bytes at most (unix(7)).
        let dir = tempfile::Builder::new().prefix("airdock-").tempdir()?;
        let listener = UnixListener::bind(dir.path().join("s"))?;
        listener.set_nonblocking(true)?;
        let record = Arc::new(Mutex::new(Record::default()));
        let (stop, stopped) = oneshot::channel();
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let service = (upstream.to_owned(), Arc::clone(&record));
        Ok(Self {
            dir,
            record,
            stop: Some(stop),
            thread: Some(thread::spawn(move || {
                run(&runtime, listener, stopped, service);
            })),
        })
    }

    /// Where clients connect to.
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    /// Spoils a call that is still to come.
    pub fn spoil(&self, fault: Fault) {
        lock(&self.record).faults.add(fault);
    }

    /// Spoils no more calls. What hangs is cut off, and what was stopped goes on.
    pub fn heal(&self) {
        let mut record = lock(&self.record);
        record.faults = Faults::default();
        record.healing.send_replace(());
    }

    /// How many faults are still to strike.
    pub fn pending(&self) -> usize {
        lock(&self.record).faults.len()
    }

    /// The calls so far, in the order of their beginning.
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.record).calls.clone()
    }

    /// Bytes that clients sent so far in calls whose path ends like this.
    pub fn sent(&self, method: &str) -> u64 {
        let calls = self.calls();
        let named = calls.iter().filter(|call| call.path.ends_with(method));
        named.map(|call| call.sent).sum()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Gone already where the thread has ended by itself.
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Serves until told to stop; what goes on then ends with the runtime.
fn run(
    runtime: &Runtime,
    listener: UnixListener,
    stopped: oneshot::Receiver<()>,
    (upstream, record): (PathBuf, Arc<Mutex<Record>>),
) {
    runtime.block_on(async {
        tokio::select! {
            _ = stopped => {}
            _ = forward::serve(listener, upstream, record) => {}
        }
    });
}

/// A test that panicked elsewhere leaves the record as good as it was.
fn lock(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Record {
    /// Notes a new call; its number, and what is to be done to it at once.
    fn begin(&mut self, path: &str) -> (usize, Option<Struck>) {
        let fault = self.faults.at_begin(path).map(|kind| self.struck(kind));
        let path = path.to_owned();
        self.calls.push(Call { path, sent: 0 });
        (self.calls.len() - 1, fault)
    }

    /// Notes bytes of a call; what is to be done to it now.
    fn sent(&mut self, number: usize, bytes: u64) -> Option<Struck> {
        let call = self.calls.get_mut(number)?;
        call.sent += bytes;
        let kind = self.faults.at_bytes(&call.path, bytes)?;
        Some(self.struck(kind))
    }

    fn struck(&self, kind: Kind) -> Struck {
        let healing = self.healing.subscribe();
        Struck { kind, healing }
    }
}
