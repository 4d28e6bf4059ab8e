//! What it costs when nothing has changed: a restart, and a minute of nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use airdock_testkit::fixture::sha256;
use airdock_testkit::process::Running;
use airdock_testkit::{Daemon, Version, wait};
use anyhow::{Context as _, bail};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use tempfile::TempDir;

use super::Bench;
use super::measure::{self, Measured, field};
use super::row::Row;
use super::side::store;
use super::statistics::{mebibytes, median, seconds};

/// Bundles in the directory; each looks like case A's.
pub(super) const BUNDLES: u64 = 100;

/// Restarts by default.
const RESTARTS: usize = 7;

/// How long nothing happens: as long as `resync`, so that one look at everything is in it.
const IDLE: Duration = Duration::from_secs(300);

/// The daemon is at rest when its metadata haven't changed for this long.
const REST: Duration = Duration::from_secs(3);

/// The agent says so when it has looked at the directory.
const STARTED: [&str; 1] = ["started to watch"];

/// A daemon that has all that stands in a directory, and an agent's memory of it.
struct Imported {
    daemon: Daemon,
    directory: PathBuf,
    state: TempDir,
}

impl Imported {
    fn prepare(bench: &Bench, version: Version) -> anyhow::Result<Self> {
        let imported = Self {
            directory: bench.bundles.many(BUNDLES)?,
            daemon: Daemon::start(version)?,
            state: tempfile::tempdir()?,
        };
        imported.once(bench)?;
        measure::settle(imported.daemon.home())?;
        imported.at_rest()?;
        Ok(imported)
    }

    fn agent(&self, bench: &Bench) -> Command {
        let mut command = Command::new(&bench.airdock);
        command.arg(store(&self.daemon)).arg("watch");
        command.arg(&self.directory);
        command.arg("--state-dir").arg(self.state.path());
        command
    }

    /// An agent that starts, finds all in order, and ends.
    fn once(&self, bench: &Bench) -> anyhow::Result<Measured> {
        measure::run(self.agent(bench).arg("--once"))
    }

    /// Waits until the daemon has collected its garbage.
    fn at_rest(&self) -> anyhow::Result<()> {
        let mut last = String::new();
        Ok(wait::until("the daemon's rest", wait::DEADLINE, || {
            thread::sleep(REST);
            let now = self.metadata().ok()?;
            (std::mem::replace(&mut last, now) == last).then_some(())
        })?)
    }

    /// Digest of what the daemon keeps beside blobs: images, leases, labels.
    fn metadata(&self) -> anyhow::Result<String> {
        let folder = self.daemon.root().join("io.containerd.metadata.v1.bolt");
        Ok(sha256(&fs::read(folder.join("meta.db"))?))
    }
}

/// Case D: the agent is started again.
pub(super) fn restart(bench: &Bench, version: Version) -> anyhow::Result<Row> {
    let imported = Imported::prepare(bench, version)?;
    let before = imported.metadata()?;
    let opened = Opened::watch(&imported.directory)?;
    let mut runs = Vec::new();
    for _ in 0..bench.times(RESTARTS) {
        runs.push(imported.once(bench)?);
    }
    if imported.metadata()? != before {
        bail!("the daemon's metadata changed");
    }
    let times: Vec<Duration> = runs.iter().map(|run| run.elapsed).collect();
    let each: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
    let each = median(&each) * 1000.0 / 100.0;
    Ok(Row {
        case: "D".to_owned(),
        title: format!("agent restart with {BUNDLES} unchanged bundles of 344 MB"),
        daemon: version.to_string(),
        ours: seconds(&times),
        theirs: "–".to_owned(),
        ratio: format!("{each:.2} ms a bundle"),
        goal: "< 2 ms a bundle, nothing read, nothing written".to_owned(),
        read: format!(
            "{} bundles opened; {} in all, the ledger among it",
            opened.count()?,
            most(&runs, |run| run.io.read)
        ),
        sent: "daemon's metadata unchanged".to_owned(),
        memory: most(&runs, |run| run.peak),
        ..Row::default()
    })
}

/// Case J: the agent has nothing to do.
pub(super) fn idle(bench: &Bench, version: Version) -> anyhow::Result<Row> {
    let imported = Imported::prepare(bench, version)?;
    let mut agent = Running::spawn(&mut imported.agent(bench))?;
    agent.wait_for_line(&STARTED, wait::DEADLINE)?;
    // What it does at its start, and shortly after, is over by then.
    thread::sleep(Duration::from_secs(3));
    let opened = Opened::watch(&imported.directory)?;
    let daemon = imported.daemon.pid().context("the daemon has ended")?;
    let before = (
        measure::time_of_threads(agent.pid())?,
        measure::processor_time(daemon)?,
    );
    thread::sleep(IDLE);
    let ours = measure::time_of_threads(agent.pid())?.saturating_sub(before.0);
    let theirs = measure::processor_time(daemon)?.saturating_sub(before.1);
    let (ours, theirs) = (ours.as_secs_f64(), theirs.as_secs_f64());
    let status = fs::read_to_string(format!("/proc/{}/status", agent.pid()))?;
    let share = ours / IDLE.as_secs_f64() * 100.0;
    Ok(Row {
        case: "J".to_owned(),
        title: format!("idle agent with {BUNDLES} bundles, five minutes with one look at all"),
        daemon: version.to_string(),
        ours: format!("{:.1} ms of CPU", ours * 1000.0),
        theirs: "–".to_owned(),
        ratio: format!("{share:.3} %"),
        goal: "< 0.1 %, no bundle opened, ≤ 20 MiB".to_owned(),
        read: format!("{} bundles opened", opened.count()?),
        sent: "–".to_owned(),
        memory: format!("{} resident", mebibytes(field(&status, "VmRSS")? << 10)),
        processor: format!("{ours:.2} + {theirs:.2} s"),
        ..Row::default()
    })
}

/// Counts how often files of a directory are opened.
struct Opened(std::os::fd::OwnedFd);

impl Opened {
    fn watch(directory: &Path) -> anyhow::Result<Self> {
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        inotify::add_watch(&events, directory, WatchFlags::OPEN)?;
        Ok(Self(events))
    }

    /// Of files; the directory's own listings have no name.
    fn count(&self) -> anyhow::Result<usize> {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 64 << 10];
        let mut events = inotify::Reader::new(&self.0, &mut buffer);
        let mut count = 0;
        loop {
            match events.next() {
                Ok(event) => count += usize::from(event.file_name().is_some()),
                Err(Errno::AGAIN) => return Ok(count),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn most(runs: &[Measured], figure: impl Fn(&Measured) -> u64) -> String {
    mebibytes(runs.iter().map(figure).max().unwrap_or_default())
}
