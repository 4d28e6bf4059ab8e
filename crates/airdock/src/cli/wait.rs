//! `airdock wait`: until what is on disk now is in the store, read back.

use std::path::PathBuf;
use std::time::Duration;

use airdock_bundle::name::Name;
use clap::Args;
use serde::Serialize;
use tokio::time::{Instant, sleep};

use super::ask::AskOptions;
use super::options::{GlobalOptions, seconds};
use super::status::find;
use crate::admin::client::ClientError;
use crate::admin::document::{BundleState, BundleStatus, ImageStatus, Status};
use crate::exit::Exit;
use crate::output::{self, Format};

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
    let mut agent = Agent::unseen(deadline.is_some());
    loop {
        let answer = options.ask.status(global).await;
        let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if let Some(status) = agent.take(answer, late)?
            && let Some(outcome) = options.look(&status).outcome(late)
        {
            outcome.print(global.output);
            return Ok(outcome.exit);
        }
        sleep(PERIOD).await;
    }
}

/// The agent that is asked again and again. It may start after us, or be restarted meanwhile.
struct Agent {
    /// Whether it is waited for while it doesn't answer: it did, or there is an end to the waiting.
    is_expected: bool,
    /// Whether its silence was told.
    is_told: bool,
}

impl Agent {
    fn unseen(is_expected: bool) -> Self {
        Self {
            is_expected,
            is_told: false,
        }
    }

    /// Its answer, or none if it may come later.
    fn take(
        &mut self,
        answer: anyhow::Result<Status>,
        late: bool,
    ) -> anyhow::Result<Option<Status>> {
        let error = match answer {
            Ok(status) => {
                *self = Self::unseen(true);
                return Ok(Some(status));
            }
            Err(error) => error,
        };
        let is_silent = matches!(error.downcast_ref(), Some(ClientError::NoAgent { .. }));
        if late || !is_silent || !self.is_expected {
            return Err(error);
        }
        if !self.is_told {
            output::note(&format!("airdock: {error}; waiting for it"));
            self.is_told = true;
        }
        Ok(None)
    }
}

/// What a look at the status says of that which is waited for.
enum Seen {
    /// It is over.
    Over(Outcome),
    /// It may come yet; this is what to say if there is no more time.
    NotYet(Outcome),
}

/// How the waiting ended.
#[derive(Debug, Serialize)]
struct Outcome {
    /// `imported`, a verdict, `failing`, `waiting` or `absent`.
    state: String,
    /// Why, where it isn't imported.
    reason: Option<String>,
    #[serde(skip)]
    exit: Exit,
}

impl Seen {
    fn outcome(self, late: bool) -> Option<Outcome> {
        match self {
            Self::Over(outcome) => Some(outcome),
            Self::NotYet(outcome) if late => Some(outcome),
            Self::NotYet(_) => None,
        }
    }
}

impl Outcome {
    fn new(state: &str, reason: Option<String>, exit: Exit) -> Self {
        let state = state.to_owned();
        Self {
            state,
            reason,
            exit,
        }
    }

