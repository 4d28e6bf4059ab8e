//! `airdock wait`: until what is on disk now is in the store, read back.

mod seen;

use std::path::PathBuf;
use std::time::Duration;

use airdock_bundle::name::Name;
use clap::Args;
use tokio::time::{Instant, sleep};

use super::ask::AskOptions;
use super::options::{GlobalOptions, seconds};
use super::status::find;
use crate::admin::client::ClientError;
use crate::admin::document::Status;
use crate::exit::Exit;
use crate::output::waiting::Waiting;
use seen::{Seen, absent, of_all, of_bundle, of_image};

/// How often the agent is asked: it answers from memory.
const PERIOD: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(super) struct WaitOptions {
    /// A bundle, by its path or its file name
    #[arg(value_name = "BUNDLE", group = "what")]
    bundle: Option<PathBuf>,
    /// An image, by its name
    #[arg(long, value_name = "NAME", group = "what")]
    image: Option<Name>,
    /// Every bundle in every directory
    #[arg(long, group = "what")]
    all: bool,
    /// Give up after so many seconds; an agent that isn't there yet is waited for as long
    /// [default: never]
    #[arg(long, value_parser = seconds, value_name = "SECONDS")]
    timeout: Option<Duration>,
    #[command(flatten)]
    ask: AskOptions,
}

pub(super) async fn run(global: &GlobalOptions, options: WaitOptions) -> anyhow::Result<Exit> {
    let deadline = options.timeout.map(|timeout| Instant::now() + timeout);
    let mut agent = Agent {
        is_expected: deadline.is_some(),
    };
    let mut waiting = Waiting::new();
    loop {
        let answer = options.ask.status(global).await;
        let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let seen = match agent.hear(answer, late)? {
            Heard::Answer(status) => options.look(&status),
            Heard::Silence(error) => {
                waiting.trouble(&format!("airdock: {error}; waiting for it"));
                sleep(PERIOD).await;
                continue;
            }
        };
        match seen {
            Seen::NotYet(outcome) if !late => outcome.show(&mut waiting),
            Seen::Over(outcome) | Seen::NotYet(outcome) => {
                waiting.end();
                outcome.print(global.output);
                return Ok(outcome.exit);
            }
        }
        sleep(PERIOD).await;
    }
}

/// The agent that is asked again and again. It may start after us, or be restarted meanwhile.
struct Agent {
    /// Whether it is waited for while it doesn't answer: it did, or there is an end to the waiting.
    is_expected: bool,
}

/// What came of a question.
enum Heard {
    Answer(Box<Status>),
    /// None answers, but one may yet.
    Silence(anyhow::Error),
}

impl Agent {
    fn hear(&mut self, answer: anyhow::Result<Status>, late: bool) -> anyhow::Result<Heard> {
        let error = match answer {
            Ok(status) => {
                self.is_expected = true;
                return Ok(Heard::Answer(Box::new(status)));
            }
            Err(error) => error,
        };
        let is_silent = matches!(error.downcast_ref(), Some(ClientError::NoAgent { .. }));
        if is_silent && self.is_expected && !late {
            return Ok(Heard::Silence(error));
        }
        Err(error)
    }
}

impl WaitOptions {
    fn look(&self, status: &Status) -> Seen {
        match (&self.bundle, &self.image) {
            (Some(bundle), _) => match find(status, bundle) {
                Some(bundle) => of_bundle(status, bundle),
                None => absent(status, &format!("no bundle {}", bundle.display())),
            },
            (None, Some(image)) => of_image(status, &image.to_string()),
            (None, None) => of_all(status),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    const UNSEEN: Agent = Agent { is_expected: false };
    const EXPECTED: Agent = Agent { is_expected: true };

    fn silent() -> anyhow::Result<Status> {
        let socket = "/run/airdock/airdock.sock".into();
        let source = io::ErrorKind::NotFound.into();
        Err(ClientError::NoAgent { socket, source }.into())
    }

    fn answer() -> anyhow::Result<Status> {
        Ok(serde_json::from_value(serde_json::json!({
            "version": 1,
            "agent": {
                "version": "", "pid": 1, "started": "2026-01-01T00:00:00Z", "state_dir": "/",
                "ready": true, "resyncs": 0
            },
            "store": { "name": "", "state": "reachable", "reason": null },
            "sources": [], "bundles": [], "images": [],
        }))?)
    }

    #[test]
    fn an_agent_that_was_never_there_is_an_error_at_once() {
        let mut agent = UNSEEN;
        assert!(agent.hear(silent(), false).is_err());
    }

    #[test]
    fn an_agent_that_is_restarted_is_waited_for() {
        let mut agent = UNSEEN;
        assert!(matches!(agent.hear(answer(), false), Ok(Heard::Answer(_))));
        assert!(matches!(agent.hear(silent(), false), Ok(Heard::Silence(_))));
        assert!(matches!(agent.hear(answer(), false), Ok(Heard::Answer(_))));
    }

    #[test]
    fn where_there_is_an_end_to_the_waiting_it_may_start_later() {
        let mut agent = EXPECTED;
        assert!(matches!(agent.hear(silent(), false), Ok(Heard::Silence(_))));
        assert!(agent.hear(silent(), true).is_err(), "there is no more time");
    }

    #[test]
    fn what_is_not_silence_is_told_at_once() {
        let error = anyhow::anyhow!("no such configuration file");
        let mut agent = EXPECTED;
        assert!(agent.hear(Err(error), false).is_err());
    }
}
