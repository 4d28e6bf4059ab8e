//! From listings of the sources to bundles that are new, changed, settled or gone.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use super::context::Context;
use super::event::Event;
use super::failure::Failure;
use super::ledger::{Entry, Ledger, LedgerError};
use super::retry::Retry;
use super::run::Agent;
use super::safety::check_bundle;
use super::scan::{Candidate, Listing};
use super::settle::{Probe, Settled, Special, probe};
use super::terms::Terms;
use super::tracked::{State, Tracked};
use super::watch::POLL;

/// How soon what may be released is looked at again while some bundles aren't known yet.
pub(super) const PENDING_POLL: Duration = Duration::from_millis(250);

impl Agent {
    /// Takes up what the ledger knows of bundles of some sources: those that still look as they did; those that don't,
    /// or are gone, are kept as what they held.
    pub(super) fn remember(&mut self, of: impl Fn(&Path) -> bool) -> Result<(), LedgerError> {
        let now = Instant::now();
        for entry in self.ledger.load()?.into_iter().filter(|e| of(&e.source)) {
            let Some(source) = self.settings.source(&entry.source) else {
                continue;
            };
            let same_terms = entry.terms == source.terms(&self.context.platform);
            let grace = self.grace(&entry.source);
            let mut bundle = Tracked::remembered(entry, grace, now);
            if !same_terms && !bundle.is_gone() {
                bundle.settle(now, None);
            }
            self.bundles.insert(bundle.path().clone(), bundle);
        }
        Ok(())
    }

    /// Takes in what stands in a source.
    pub(super) fn compare(&mut self, source: &Path, listing: Listing, now: Instant) {
        let is_unknown = |path: &Path| {
            listing
                .unlisted
                .iter()
                .any(|(directory, _)| path.starts_with(directory))
        };
        let mut listed: HashMap<PathBuf, Candidate> = listing
            .candidates
            .into_iter()
            .map(|c| (c.path.clone(), c))
            .collect();
        let (mut changed, mut gone) = (0, 0);
        let grace = self.grace(source);
        for bundle in self
            .bundles
            .values_mut()
            .filter(|b| b.entry.source == source)
        {
            match listed.remove(bundle.path()) {
                Some(candidate) => changed += usize::from(look(bundle, candidate, now)),
                None if matches!(bundle.state, State::Departed { .. }) => {}
                None if is_unknown(bundle.path()) => {}
                None => {
                    gone += 1;
                    bundle.departed(now, grace);
                    write_down(&mut self.ledger, &self.context, &bundle.entry);
                    self.context.report(&Event::Departed {
                        bundle: bundle.path().clone(),
                        grace,
                    });
                }
            }
        }
        changed += listed.len();
        for (path, candidate) in listed {
            let bundle = Tracked::found(source, candidate, now);
            self.bundles.insert(path, bundle);
        }
        if changed + gone > 0 {
            self.context.report(&Event::DirectoryChanged {
                directory: source.to_owned(),
                changed,
                gone,
            });
        }
    }

    /// Moves every bundle whose time has come.
    pub(super) fn advance_bundles(&mut self, now: Instant) {
        let due: Vec<PathBuf> = self
            .bundles
            .values()
            .filter(|bundle| bundle.wake().is_some_and(|at| at <= now))
            .map(|bundle| bundle.path().clone())
            .collect();
        for path in due {
            self.advance_one(&path, now);
        }
    }

    fn advance_one(&mut self, path: &Path, now: Instant) {
        let Some(bundle) = self.bundles.get_mut(path) else {
            return;
        };
        match &mut bundle.state {
            State::Settling { tried, .. } => {
                let tried = *tried;
                self.probe(path, tried, now);
            }
            State::Judged { again } => {
                let again = *again;
                bundle.settle(now, again);
            }
            State::Failing { retry, room, .. } => {
                let retry = *retry;
                if now >= retry.at || room.as_mut().is_some_and(|room| room.is_there(now)) {
                    bundle.settle(now, Some(retry));
                }
            }
            State::Departed { until, .. } => {
                let until = *until;
                self.forget_if_over(path, until, now);
            }
            State::Waiting { .. } | State::Importing { .. } | State::Imported => {}
        }
    }