    fn print(&self, format: Format) {
        match (format, &self.reason) {
            (Format::Json, _) => output::json(self),
            (Format::Table, None) => output::line(&self.state),
            (Format::Table, Some(reason)) => output::line(&format!("{}: {reason}", self.state)),
        }
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

/// What is not on disk now is not waited for: whoever copies, copies first.
fn absent(status: &Status, what: &str) -> Seen {
    let directories = crate::output::status::directories(status);
    let reason = Some(format!("{what} in {directories}"));
    Seen::Over(Outcome::new("absent", reason, Exit::NotHeld))
}

fn of_bundle(status: &Status, bundle: &BundleStatus) -> Seen {
    let reason = bundle.reason.clone();
    let verdict = bundle.verdict.map_or(Exit::Success, Exit::from);
    match bundle.state {
        BundleState::Imported => match unseen(status, bundle) {
            Some(outcome) => Seen::NotYet(outcome),
            None => Seen::Over(Outcome::new("imported", reason, verdict)),
        },
        BundleState::Refused => {
            let state = bundle.verdict.map_or("refused", |verdict| verdict.as_str());
            Seen::Over(Outcome::new(state, reason, verdict))
        }
        // Nobody writes it any more, and it isn't whole.
        BundleState::Incomplete => Seen::Over(Outcome::new("incomplete", reason, Exit::Incomplete)),
        BundleState::Failing => Seen::NotYet(Outcome::new("failing", reason, Exit::Failing)),
        BundleState::Releasing => Seen::Over(Outcome::new("absent", reason, Exit::NotHeld)),
        BundleState::Settling | BundleState::Waiting | BundleState::Importing => {
            let state = bundle.state.as_str();
            Seen::NotYet(Outcome::new(state, reason, Exit::Timeout))
        }
    }
}

/// What keeps a bundle that was imported from being imported now: it counts what the store shows,
/// not what the agent remembers.
fn unseen(status: &Status, bundle: &BundleStatus) -> Option<Outcome> {
    let is_lost = |image: &ImageStatus| {
        let is_first = image.bundles.first() == Some(&bundle.path);
        is_first && image.refused.is_none() && image.digest.is_none()
    };
    silent_store(status).or_else(|| {
        let lost = status.images.iter().find(|image| is_lost(image))?;
        let reason = format!("{} is no longer in the store", lost.name);
        Some(Outcome::new("waiting", Some(reason), Exit::Timeout))
    })
}

fn silent_store(status: &Status) -> Option<Outcome> {
    let reason = status.store.reason.clone();
    match status.store.state.as_str() {
        "reachable" => None,
        "unknown" => {
            let reason = Some("the store has not answered yet".to_owned());
            Some(Outcome::new("waiting", reason, Exit::Timeout))
        }
        _ => Some(Outcome::new("failing", reason, Exit::Failing)),
    }
}

fn of_image(status: &Status, name: &str) -> Seen {
    let Some(image) = status.images.iter().find(|image| image.name == name) else {
        // A bundle that hasn't been read yet may have it.
        return match of_all(status) {
            Seen::Over(_) => absent(status, &format!("no bundle has {name}")),
            not_yet @ Seen::NotYet(_) => not_yet,
        };
    };
    if image.is_imported() {
        return match silent_store(status) {
            Some(outcome) => Seen::NotYet(outcome),
            None => Seen::Over(Outcome::new("imported", None, Exit::Success)),
        };
    }
    match &image.refused {
        Some(reason) => {
            let reason = Some(reason.clone());
            Seen::Over(Outcome::new("refused", reason, Exit::Refused))
        }
        None => Seen::NotYet(Outcome::new("waiting", None, Exit::Timeout)),
    }
}

/// Over when all are; of several endings the worst is told.
fn of_all(status: &Status) -> Seen {
    if let Some(outcome) = silent_store(status) {
        return Seen::NotYet(outcome);
    }
    let present = status
        .bundles
        .iter()
        .filter(|bundle| bundle.state != BundleState::Releasing);
    let mut worst = Outcome::new("imported", None, Exit::Success);
    let mut over = true;
    for bundle in present {
        let (outcome, is_over) = match of_bundle(status, bundle) {
            Seen::Over(outcome) => (outcome, true),
            Seen::NotYet(outcome) => (outcome, false),
        };
        over &= is_over;
        if outcome.exit > worst.exit {
            let path = output::shown(&bundle.path);
            let reason = match &outcome.reason {
                Some(reason) => format!("{path}: {reason}"),
                None => path,
            };
            worst = Outcome {
                reason: Some(reason),
                ..outcome
            };
        }
    }
    if over {
        Seen::Over(worst)
    } else {
        Seen::NotYet(worst)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

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
        assert!(Agent::unseen(false).take(silent(), false).is_err());
    }

    #[test]
    fn an_agent_that_is_restarted_is_waited_for() {
        let mut agent = Agent::unseen(false);
        assert!(agent.take(answer(), false).unwrap().is_some());
        assert!(agent.take(silent(), false).unwrap().is_none());
        assert!(agent.take(answer(), false).unwrap().is_some());
    }

    #[test]
    fn where_there_is_an_end_to_the_waiting_it_may_start_later() {
        let mut agent = Agent::unseen(true);
        assert!(agent.take(silent(), false).unwrap().is_none());
        assert!(agent.take(silent(), true).is_err(), "there is no more time");
    }

    #[test]
    fn what_is_not_silence_is_told_at_once() {
        let error = anyhow::anyhow!("no such configuration file");
        assert!(Agent::unseen(true).take(Err(error), false).is_err());
    }
}
