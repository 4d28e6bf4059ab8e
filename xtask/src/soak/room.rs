//! A daemon, an agent, and the directory that it watches.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use airdock_testkit::fixture::{Tree, gzip};
use airdock_testkit::process::{Running, Signal};
use airdock_testkit::{Daemon, Version, wait};
use anyhow::{Context as _, bail};
use tempfile::TempDir;

use super::churn::Form;
use super::sample::Sample;

/// Until all has come to rest at the end: backoffs of what failed may be long.
const REST: Duration = Duration::from_secs(120);

/// Gone as soon as their bundle is, so that the store stays as large as the directory.
const POLICY: [&str; 4] = ["--on-remove", "delete", "--release-grace", "1"];

/// All that a soak plays with.
#[derive(Debug)]
pub(super) struct Room {
    daemon: Daemon,
    agent: Running,
    folder: TempDir,
}

impl Room {
    pub(super) fn prepare(airdock: &Path, version: Version) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("airdock-soak-").tempdir()?;
        for below in ["bundles", "beside"] {
            fs::create_dir(folder.path().join(below))?;
        }
        let daemon = Daemon::start(version)?;
        let socket = daemon.socket();
        let (bundles, state) = (folder.path().join("bundles"), folder.path().join("state"));
        let store = format!("containerd:{}", socket.display());
        let mut args = vec!["watch".to_owned(), bundles.display().to_string()];
        args.extend(["--store", &store, "--state-dir"].map(str::to_owned));
        args.push(state.display().to_string());
        args.extend(["--debounce", "0.2", "--platform", "linux/amd64"].map(str::to_owned));
        args.extend(POLICY.map(str::to_owned));
        let mut agent = Running::start(airdock, &args)?;
        agent.wait_for_line(&["the store answers"], wait::DEADLINE)?;
        Ok(Self {
            daemon,
            agent,
            folder,
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.agent.pid()
    }

    /// Files of the agent's ledger.
    pub(super) fn ledger(&self) -> PathBuf {
        self.folder.path().join("state/ledger")
    }

    fn bundle(&self, path: u64) -> PathBuf {
        self.folder.path().join(format!("bundles/{path}"))
    }

    /// Puts a bundle at a path, whatever stands there; archives with so many percent of their bytes.
    pub(super) fn put(
        &self,
        path: u64,
        form: Form,
        tree: &Tree,
        percent: Option<u64>,
    ) -> anyhow::Result<()> {
        let beside = self.folder.path().join("beside/new");
        if form == Form::Layout {
            tree.write_dir(&beside)?;
            self.remove(path)?;
            return Ok(fs::rename(beside, self.bundle(path))?);
        }
        let bytes = match form {
            Form::Packed => gzip(&tree.tar()),
            _ => tree.tar(),
        };
        let len = bytes.len() as u64 * percent.unwrap_or(100) / 100;
        let bytes = bytes.get(..usize::try_from(len)?).unwrap_or(&bytes);
        fs::File::create(&beside)?.write_all(bytes)?;
        Ok(fs::rename(beside, self.bundle(path))?)
    }

    /// Takes a bundle away at once; whether there was one.
    pub(super) fn remove(&self, path: u64) -> anyhow::Result<bool> {
        let gone = self.folder.path().join("beside/gone");
        match fs::rename(self.bundle(path), &gone) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
            renamed => renamed?,
        }
        match gone.is_dir() {
            true => fs::remove_dir_all(gone)?,
            false => fs::remove_file(gone)?,
        }
        Ok(true)
    }

    /// Somebody else removes a name; whether there was one.
    pub(super) fn delete(&self, name: &str) -> anyhow::Result<bool> {
        let done = self.daemon.ctr(&["images", "rm", name])?;
        Ok(done.status.success() && done.stdout.starts_with(name.as_bytes()))
    }

    /// What `ctr` lists, without a heading.
    pub(super) fn listed(&self, args: &[&str]) -> anyhow::Result<Vec<String>> {
        let listed = self.daemon.ctr_text(args)?;
        Ok(listed.lines().map(str::to_owned).collect())
    }

    /// Empties the directory, and waits until nothing of it is left; what the agent takes then.
    pub(super) fn comes_to_rest(&mut self) -> anyhow::Result<Sample> {
        let bundles = self.folder.path().join("bundles");
        for entry in fs::read_dir(&bundles)? {
            let name = entry?.file_name();
            self.remove(name.to_string_lossy().parse()?)?;
        }
        let mut last = String::new();
        let rest = wait::until("rest", REST, || {
            self.collect().ok()?;
            let sample = Sample::of(self).ok()?;
            last = format!("{sample:?}");
            (sample.left() == 0).then_some(sample)
        });
        let rest = rest.with_context(|| last)?;
        self.agent.signal(Signal::TERM)?;
        let status = self.agent.wait(wait::DEADLINE)?;
        if !status.success() {
            bail!("the agent ended with {status}: {}", self.agent.stderr());
        }
        Ok(rest)
    }

    /// Has the daemon collect its garbage now, not when it gets round to it.
    fn collect(&self) -> io::Result<()> {
        let lease = ["leases", "create", "--id", "collect"];
        self.daemon.ctr_text(&lease)?;
        self.daemon
            .ctr_text(&["leases", "rm", "--sync", "collect"])?;
        Ok(())
    }

    /// How often the agent said what it did.
    pub(super) fn told(&self) -> String {
        let said = self.agent.stderr();
        let count = |words: &str| said.matches(words).count();
        format!(
            "the agent loaded {} bundles, refused {} and released {} images",
            count("msg=\"bundle loaded\""),
            count("msg=\"refused bundle\""),
            count("msg=\"released image"),
        )
    }
}
