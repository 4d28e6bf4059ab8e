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
use crate::admin::document::{BundleState, BundleStatus, Status};
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
    /// Give up after so many seconds [default: never]
    #[arg(long, value_parser = seconds, value_name = "SECONDS")]
    timeout: Option<Duration>,
    #[command(flatten)]
    ask: AskOptions,
}

pub(super) async fn run(global: &GlobalOptions, options: WaitOptions) -> anyhow::Result<Exit> {
    let deadline = options.timeout.map(|timeout| Instant::now() + timeout);
    loop {
        let status = options.ask.status(global).await?;
        let seen = options.look(&status);
        let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if let Some(outcome) = seen.outcome(late) {
            outcome.print(global.output);
            return Ok(outcome.exit);
        }
        sleep(PERIOD).await;
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
                Some(bundle) => of_bundle(bundle),
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

fn of_bundle(bundle: &BundleStatus) -> Seen {
    let reason = bundle.reason.clone();
    let verdict = bundle.verdict.map_or(Exit::Success, Exit::from);
    match bundle.state {
        BundleState::Imported => Seen::Over(Outcome::new("imported", reason, verdict)),
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

fn of_image(status: &Status, name: &str) -> Seen {
    let Some(image) = status.images.iter().find(|image| image.name == name) else {
        // A bundle that hasn't been read yet may have it.
        return match of_all(status) {
            Seen::Over(_) => absent(status, &format!("no bundle has {name}")),
            not_yet @ Seen::NotYet(_) => not_yet,
        };
    };
    if image.is_imported() {
        return Seen::Over(Outcome::new("imported", None, Exit::Success));
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
    if status.store.state != "reachable" {
        let reason = status.store.reason.clone();
        return Seen::NotYet(Outcome::new("failing", reason, Exit::Failing));
    }
    let present = status
        .bundles
        .iter()
        .filter(|bundle| bundle.state != BundleState::Releasing);
    let mut worst = Outcome::new("imported", None, Exit::Success);
    let mut over = true;
    for bundle in present {
        let (outcome, is_over) = match of_bundle(bundle) {
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
