//! One bundle as the agent sees it: what it holds, and where on its way it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use airdock_bundle::Verdict;
use airdock_bundle::name::Name;
use jiff::Timestamp;
use tokio::time::Instant;

use super::bring::Brought;
use super::failure::Failure;
use super::ledger::{Entry, Held};
use super::offer::Offer;
use super::retry::{self, Retry};
use super::scan::{Candidate, Fingerprint};
use super::space::Wanted;
use crate::exit::Exit;

/// How soon a file that somebody writes is looked at again where no event tells of its end.
const WRITER_POLL: Duration = Duration::from_secs(1);

/// A bundle.
#[derive(Debug)]
pub struct Tracked {
    /// How it looked at the last listing.
    pub candidate: Candidate,
    /// Since when it has looked like that.
    pub stable_since: Instant,
    /// What is remembered of it.
    pub entry: Entry,
    /// Where on its way it is.
    pub state: State,
    /// How often, lately, it had to put right what somebody undid.
    pub restored: Option<Restored>,
    /// When it was brought the last time, by this agent.
    pub brought_at: Option<Instant>,
    /// Whether it is a delta that was found to lack what it leaves to others.
    pub needs: bool,
}

/// How often a bundle's images were put right lately.
#[derive(Clone, Copy, Debug)]
pub struct Restored {
    times: u32,
    last: Instant,
}

/// So often in a row what somebody undid is put right at once; from then on ever more slowly,
/// so that two programs that disagree don't wear the disk out.
const RESTORED_AT_ONCE: u32 = 10;
/// After this long without it the count starts anew.
const RESTORED_WINDOW: Duration = Duration::from_secs(60);

/// Where on its way a bundle is.
#[derive(Debug)]
pub enum State {
    /// New or changed: perhaps somebody still writes it.
    Settling {
        /// When it is looked at again.
        look: Instant,
        /// Failures so far, if it has been tried before.
        tried: Option<Retry>,
    },
    /// Nobody writes it; it waits for its turn.
    Waiting {
        /// Failures so far, if it has been tried before.
        tried: Option<Retry>,
    },
    /// Being read and sent.
    Importing {
        /// Failures so far, if it has been tried before.
        tried: Option<Retry>,
    },
    /// What it gives is in the store.
    Imported,
    /// It can't be imported, or not all of it, until it changes.
    Judged {
        /// When it is looked at again all the same: a copy may go on after a pause.
        again: Option<Retry>,
    },
    /// Something else went wrong.
    Failing {
        /// When it is tried again.
        retry: Retry,
        /// What a command would exit with because of it.
        exit: Exit,
        /// Why.
        reason: String,
        /// Room that it waits for: it is tried again as soon as that is there.
        room: Option<Wanted>,
    },
    /// It is no longer there; its images are held for a while.
    Departed {
        /// Until when, at least.
        until: Instant,
        /// When it is looked at again.
        look: Instant,
    },
}

impl State {
    fn gone(until: Instant) -> Self {
        Self::Departed { until, look: until }
    }
}

/// A grace goes on while no agent runs, but not backwards when a clock is set back.
fn left_of(grace: Duration, gone: Timestamp) -> Duration {
    let since = Timestamp::now().duration_since(gone);
    grace.saturating_sub(Duration::try_from(since).unwrap_or_default())
}

impl Tracked {
    /// A bundle that has just been found.
    pub fn found(source: &Path, candidate: Candidate, now: Instant) -> Self {
        let path = candidate.path.clone();
        Self {
            entry: Entry::new(path, source.to_owned(), candidate.fingerprint),
            candidate,
            stable_since: now,
            state: State::Settling {
                look: now,
                tried: None,
            },
            restored: None,
            brought_at: None,
            needs: false,
        }
    }