    fn probe(&mut self, path: &Path, tried: Option<Retry>, now: Instant) {
        let Some(bundle) = self.bundles.get_mut(path) else {
            return;
        };
        let left_alone = bundle.stable_since + self.settings.debounce;
        match probe(&bundle.candidate) {
            Probe::Settled(_) => bundle.state = State::Waiting { tried },
            Probe::Unknown(_) if now >= left_alone => bundle.state = State::Waiting { tried },
            Probe::Unknown(_) => bundle.settle(left_alone, tried),
            Probe::Writing => {
                bundle.written(now, tried);
                self.scan_at = self.scan_at.min(now + POLL);
            }
            Probe::Gone => {
                bundle.written(now, tried);
                self.scan_at = now;
            }
            Probe::Special(special) => {
                self.refuse_special(path, special, Retry::after(tried, now));
            }
            Probe::Unreadable(error) => {
                let failure = Failure::unreadable(&error, path);
                self.failed(path, &failure, tried, now);
            }
        }
    }

    /// What was there before the grace was over may be the same bundle, renamed or copied: first
    /// it is looked at.
    fn forget_if_over(&mut self, path: &Path, until: Instant, now: Instant) {
        if self.bundles.values().any(|b| b.is_pending_since(until)) {
            if let Some(bundle) = self.bundles.get_mut(path) {
                let look = now + PENDING_POLL;
                bundle.state = State::Departed { until, look };
            }
            return;
        }
        self.forget(path);
    }

    /// The grace is over: the bundle's images are no longer held.
    fn forget(&mut self, path: &Path) {
        let Some(bundle) = self.bundles.remove(path) else {
            return;
        };
        for held in &bundle.entry.held {
            self.departures.expired(held.offer.short_id());
        }
        if let Err(error) = self.ledger.forget(path) {
            let reason = error.to_string();
            self.context.report(&Event::LedgerFailed { reason });
        }
        self.healing.soon(Instant::now());
    }

    /// Opens a bundle for its turn.
    pub(super) fn take(bundle: &Tracked, terms: &Terms) -> Result<Settled, Failure> {
        let path = bundle.path();
        let settled = Settled::as_it_is(path).map_err(|e| Failure::unreadable(&e, path))?;
        if settled.fingerprint != bundle.candidate.fingerprint {
            return Err(Failure::Changed(path.clone()));
        }
        if !terms.insecure_permissions {
            check_bundle(&settled)?;
        }
        Ok(settled)
    }
}

/// Whether a listed bundle is different from what was known.
fn look(bundle: &mut Tracked, candidate: Candidate, now: Instant) -> bool {
    let same = bundle.candidate.fingerprint == candidate.fingerprint;
    let was_gone = matches!(bundle.state, State::Departed { .. });
    bundle.candidate.is_directory = candidate.is_directory;
    if same && !was_gone {
        return false;
    }
    bundle.changed(candidate, now);
    true
}

/// Remembers an entry. That it can't be is told once, until it can again.
pub(super) fn write_down(ledger: &mut Ledger, context: &Context, entry: &Entry) {
    let was_behind = ledger.is_behind();
    if let Err(error) = ledger.write(entry)
        && !was_behind
    {
        let reason = error.to_string();
        context.report(&Event::LedgerFailed { reason });
    }
}

impl Agent {
    /// Judges, without a look inside, what can't be a bundle.
    fn refuse_special(&mut self, path: &Path, special: Special, retry: Retry) {
        let Some(bundle) = self.bundles.get_mut(path) else {
            return;
        };
        let source = self.settings.source(&bundle.entry.source);
        let terms = source.map(|source| source.terms(&self.context.platform));
        bundle.entry.terms = terms.unwrap_or_default();
        let seen = bundle.candidate.fingerprint;
        self.judged(path, seen, &Failure::special(special), retry);
        if let Some(bundle) = self.bundles.get(path) {
            write_down(&mut self.ledger, &self.context, &bundle.entry);
        }
    }

    /// Remembers what could not be remembered before.
    pub(super) fn catch_up(&mut self) {
        if self.ledger.is_behind() && self.ledger.catch_up().is_ok() {
            self.context.report(&Event::LedgerRecovered);
        }
    }
}
