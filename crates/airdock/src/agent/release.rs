//! Giving up what nothing holds any more, when its grace is over.
//!
//! Which names are ours is read from their labels, not remembered: a lost ledger loses no name.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use super::event::Event;
use super::notice::PENDING_POLL;
use super::plan::Orphan;
use super::run::Agent;
use super::sources::SourceState;
use super::work::Done;
use crate::config::{OnRemove, Policy};
use crate::store::labels::source_id;
use crate::store::{Store, StoreError};

/// How soon names that were due are looked at again: containers that used their images may have
/// gone.
const IN_USE_POLL: Duration = Duration::from_secs(60);

/// Names that nothing holds, and bundles whose grace is over.
#[derive(Debug, Default)]
pub(super) struct Departures {
    /// By name, and the bundle that it was written for.
    first_seen: HashMap<(String, String), Instant>,
    expired: HashSet<String>,
}

impl Departures {
    /// The grace of a bundle is over: what was written for it goes at once.
    pub(super) fn expired(&mut self, bundle: &str) {
        self.expired.insert(bundle.to_owned());
    }

    /// Which of the orphans are due now, and when they are to be looked at next. None is due while a bundle
    /// that was there before it was found isn't known yet: it may be what holds it.
    fn due(
        &mut self,
        orphans: Vec<Orphan>,
        policies: &BTreeMap<String, Policy>,
        is_pending_since: impl Fn(Instant) -> bool,
        now: Instant,
    ) -> (Vec<Orphan>, Option<Instant>) {
        self.keep_only(&orphans);
        let mut due = Vec::new();
        let mut next: Option<Instant> = None;
        for orphan in orphans {
            // A source that is no longer watched, or another agent's: not ours to decide.
            let Some(policy) = policies.get(&orphan.source) else {
                continue;
            };
            let seen = *self.first_seen.entry(key(&orphan)).or_insert(now);
            let mut at = seen + policy.release_grace;
            if self.expired.contains(&orphan.bundle) {
                at = now;
            }
            if is_pending_since(seen) {
                at = at.max(now + PENDING_POLL);
            }
            if at <= now {
                due.push(orphan);
                at = now + IN_USE_POLL;
            }
            next = Some(next.map_or(at, |next| next.min(at)));
        }
        (due, next)
    }

    /// What is no orphan any more starts anew if it becomes one again.
    fn keep_only(&mut self, orphans: &[Orphan]) {
        let keys: HashSet<(String, String)> = orphans.iter().map(key).collect();
        self.first_seen.retain(|seen, _| keys.contains(seen));
        let bundles: HashSet<&String> = orphans.iter().map(|orphan| &orphan.bundle).collect();
        self.expired.retain(|bundle| bundles.contains(bundle));
    }
}

fn key(orphan: &Orphan) -> (String, String) {
    (orphan.name.clone(), orphan.bundle.clone())
}

impl Agent {
    pub(super) fn start_release(&mut self, orphans: Vec<Orphan>, now: Instant) {
        let policies = self.policies();
        let bundles = &self.bundles;
        let pending = |since| bundles.values().any(|b| b.is_pending_since(since));
        let (due, next) = self.departures.due(orphans, &policies, pending, now);
        if let Some(next) = next {
            self.healing.at(next);
        }
        if due.is_empty() {
            return;
        }
        let store = self.context.store.clone();
        self.healing.began();
        self.tasks
            .spawn(async move { Done::Released(release(store, due, &policies).await) });
    }

    /// Of the sources that can be listed: what can't takes nothing away.
    fn policies(&self) -> BTreeMap<String, Policy> {
        let is_listed = |directory: &Path| {
            let state = self.sources.get(directory);
            matches!(state, Some(SourceState::Watched { .. }))
        };
        let sources = self.settings.sources.iter();
        sources
            .filter(|source| is_listed(&source.directory))
            .map(|source| (source_id(&source.directory), source.policy))
            .collect()
    }

