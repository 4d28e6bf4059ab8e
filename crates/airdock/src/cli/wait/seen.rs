//! What a look at the agent's status says of that which is waited for.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;

use crate::admin::document::{BundleState, BundleStatus, ImageStatus, SourceStatus, Status};
use crate::exit::Exit;
use crate::output::human::Bytes;
use crate::output::waiting::Waiting;
use crate::output::{self, Format};

/// Whether it is over.
pub(super) enum Seen {
    /// It is over.
    Over(Outcome),
    /// It may come yet; this is what to say if there is no more time.
    NotYet(Outcome),
}

/// How the waiting ended.
#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    /// `imported`, a verdict, `unreadable`, `failing`, `waiting` or `absent`.
    state: String,
    /// Why, where it isn't imported.
    reason: Option<String>,
    /// How far it is, while it is importing.
    #[serde(skip)]
    progress: Option<String>,
    #[serde(skip)]
    pub(super) exit: Exit,
}

impl Outcome {
    fn new(state: &str, reason: Option<String>, exit: Exit) -> Self {
        let state = state.to_owned();
        Self {
            state,
            reason,
            progress: None,
            exit,
        }
    }

    /// What is shown while it is waited for.
    pub(super) fn show(&self, waiting: &mut Waiting) {
        let parts = [&self.reason, &self.progress].into_iter().flatten();
        let shown = parts.fold(self.state.clone(), |shown, part| format!("{shown}: {part}"));
        if self.exit == Exit::Failing {
            waiting.trouble(&shown);
        } else {
            waiting.state(&shown);
        }
    }

    pub(super) fn print(&self, format: Format) {
        match (format, &self.reason) {
            (Format::Json, _) => output::json(self),
            (Format::Table, None) => output::line(&self.state),
            (Format::Table, Some(reason)) => output::line(&format!("{}: {reason}", self.state)),
        }
    }
}

/// What is not on disk now is not waited for: whoever copies, copies first.
pub(super) fn absent(status: &Status, what: &str) -> Seen {
    let directories = output::status::directories(status);
    let reason = Some(format!("{what} in {directories}"));
    Seen::Over(Outcome::new("absent", reason, Exit::NotHeld))
}

pub(super) fn of_bundle(status: &Status, bundle: &BundleStatus) -> Seen {
    of_one(status, &lost(status), bundle)
}

/// By the bundle that has the name, one that the store has lost.
type Lost<'a> = HashMap<&'a Path, &'a str>;

fn lost(status: &Status) -> Lost<'_> {
    let is_lost = |image: &&ImageStatus| image.refused.is_none() && image.digest.is_none();
    let images = status.images.iter().filter(is_lost);
    let lost = images.filter_map(|it| Some((it.bundles.first()?.as_path(), it.name.as_str())));
    // Of several the first counts, which is put in last.
    lost.rev().collect()
}

fn of_one(status: &Status, lost: &Lost<'_>, bundle: &BundleStatus) -> Seen {
    let reason = bundle.reason.clone();
    let verdict = bundle.verdict.map_or(Exit::Success, Exit::from);
    match bundle.state {
        BundleState::Imported => match unseen(status, lost, bundle) {
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
            Seen::NotYet(Outcome {
                progress: progress(bundle),
                ..Outcome::new(state, reason, Exit::Timeout)
            })
        }
    }
}

fn progress(bundle: &BundleStatus) -> Option<String> {
    let (done, total) = bundle.bytes_done.zip(bundle.bytes_total)?;
    Some(format!("{} of {}", Bytes(done), Bytes(total)))
}

/// What keeps a bundle that was imported from being imported now: it counts what the store shows,
/// not what the agent remembers.
fn unseen(status: &Status, lost: &Lost<'_>, bundle: &BundleStatus) -> Option<Outcome> {
    silent_store(status).or_else(|| {
        let name = lost.get(bundle.path.as_path())?;
        let reason = format!("{name} is no longer in the store");
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

pub(super) fn of_image(status: &Status, name: &str) -> Seen {
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
        None => {
            let other = image.digest.as_ref();
            let reason = other.map(|it| format!("{name} is in the store with another image, {it}"));
            Seen::NotYet(Outcome::new("waiting", reason, Exit::Timeout))
        }
    }
}

/// Over when all are; of several endings the worst is told.
pub(super) fn of_all(status: &Status) -> Seen {
    if let Some(outcome) = silent_store(status) {
        return Seen::NotYet(outcome);
    }
    let is_there = |bundle: &&BundleStatus| bundle.state != BundleState::Releasing;
    let bundles = status.bundles.iter().filter(is_there);
    let lost = lost(status);
    let bundles = bundles.map(|bundle| of_one(status, &lost, bundle).within(&bundle.path));
    let sources = status.sources.iter();
    let sources = sources.filter_map(|source| Some(of_source(source)?.within(&source.directory)));
    let imported = Seen::Over(Outcome::new("imported", None, Exit::Success));
    bundles.chain(sources).fold(imported, Seen::and)
}

/// What of a directory is not looked at can't be vouched for.
fn of_source(source: &SourceStatus) -> Option<Seen> {
    let reason = source.reason.clone();
    let unlooked = source.not_utf8.first();
    match (source.state.as_str(), unlooked) {
        ("unsafe", _) => Some(Seen::Over(Outcome::new("refused", reason, Exit::Refused))),
        // A disk may come back.
        ("missing", _) => Some(Seen::NotYet(Outcome::new("failing", reason, Exit::Failing))),
        (_, Some(path)) => {
            let reason = Some(output::status::unlooked(path));
            let outcome = Outcome::new("unreadable", reason, Exit::Unreadable);
            Some(Seen::Over(outcome))
        }
        (_, None) => None,
    }
}

impl Seen {
    fn split(self) -> (Outcome, bool) {
        match self {
            Self::Over(outcome) => (outcome, true),
            Self::NotYet(outcome) => (outcome, false),
        }
    }

    fn of(outcome: Outcome, over: bool) -> Self {
        if over {
            Self::Over(outcome)
        } else {
            Self::NotYet(outcome)
        }
    }

    /// Both: over when both are, with the worse outcome.
    fn and(self, other: Self) -> Self {
        let ((one, one_over), (other, other_over)) = (self.split(), other.split());
        let worse = if other.exit > one.exit { other } else { one };
        Self::of(worse, one_over && other_over)
    }

    /// Says of what it speaks, where there is anything to say.
    fn within(self, path: &Path) -> Self {
        let (outcome, over) = self.split();
        let path = output::shown(path);
        let reason = match &outcome.reason {
            Some(reason) => format!("{path}: {reason}"),
            None => path,
        };
        let outcome = Outcome {
            reason: Some(reason),
            ..outcome
        };
        Self::of(outcome, over)
    }
}
