//! Giving up what nothing holds any more, when its grace is over.
//!
//! Which names are ours is read from their labels, not remembered: a lost ledger loses no name.

use std::collections::{BTreeMap, HashMap, HashSet};

use tokio::time::Instant;

use super::event::Event;
use super::plan::Orphan;
use super::run::Agent;
use super::tracked::Tracked;
use super::work::Done;
use crate::config::{OnRemove, Policy};
use crate::store::labels::source_id;
use crate::store::{Store, StoreError};

/// Names that nothing holds, and bundles whose grace is over.
#[derive(Debug, Default)]
pub(super) struct Departures {
    first_seen: HashMap<String, Instant>,
    expired: HashSet<String>,
}

impl Departures {
    /// The grace of a bundle is over: what was written for it goes at once.
    pub(super) fn expired(&mut self, bundle: &str) {
        self.expired.insert(bundle.to_owned());
    }

    /// Which of the orphans are due now, and when the next will be.
    fn due(
        &mut self,
        orphans: Vec<Orphan>,
        policies: &BTreeMap<String, Policy>,
        now: Instant,
    ) -> (Vec<Orphan>, Option<Instant>) {
        let names: HashSet<&String> = orphans.iter().map(|orphan| &orphan.name).collect();
        self.first_seen.retain(|name, _| names.contains(name));
        let mut due = Vec::new();
        let mut next: Option<Instant> = None;
        for orphan in orphans {
            // A source that is no longer watched, or another agent's: not ours to decide.
            let Some(policy) = policies.get(&orphan.source) else {
                continue;
            };
            let seen = *self.first_seen.entry(orphan.name.clone()).or_insert(now);
            let at = seen + policy.release_grace;
            if self.expired.contains(&orphan.bundle) || at <= now {
                due.push(orphan);
            } else {
                next = Some(next.map_or(at, |next| next.min(at)));
            }
        }
        (due, next)
    }
}

impl Agent {
    /// What is on its way may be what a name was released for: a renamed bundle. It is waited for.
    pub(super) fn start_release(&mut self, orphans: Vec<Orphan>, now: Instant) {
        if self.bundles.values().any(Tracked::is_on_its_way) {
            return;
        }
        let policies = self.policies();
        let (due, next) = self.departures.due(orphans, &policies, now);
        if let Some(next) = next {
            self.healing.at(next);
        }
        if due.is_empty() {
            return;
        }
        let store = self.context.store.clone();
        self.tasks
            .spawn(async move { Done::Released(release(store, due, &policies).await) });
    }

    fn policies(&self) -> BTreeMap<String, Policy> {
        let sources = self.settings.sources.iter();
        sources
            .map(|source| (source_id(&source.directory), source.policy))
            .collect()
    }

    pub(super) fn released(
        &mut self,
        result: Result<Vec<(String, &'static str)>, StoreError>,
        now: Instant,
    ) {
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
