//! How soon the agent acts: on a bundle that arrives, on an image that is lost, of a small bundle
//! and of a large compressed one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use airdock_testkit::process::Running;
use airdock_testkit::{Daemon, Version, wait};
use anyhow::Context as _;
use tempfile::TempDir;

use super::Bench;
use super::appearing::Appearing;
use super::bundles::{Name, small};
use super::measure::Io;
use super::row::Row;
use super::side::store;
use super::statistics::percentile;

/// Bundles that arrive, one after the other.
const ARRIVALS: usize = 100;

/// Bundles whose image is removed, and how often each.
const LOSING: usize = 20;
const LOSSES: usize = 5;

/// From the arrival of a large bundle to its names, at most.
const DEADLINE: Duration = Duration::from_secs(120);

/// An agent at work, its directory and its daemon.
struct Site {
    daemon: Daemon,
    folders: TempDir,
    agent: Running,
    names: Appearing,
}

impl Site {
    fn start(bench: &Bench, version: Version) -> anyhow::Result<Self> {
        let daemon = Daemon::start(version)?;
        let folders = tempfile::tempdir_in(bench.bundles.folder())?;
        let directory = folders.path().join("in");
        fs::create_dir(&directory)?;
        let mut agent = Command::new(&bench.airdock);
        agent.arg(store(&daemon)).arg("watch").arg(&directory);
        agent.arg("--state-dir").arg(folders.path().join("state"));
        let mut agent = Running::spawn(&mut agent)?;
        agent.wait_for_line(&["started to watch"], wait::DEADLINE)?;
        Ok(Self {
            names: Appearing::start(&bench.named, &daemon)?,
            daemon,
            folders,
            agent,
        })
    }

    /// A bundle with one image, under a name that is not looked at.
    fn write(&self, number: usize) -> anyhow::Result<PathBuf> {
        let path = self.folders.path().join(format!("{number}.tar"));
        small(&path, &name(number))?;
        Ok(path)
    }

    fn arrive(&self, bundle: &Path) -> anyhow::Result<()> {
        let file = bundle.file_name().context("no name")?;
        Ok(fs::rename(
            bundle,
            self.folders.path().join("in").join(file),
        )?)
    }

    /// Waits for a record that was made after `since`.
    fn appears(&mut self, name: &str, since: SystemTime) -> anyhow::Result<()> {
        let appeared = self.names.wait(name, since);
        appeared.with_context(|| format!("{name} did not appear\n{}", self.agent.stderr()))
    }

    /// The time from the start of a `ctr` that removes all records of an image and, with them, its
    /// blobs, until the name is there again.
    fn lose(&mut self, name: &str) -> anyhow::Result<Duration> {
        let names = self.same_as(name)?;
        let names = names.iter().map(String::as_str);
        let remove: Vec<&str> = ["images", "rm", "--sync"]
            .into_iter()
            .chain(names)
            .collect();
        let (since, started) = (SystemTime::now(), Instant::now());
        self.daemon.ctr_text(&remove)?;
        self.appears(name, since)?;
        Ok(started.elapsed())
    }

    /// All names of the image that has this name.
    fn same_as(&self, name: &str) -> anyhow::Result<Vec<String>> {
        let listed = self.daemon.ctr_text(&["images", "ls"])?;
        // REF TYPE DIGEST …
        let lines = listed.lines().map(|line| line.split_whitespace());
        let records = lines.filter_map(|mut words| Some((words.next()?, words.nth(1)?)));
        let records: Vec<(&str, &str)> = records.collect();
        let named = records.iter().find(|(other, _)| *other == name);
        let (_, target) = named.with_context(|| format!("{name}: no record"))?;
        let same = records.iter().filter(|(_, other)| other == target);
        Ok(same.map(|(name, _)| (*name).to_owned()).collect())
    }
}

/// Case G: from the rename into the directory to the name in the store.
pub(super) fn arrival(bench: &Bench, version: Version) -> anyhow::Result<Row> {
    let mut site = Site::start(bench, version)?;
    let mut times = Vec::new();
    for number in 0..ARRIVALS {
        let bundle = site.write(number)?;
        let (since, started) = (SystemTime::now(), Instant::now());
        site.arrive(&bundle)?;
        site.appears(&name(number), since)?;
        times.push(started.elapsed());
    }
    let title = format!("10 KB bundle renamed into the directory, until named ({ARRIVALS})");
    let goal = "p50 < 300 ms, p99 < 1 s";
    Ok(row("G", title, version, &times, goal))
}

/// Case H: from the start of `ctr images rm` to the name in the store again.
pub(super) fn healing(bench: &Bench, version: Version) -> anyhow::Result<Row> {
    let mut site = Site::start(bench, version)?;
    for number in 0..LOSING {
        site.arrive(&site.write(number)?)?;
        site.appears(&name(number), SystemTime::UNIX_EPOCH)?;
    }
    let mut times = Vec::new();
    for number in (0..LOSSES).flat_map(|_| 0..LOSING) {
        times.push(site.lose(&name(number))?);
    }
    let title = format!(
        "image and its blobs removed with ctr, until back ({})",
        LOSING * LOSSES
    );
    Ok(row("H", title, version, &times, "p50 < 500 ms"))
}

/// Case M: the same with the last image of a compressed bundle, which is read to its end for it.
pub(super) fn repair(bench: &Bench, version: Version) -> anyhow::Result<Row> {
    const IMAGE: &str = "bench.test/image-9:1";
    let mut site = Site::start(bench, version)?;
    let bundle = bench.bundles.get(Name::Gzip)?.path;
    fs::hard_link(&bundle, site.folders.path().join("in/a.tar.gz"))?;
    site.agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    let before = Io::of(site.agent.pid())?.read;
    let mut times = Vec::new();
    for _ in 0..LOSSES {
        times.push(site.lose(IMAGE)?);
    }
    let read = Io::of(site.agent.pid())?.read - before;
    let tenths = read * 10 / fs::metadata(bundle)?.len() / u64::try_from(LOSSES)?;
    let title =
        format!("the last image of A inside .tar.gz removed with ctr, until back ({LOSSES})");
    Ok(Row {
        read: format!("{}.{} × the bundle, each time", tenths / 10, tenths % 10),
        ..row("M", title, version, &times, "the bundle is read once")
    })
}

fn name(number: usize) -> String {
    format!("bench.test/small-{number}:1")
}

fn row(case: &str, title: String, version: Version, times: &[Duration], goal: &str) -> Row {
    let times: Vec<f64> = times
        .iter()
        .map(|time| time.as_secs_f64() * 1000.0)
        .collect();
    let at = |percent| percentile(&times, percent);
    Row {
        case: case.to_owned(),
        title,
        daemon: version.to_string(),
        ours: format!("p50 {:.0} ms ({:.0}–{:.0})", at(50), at(0), at(100)),
        theirs: "–".to_owned(),
        ratio: format!("p99 {:.0} ms", at(99)),
        goal: goal.to_owned(),
        read: "–".to_owned(),
        sent: "–".to_owned(),
        memory: "–".to_owned(),
        ..Row::default()
    }
}
