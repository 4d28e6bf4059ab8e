//! Names in a daemon's store, as soon as they are there.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::SystemTime;

use airdock_testkit::{Daemon, daemon};
use anyhow::{Context as _, bail};

/// A program that asks the daemon, over a connection that stays open.
#[derive(Debug)]
pub(super) struct Appearing {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Appearing {
    pub(super) fn start(program: &Path, daemon: &Daemon) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.arg(daemon.socket()).arg(daemon::NAMESPACE);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .context("the program that waits for names")?;
        Ok(Self {
            questions: child.stdin.take().context("no standard input")?,
            answers: BufReader::new(child.stdout.take().context("no standard output")?),
            child,
        })
    }

    /// Waits for a record that was made after `since`.
    pub(super) fn wait(&mut self, name: &str, since: SystemTime) -> anyhow::Result<()> {
        let since = since.duration_since(SystemTime::UNIX_EPOCH)?.as_nanos();
        writeln!(self.questions, "{name} {since}")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        if answer.is_empty() {
            bail!("the daemon doesn't answer, or not in time");
        }
        Ok(())
    }
}

impl Drop for Appearing {
    /// It may be in the middle of a question that has no answer.
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
