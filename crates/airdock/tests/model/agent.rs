//! The agent under test: started, stopped, killed, started again on what it left.

use std::io;
use std::path::{Path, PathBuf};

use airdock_testkit::process::{Running, Signal};
use airdock_testkit::wait::DEADLINE;

const AIRDOCK: &str = env!("CARGO_BIN_EXE_airdock");

#[derive(Debug)]
pub(crate) struct Agent {
    args: Vec<String>,
    running: Option<Running>,
    /// What earlier ones of this sequence had to say.
    said: String,
}

/// How an agent ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Stopped,
    Killed,
}

impl Agent {
    /// Nothing is started yet. Only hints wake it: what needs the resync timer is a defect, unless
    /// the store can't give hints.
    pub(crate) fn new(store: &str, bundles: &Path, state: &Path, more: &[&str]) -> Self {
        let text = |path: &Path| path.display().to_string();
        let mut args = vec!["watch".to_owned(), text(bundles)];
        args.extend(["--store", store, "--state-dir", &text(state)].map(str::to_owned));
        args.extend(["--platform", "linux/amd64", "--debounce", "0.2"].map(str::to_owned));
        args.extend(["--log-level", "debug"].map(str::to_owned));
        args.extend(more.iter().map(|&arg| arg.to_owned()));
        Self {
            args,
            running: None,
            said: String::new(),
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub(crate) fn start(&mut self) -> io::Result<()> {
        if self.running.is_none() {
            self.running = Some(Running::start(PathBuf::from(AIRDOCK), &self.args)?);
        }
        Ok(())
    }

    pub(crate) fn end(&mut self, how: End) -> io::Result<()> {
        let Some(mut running) = self.running.take() else {
            return Ok(());
        };
        match how {
            End::Killed => drop(running.kill()?),
            End::Stopped => {
                running.signal(Signal::TERM)?;
                let status = running.wait(DEADLINE)?;
                // One that has just begun may not listen to signals yet.
                if status.code().is_some_and(|code| code != 0) {
                    return Err(io::Error::other(format!("the agent ended with {status}")));
                }
            }
        }
        self.said.push_str(&running.stderr());
        self.said.push_str("-- the agent ended\n");
        Ok(())
    }

    /// All that the agents of this sequence wrote to their logs.
    pub(crate) fn said(&self) -> String {
        let now = self.running.as_ref().map(Running::stderr);
        format!("{}{}", self.said, now.unwrap_or_default())
    }
}
