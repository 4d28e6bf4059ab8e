//! Which bundle is brought when, and what comes of it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use airdock_bundle::Verdict;
use airdock_bundle::digest::Digest;
use jiff::Timestamp;
use tokio::task::JoinError;
use tokio::time::Instant;

use super::bring::{Brought, OwnedHolding, Standing, bring};
use super::event::Event;
use super::failure::Failure;
use super::look::Looked;
use super::notice::write_down;
use super::publish::reasons;
use super::retry::Retry;
use super::run::{Agent, StoreState};
use super::scan::Fingerprint;
use super::space::Wanted;
use super::terms::Terms;
use super::tracked::{State, Tracked};
use crate::store::StoreError;
use crate::store::labels::source_id;

/// What a bundle was, and what held for it, when it was opened.
#[derive(Clone, Debug)]
pub struct Seen {
    /// How it looked from outside.
    pub fingerprint: Fingerprint,
    /// Under which settings it is judged.
    pub terms: Terms,
}

/// What a task came to.
#[derive(Debug)]
pub enum Done {
    /// A bundle was brought, or not.
    Brought {
        /// The bundle.
        path: PathBuf,
        /// What it was when it was opened.
        seen: Seen,
        /// How it went; boxed, for it is much larger than the rest.
        result: Box<Result<Brought, Failure>>,
    },
    /// The store was looked at.
    Viewed(Result<Looked, StoreError>),
    /// What was suspect after a crash was read back; the damaged blobs are gone from the store.
    Verified(Result<BTreeSet<Digest>, StoreError>),
    /// Names of bundles were put right.
    Restored(Result<(), Failure>),
    /// Names were given up.
    Released(Result<Vec<(String, &'static str)>, StoreError>),
}

impl Agent {
    /// Starts as many bundles as may run: those of the most important source first, and among them
    /// the smallest.
    pub(super) fn start_work(&mut self, now: Instant) {
        if self.store != StoreState::Reachable {
            return;
        }
        while self.at_work.len() < self.settings.concurrency {
            let Some(path) = self.next() else {
                return;
            };
            self.start(&path, now);
        }
    }

    fn next(&self) -> Option<PathBuf> {
        let waiting = |b: &&Tracked| {
            matches!(b.state, State::Waiting { .. }) && !self.at_work.contains(b.path())
        };
        let next = self
            .bundles
            .values()
            .filter(waiting)
            .min_by_key(|bundle| self.turn(bundle))?;
        Some(next.path().clone())
    }

    /// Whose is smaller comes first.
    fn turn(&self, bundle: &Tracked) -> (Reverse<i32>, u64) {
        let source = self.settings.source(&bundle.entry.source);
        let priority = source.map_or(0, |source| source.priority);
        (Reverse(priority), bundle.candidate.fingerprint.size)
    }

    fn start(&mut self, path: &Path, now: Instant) {
        let standing = self.standing(path);
        let Some(bundle) = self.bundles.get_mut(path) else {
            return;
        };
        let State::Waiting { tried } = bundle.state else {
            return;
        };
        bundle.state = State::Importing { tried };
        let terms = standing.terms.clone();
        match Self::take(bundle, &terms) {
            Ok(settled) => {
                self.at_work.insert(path.to_owned());
                let context = self.context.clone();
                self.tasks.spawn(async move {
                    let (path, fingerprint) = (settled.path.clone(), settled.fingerprint);
                    let result = Box::new(bring(settled, standing, &context).await);
                    let seen = Seen { fingerprint, terms };
                    Done::Brought { path, seen, result }
                });
            }
            Err(failure) => {
                let fingerprint = bundle.candidate.fingerprint;
                self.brought(path, Seen { fingerprint, terms }, Err(failure), now);
            }
        }
    }

    /// For whom a bundle is brought, and who else holds images.
    fn standing(&self, path: &Path) -> Standing {
        let own = self.bundles.get(path);
        let source = own.and_then(|b| self.settings.source(&b.entry.source));
        let is_other = |h: &OwnedHolding| h.path != path || !h.is_latest;
        let holdings = self.holdings();
        Standing {
            source: source.map_or_else(String::new, |s| source_id(&s.directory)),
            arrived: own.map_or(Timestamp::UNIX_EPOCH, |b| b.candidate.fingerprint.changed),
            known: arrivals(&holdings),
            on_conflict: source.map_or_else(Default::default, |s| s.policy.on_conflict),
            terms: source.map_or_else(Default::default, |s| s.terms(&self.context.platform)),
            others: holdings.into_iter().filter(is_other).collect(),
            beside: self.standing_files(),
            name: None,
            index: Some(self.ledger.index_of(path)),
        }
    }

    /// Files that stand in the sources and that nobody writes.
    fn standing_files(&self) -> Vec<PathBuf> {
        let is_written = |b: &Tracked| matches!(b.state, State::Settling { .. });
        let standing = self.bundles.values();
        standing
            .filter(|bundle| !bundle.is_gone() && !is_written(bundle))
            .map(|bundle| bundle.path().clone())
            .collect()
    }

    /// Deltas that lack something are looked at once more: it may have come.
    fn wake_deltas(&mut self, now: Instant) {
        for bundle in self.bundles.values_mut().filter(|bundle| bundle.needs) {
            if let State::Judged { again: Some(retry) } = &mut bundle.state {
                retry.at = now;
            }
        }
    }

    /// Everything that any bundle holds.
    pub(super) fn holdings(&self) -> Vec<OwnedHolding> {
        let holdings = self.bundles.values().flat_map(|bundle| {
            let source = self.settings.source(&bundle.entry.source);
            let source_label = source.map_or_else(String::new, |s| source_id(&s.directory));
            let on_conflict = source.map_or_else(Default::default, |s| s.policy.on_conflict);
            bundle.entry.held.iter().map(move |held| OwnedHolding {
                path: bundle.path().clone(),
                source: source_label.clone(),
                arrived: held.arrived,
                live: held.live && bundle.is_as_judged(),
                is_latest: held.live,
                on_conflict,
                offer: std::sync::Arc::clone(&held.offer),
            })
        });
        holdings.collect()
    }

    pub(super) fn grace(&self, source: &Path) -> Duration {
        let source = self.settings.source(source);
        source.map_or(Duration::ZERO, |s| s.policy.release_grace)
    }

    /// Takes in what a task came to.
    pub(super) fn finished(&mut self, done: Result<Done, JoinError>) {
        let now = Instant::now();
        match done {
            Ok(Done::Brought { path, seen, result }) => self.brought(&path, seen, *result, now),
            Ok(Done::Viewed(view)) => self.viewed(view, now),
            Ok(Done::Verified(result)) => self.verified(result, now),
            Ok(Done::Restored(result)) => self.restored(result, now),
            Ok(Done::Released(result)) => self.released(result, now),
            // A panic is a defect of ours; what it was about is found by the next listing.
            Err(error) => self.context.report(&Event::LedgerFailed {
                reason: format!("a task ended without an answer: {error}"),
            }),
        }
    }

    fn brought(&mut self, path: &Path, seen: Seen, result: Result<Brought, Failure>, now: Instant) {
        self.at_work.remove(path);
        // Two bundles that were brought at once may have disagreed about a name, and what may be
        // released waited for this.
        self.healing.soon(now);
        let Some(bundle) = self.bundles.get_mut(path) else {
            // It was forgotten while it was read.
            return self.ledger.index_of(path).remove();
        };
        let tried = match bundle.state {
            State::Importing { tried } => tried,
            _ => None,
        };
        match result {
            Ok(brought) => {
                bundle.entry.terms.clone_from(&seen.terms);
                self.imported(path, seen.fingerprint, &brought, now);
                let records = brought.records.into_iter();
                self.records
                    .extend(records.map(|(name, it)| (name, it.into())));
            }
            Err(failure) if failure.verdict().is_none() => {
                self.failed(path, &failure, tried, now);
            }
            // What is gone needs no verdict.
            Err(_) if bundle.is_gone() => {}
            Err(failure) => {
                bundle.entry.terms.clone_from(&seen.terms);
                self.judged(path, seen.fingerprint, &failure, Retry::after(tried, now));
            }
        }
        self.settle_if_changed(path, &seen, now);
    }

    fn imported(&mut self, path: &Path, seen: Fingerprint, brought: &Brought, now: Instant) {
        let bundle = self.bundles.get(path);
        let grace = bundle.map_or(Duration::ZERO, |b| self.grace(&b.entry.source));
        let Some(bundle) = self.bundles.get_mut(path) else {
            return;
        };
        let gone = bundle.is_gone();
        bundle.brought(brought, seen, reasons(&brought.refused));
        bundle.entry.boot.clone_from(&self.boot.current);
        bundle.brought_at = Some(now);
        if gone {
            bundle.departed(now, grace);
        }
        write_down(&mut self.ledger, &self.context, &bundle.entry);
        self.wake_deltas(now);
    }

    /// A file that has changed since goes again, at once, and so does one for which other settings
    /// hold now: what it is now hasn't been tried.
    fn settle_if_changed(&mut self, path: &Path, seen: &Seen, now: Instant) {
        let Some(bundle) = self.bundles.get_mut(path) else {
            return;
        };
        let source = self.settings.source(&bundle.entry.source);
        let terms = source.map(|s| s.terms(&self.context.platform));
        let same = bundle.candidate.fingerprint == seen.fingerprint
            && terms.is_none_or(|terms| terms == seen.terms);
        if !same && !bundle.is_gone() {
            bundle.settle(now, None);
        }
    }

    pub(super) fn judged(
        &mut self,
        path: &Path,
        seen: Fingerprint,
        failure: &Failure,
        retry: Retry,
    ) {
        let (Some(bundle), Some(verdict)) = (self.bundles.get_mut(path), failure.verdict()) else {
            return;
        };
        let before = bundle.entry.judged.map(|_| bundle.entry.verdict);
        let is_news = before != Some(verdict) || bundle.entry.fingerprint != seen;
        bundle.refused(verdict, failure, seen);
        bundle.needs = matches!(failure, Failure::Needs { .. });
        if verdict == Verdict::Incomplete {
            bundle.state = State::Judged { again: Some(retry) };
        }
        write_down(&mut self.ledger, &self.context, &bundle.entry);
        if is_news {
            self.context.report(&Event::Judged {
                bundle: path.to_owned(),
                verdict,
                reason: failure.to_string(),
                kept: !bundle.entry.held.is_empty(),
            });
        }
    }

    /// Something went wrong that is no fault of the bundle's content: it is tried again.
    pub(super) fn failed(
        &mut self,
        path: &Path,
        failure: &Failure,
        tried: Option<Retry>,
        now: Instant,
    ) {
        if let Failure::Store(error) = failure
            && error.is_unreachable()
        {
            self.unreachable(error, now);
        }
        let Some(bundle) = self.bundles.get_mut(path).filter(|b| !b.is_gone()) else {
            return;
        };
        if matches!(failure, Failure::Changed(_)) {
            self.scan_at = now;
        }
        let retry = Retry::after(tried, now);
        let exit = failure.exit();
        let reason = failure.to_string();
        bundle.state = State::Failing {
            retry,
            exit,
            reason,
            room: Wanted::by(failure, now),
        };
        self.context.report(&Event::Failed {
            bundle: path.to_owned(),
            reason: failure.to_string(),
            retry: retry.wait(now),
        });
    }
}

/// When each content that is held came first.
fn arrivals(holdings: &[OwnedHolding]) -> BTreeMap<Digest, Timestamp> {
    let mut arrivals = BTreeMap::new();
    for holding in holdings {
        let first = arrivals.entry(holding.offer.id.clone());
        let first = first.or_insert(holding.arrived);
        *first = holding.arrived.min(*first);
    }
    arrivals
}