    pub(super) fn released(
        &mut self,
        result: Result<Vec<(String, &'static str)>, StoreError>,
        now: Instant,
    ) {
        self.healing.ended();
        match result {
            Ok(names) => {
                for (name, policy) in names {
                    self.context.report(&Event::Released { name, policy });
                }
            }
            Err(error) => self.unreachable(&error, now),
        }
    }
}

/// All orphans of one policy together: the store is asked once who uses what.
async fn release(
    store: Store,
    orphans: Vec<Orphan>,
    policies: &BTreeMap<String, Policy>,
) -> Result<Vec<(String, &'static str)>, StoreError> {
    let mut released = Vec::new();
    for policy in [OnRemove::Unpin, OnRemove::Delete, OnRemove::Keep] {
        let has_policy = |o: &&Orphan| {
            policies
                .get(&o.source)
                .is_some_and(|p| p.on_remove == policy)
        };
        let group: Vec<Orphan> = orphans.iter().filter(has_policy).cloned().collect();
        if group.is_empty() {
            continue;
        }
        let names = store.release(&group, policy).await?;
        released.extend(names.into_iter().map(|name| (name, policy.as_str())));
    }
    Ok(released)
}

#[cfg(test)]
mod tests {
    use super::*;
    use airdock_bundle::digest::{Algorithm, Digest};

    fn orphan(name: &str, bundle: &str) -> Orphan {
        Orphan {
            name: name.to_owned(),
            target: Digest::of(Algorithm::Sha256, name.as_bytes()),
            bundle: bundle.to_owned(),
            source: "source".to_owned(),
            created: true,
            pinned: true,
        }
    }

    fn policies() -> BTreeMap<String, Policy> {
        let policy = Policy {
            release_grace: Duration::from_secs(60),
            ..Policy::default()
        };
        BTreeMap::from([("source".to_owned(), policy)])
    }

    fn due_at(departures: &mut Departures, orphans: &[Orphan], now: Instant) -> usize {
        let none_pending = |_| false;
        let orphans = orphans.to_vec();
        departures
            .due(orphans, &policies(), none_pending, now)
            .0
            .len()
    }

    #[test]
    fn a_name_has_its_grace_unless_its_bundle_had_one() {
        let (mut departures, now) = (Departures::default(), Instant::now());
        let orphans = [orphan("x", "a"), orphan("y", "b")];
        departures.expired("a");
        assert_eq!(due_at(&mut departures, &orphans, now), 1);
        let later = now + Duration::from_secs(60);
        assert_eq!(due_at(&mut departures, &orphans, later), 2);
    }

    #[test]
    fn a_grace_that_was_over_once_is_not_over_for_ever() {
        let (mut departures, now) = (Departures::default(), Instant::now());
        let orphans = [orphan("x", "a")];
        departures.expired("a");
        assert_eq!(due_at(&mut departures, &orphans, now), 1);
        assert_eq!(due_at(&mut departures, &[], now), 0);
        assert_eq!(due_at(&mut departures, &orphans, now), 0);
    }

    #[test]
    fn what_is_due_is_looked_at_again_lest_it_was_in_use() {
        let (mut departures, now) = (Departures::default(), Instant::now());
        departures.expired("a");
        let orphans = vec![orphan("x", "a")];
        let (due, next) = departures.due(orphans, &policies(), |_| false, now);
        assert_eq!(due.len(), 1);
        assert_eq!(next, Some(now + IN_USE_POLL));
    }

    #[test]
    fn a_name_that_another_bundle_wrote_since_starts_anew() {
        let (mut departures, now) = (Departures::default(), Instant::now());
        assert_eq!(due_at(&mut departures, &[orphan("x", "a")], now), 0);
        let later = now + Duration::from_secs(60);
        assert_eq!(due_at(&mut departures, &[orphan("x", "b")], later), 0);
    }

    #[test]
    fn nothing_goes_while_a_bundle_that_was_there_before_is_not_known() {
        let (mut departures, now) = (Departures::default(), Instant::now());
        departures.expired("a");
        let orphans = vec![orphan("x", "a")];
        let found = now;
        let pending = |since| found <= since;
        let (due, next) = departures.due(orphans.clone(), &policies(), pending, now);
        assert!(due.is_empty() && next.is_some());
        let found = now + Duration::from_secs(1);
        let pending = |since| found <= since;
        let (due, _) = departures.due(orphans, &policies(), pending, now);
        assert_eq!(due.len(), 1, "one that came later can't be what held it");
    }
}