    /// A bundle that is remembered: one that looks as it did isn't read, one that was gone has
    /// what is left of its grace.
    pub fn remembered(entry: Entry, grace: Duration, now: Instant) -> Self {
        let candidate = Candidate {
            path: entry.path.clone(),
            fingerprint: entry.fingerprint,
            is_directory: false,
        };
        let state = match (entry.gone, entry.verdict) {
            (Some(gone), _) => State::gone(now + left_of(grace, gone)),
            (None, Verdict::Ok | Verdict::Partial) => State::Imported,
            (None, Verdict::Incomplete) => State::Judged {
                again: Some(Retry::after(None, now)),
            },
            (None, _) => State::Judged { again: None },
        };
        Self {
            candidate,
            stable_since: now,
            entry,
            state,
            restored: None,
            brought_at: None,
            needs: false,
        }
    }

    /// Whether it stood there then, and what it gives isn't known yet.
    pub fn is_pending_since(&self, moment: Instant) -> bool {
        let is_pending = matches!(
            self.state,
            State::Settling { .. } | State::Waiting { .. } | State::Importing { .. }
        );
        is_pending && self.stable_since <= moment
    }

    /// Whether the bytes on disk are those that its verdict is about.
    pub fn is_as_judged(&self) -> bool {
        self.candidate.fingerprint == self.entry.fingerprint
    }

    /// Whether what somebody undid may be put right now; otherwise when.
    pub fn restore(&mut self, now: Instant) -> Result<(), Instant> {
        let lately = self.restored.filter(|r| now < r.last + RESTORED_WINDOW);
        let times = lately.map_or(0, |restored| restored.times);
        if let Some(lately) = lately
            && times >= RESTORED_AT_ONCE
        {
            let due = lately.last + retry::backoff(times - RESTORED_AT_ONCE + 1);
            if now < due {
                return Err(due);
            }
        }
        let times = times.saturating_add(1);
        self.restored = Some(Restored { times, last: now });
        Ok(())
    }

    /// The path of the bundle.
    pub fn path(&self) -> &PathBuf {
        &self.candidate.path
    }

    /// It looks different: it is on its way again. Work that is under way is on the old content
    /// and will be told so by what it finds.
    pub fn changed(&mut self, candidate: Candidate, now: Instant) {
        self.candidate = candidate;
        self.stable_since = now;
        if !matches!(self.state, State::Importing { .. }) {
            self.settle(now, None);
        }
    }

    /// It is to be looked at, and then brought.
    pub fn settle(&mut self, look: Instant, tried: Option<Retry>) {
        self.state = State::Settling { look, tried };
    }

    /// Somebody writes it.
    pub fn written(&mut self, now: Instant, tried: Option<Retry>) {
        self.stable_since = now;
        self.settle(now + WRITER_POLL, tried);
    }

    /// It is no longer there.
    pub fn departed(&mut self, now: Instant, grace: Duration) {
        self.entry.gone = Some(Timestamp::now());
        for held in &mut self.entry.held {
            held.live = false;
        }
        self.state = State::gone(now + grace);
    }

    /// It was brought. Images of an earlier version that the new one meant to give, and whose
    /// new version was refused, stay held.
    pub fn brought(&mut self, brought: &Brought, seen: Fingerprint, reason: Option<String>) {
        self.entry.arrived = brought.arrived;
        let mut held = vec![Held {
            offer: Arc::new(brought.offer.clone()),
            arrived: self.entry.arrived,
            live: true,
        }];
        if brought.verdict == Verdict::Partial {
            held.extend(self.superseded(&brought.offer));
        }
        self.entry.held = held;
        self.entry.refused.clone_from(&brought.refused);
        self.entry.left_out.clone_from(&brought.left_out);
        self.judged(brought.verdict, reason, seen);
        self.state = State::Imported;
    }

    /// It can't be imported: what its last good version gave stays held.
    pub fn refused(&mut self, verdict: Verdict, failure: &Failure, seen: Fingerprint) {
        for held in &mut self.entry.held {
            held.live = false;
        }
        self.entry.refused = failure.refused().to_vec();
        self.entry.left_out.clear();
        self.judged(verdict, Some(failure.to_string()), seen);
        self.state = State::Judged { again: None };
    }

