//! A test binary with `harness = false`: named tests, each with what it needs.
//!
//! A test whose needs aren't met is reported as ignored, with the reason; it never counts as
//! passed. Each test has a folder of its own, gone afterwards.

use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::containerd::{Installed, Version};
use crate::daemon::{Daemon, Options};
use crate::needs::{self, Need};

/// What a test returns; every error that can be shown becomes a failure with `?`.
pub type Outcome = Result<(), Failed>;

/// A list of tests.
#[derive(Default)]
pub struct Suite {
    trials: Vec<Trial>,
}

impl std::fmt::Debug for Suite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.trials.iter().map(Trial::name))
            .finish()
    }
}

impl Suite {
    /// No tests.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tests that these parts add, in their order.
    pub fn of(parts: &[fn(Self) -> Self]) -> Self {
        parts.iter().fold(Self::new(), |suite, add| add(suite))
    }

    /// Adds a test that gets an empty folder.
    #[must_use]
    pub fn test(
        mut self,
        name: &str,
        needs: &'static [Need],
        run: impl FnOnce(&Path) -> Outcome + Send + 'static,
    ) -> Self {
        let trial = Trial::ignorable_test(name, move || {
            if let Some(missing) = needs::missing(needs) {
                return Ok(Completion::ignored_with(missing));
            }
            let dir = folder()?;
            run(dir.path()).map(|()| Completion::Completed)
        });
        self.trials.push(trial);
        self
    }

    /// Adds a test for each version: a daemon of its own (without CRI), and an empty folder.
    #[must_use]
    pub fn on_each_containerd(
        self,
        name: &str,
        needs: &'static [Need],
        run: impl FnOnce(&mut Daemon, &Path) -> Outcome + Copy + Send + 'static,
    ) -> Self {
        Version::ALL.into_iter().fold(self, |suite, version| {
            suite.on_containerd(version, Options::default(), name, needs, run)
        })
    }

    /// Adds a test for one version, with a daemon that is started as `options` say.
    #[must_use]
    pub fn on_containerd(
        mut self,
        version: Version,
        options: Options,
        name: &str,
        needs: &'static [Need],
        run: impl FnOnce(&mut Daemon, &Path) -> Outcome + Send + 'static,
    ) -> Self {
        let name = format!("{}::{name}", module(version));
        self.trials.push(Trial::ignorable_test(name, move || {
            let missing = needs::missing(&options.needs(version)).or(needs::missing(needs));
            if let Some(missing) = missing {
                return Ok(Completion::ignored_with(missing));
            }
            let dir = folder()?;
            let mut daemon = Daemon::start_with(version, options)?;
            let outcome = caught(|| run(&mut daemon, dir.path()));
            outcome.map_err(|failed| with_log(failed, &daemon))?;
            Ok(Completion::Completed)
        }));
        self
    }

    /// Runs what the command line selects, and prints as `cargo test` does. What tests write is
    /// writable by nobody else, whatever the umask of who runs them.
    pub fn run(self) -> ExitCode {
        rustix::process::umask(rustix::fs::Mode::WGRP | rustix::fs::Mode::WOTH);
        libtest_mimic::run(&Arguments::from_args(), self.trials).exit_code()
    }
}

/// `containerd_1_6`: the release that is here, or the version that isn't.
fn module(version: Version) -> String {
    let absent = || format!("containerd_{}", version.as_str().replace('.', "_"));
    Installed::find(version).map_or_else(absent, |found| found.module())
}

fn folder() -> std::io::Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("airdock-test-").tempdir()
}

/// A failed assertion as a failure, so that the daemon's log can be told with it.
fn caught(run: impl FnOnce() -> Outcome) -> Outcome {
    // What a test has half done is its daemon and its folder, which are thrown away.
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or(payload.downcast_ref::<&str>().copied());
        Err(text.unwrap_or("panicked").into())
    })
}

/// A failure with the last lines of the daemon's log below it.
fn with_log(failed: Failed, daemon: &Daemon) -> Failed {
    const LINES: usize = 20;
    let message = failed.message().unwrap_or("failed").to_owned();
    let log = daemon.log();
    let lines: Vec<&str> = log.lines().collect();
    let tail = lines.iter().skip(lines.len().saturating_sub(LINES));
    let tail: Vec<&str> = tail.copied().collect();
    format!("{message}\n\ncontainerd's log ends:\n{}", tail.join("\n")).into()
}
