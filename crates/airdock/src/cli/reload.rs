//! SIGHUP: the file is read anew. What is typed, and the environment, stay what they were.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::agent_options::AgentOptions;
use super::options::GlobalOptions;
use crate::agent::event::Event;
use crate::config::{ConfigError, Settings, WatchSettings};
use crate::output::{self, Reporter};

/// Who reads the file anew, and what held before.
pub(super) struct Reloader {
    pub(super) global: GlobalOptions,
    pub(super) agent: AgentOptions,
    pub(super) settings: Settings,
    pub(super) reporter: Reporter,
}

impl Reloader {
    /// New settings, each time that the signal comes and the file can be used.
    pub(super) fn listen(self) -> mpsc::Receiver<WatchSettings> {
        let (sender, receiver) = mpsc::channel(1);
        match signal(SignalKind::hangup()) {
            Ok(hangups) => drop(tokio::spawn(self.follow(hangups, sender))),
            Err(error) => self.reporter.report(&Event::NotReloaded {
                reason: format!("SIGHUP: {error}"),
            }),
        }
        receiver
    }

    async fn follow(self, mut hangups: Signal, sender: mpsc::Sender<WatchSettings>) {
        while hangups.recv().await.is_some() {
            match self.settings_anew() {
                Ok(settings) => {
                    let keys = self.settings.fixed(&settings);
                    if !keys.is_empty() {
                        self.reporter.report(&Event::RestartNeeded { keys });
                    }
                    if sender.send(settings.watch).await.is_err() {
                        return;
                    }
                }
                Err(error) => self.reporter.report(&Event::NotReloaded {
                    reason: error.to_string(),
                }),
            }
        }
    }

    fn settings_anew(&self) -> Result<Settings, ConfigError> {
        let global = self.global.read_anew()?;
        output::misspelt(global.written());
        global.settings(|typed| self.agent.add_to(typed))
    }
}