    fn judged(&mut self, verdict: Verdict, reason: Option<String>, seen: Fingerprint) {
        self.entry.verdict = verdict;
        self.entry.reason = reason;
        self.entry.fingerprint = seen;
        self.entry.judged = Some(Timestamp::now());
        self.entry.gone = None;
    }

    /// What is held now and whose names a new offer doesn't give, though it may.
    fn superseded(&self, new: &Offer) -> Vec<Held> {
        let given: Vec<_> = new.images.iter().flat_map(|image| &image.names).collect();
        let mut old = self.entry.held.clone();
        for held in &mut old {
            held.live = false;
            let offer = Arc::make_mut(&mut held.offer);
            for image in &mut offer.images {
                let names = &self.entry.terms.names;
                let keeps = |name: &Name| !given.contains(&name) && names.passes(name);
                image.names.retain(keeps);
            }
            offer.images.retain(|image| !image.names.is_empty());
        }
        old.retain(|held| !held.offer.images.is_empty());
        old
    }

    /// What the file on disk gives, if it was brought.
    pub fn live_offer(&self) -> Option<&Offer> {
        let held = self.entry.held.iter().find(|held| held.live)?;
        Some(&held.offer)
    }

    /// Whether it is no longer there.
    pub fn is_gone(&self) -> bool {
        matches!(self.state, State::Departed { .. })
    }

    /// Whether what was found out about it is what counts until something changes.
    pub fn is_judged(&self) -> bool {
        matches!(self.state, State::Imported | State::Judged { .. })
    }

    /// Whether it has come to an end, until something changes.
    pub fn is_at_rest(&self) -> bool {
        matches!(
            self.state,
            State::Imported | State::Judged { .. } | State::Departed { .. }
        )
    }

    /// What a command that waited for it would exit with.
    pub fn exit(&self) -> Exit {
        match &self.state {
            State::Failing { exit, .. } => *exit,
            State::Departed { .. } => Exit::Success,
            _ => Exit::from(self.entry.verdict),
        }
    }

    /// When it is to be looked at without a hint.
    pub fn wake(&self) -> Option<Instant> {
        match &self.state {
            State::Settling { look, .. } => Some(*look),
            State::Judged { again } => again.map(|retry| retry.at),
            State::Failing { retry, room, .. } => {
                let look = room.as_ref().map(|room| room.look);
                Some(look.map_or(retry.at, |look| look.min(retry.at)))
            }
            State::Departed { look, .. } => Some(*look),
            State::Waiting { .. } | State::Importing { .. } | State::Imported => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remembered(change: impl FnOnce(&mut Entry)) -> Tracked {
        let file = tempfile::NamedTempFile::new().unwrap();
        let fingerprint = Fingerprint::of(&file.as_file().metadata().unwrap());
        let mut entry = Entry::new("/bundles/a.tar".into(), "/bundles".into(), fingerprint);
        entry.verdict = Verdict::Ok;
        change(&mut entry);
        Tracked::remembered(entry, Duration::from_secs(60), Instant::now())
    }

    #[test]
    fn a_bundle_that_was_gone_has_what_is_left_of_its_grace() {
        let ago = |seconds: i64| Some(Timestamp::now() - jiff::SignedDuration::from_secs(seconds));
        for (gone, at_most) in [(ago(0), 60), (ago(50), 10), (ago(500), 0), (ago(-500), 60)] {
            let bundle = remembered(|entry| entry.gone = gone);
            let State::Departed { until, .. } = bundle.state else {
                panic!("{:?}", bundle.state);
            };
            let left = until.saturating_duration_since(Instant::now());
            assert!(left <= Duration::from_secs(at_most), "{left:?}");
            assert!(
                left + Duration::from_secs(5) >= Duration::from_secs(at_most),
                "{left:?}"
            );
        }
    }

    #[test]
    fn what_is_written_has_not_stood_there_yet() {
        let mut bundle = remembered(|_| {});
        let now = Instant::now();
        assert!(!bundle.is_pending_since(now), "it is known");
        bundle.settle(now, None);
        assert!(bundle.is_pending_since(now));
        bundle.written(now + Duration::from_secs(1), None);
        assert!(!bundle.is_pending_since(now));
    }
}
