//! The store against the bundles: what was lost, moved or unpinned is put right, what nothing
//! holds any more is released.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use airdock_bundle::name::Name;
use tokio::time::Instant;

use super::bring::OwnedHolding;
use super::context::Context;
use super::event::Event;
use super::failure::Failure;
use super::look::{InOrder, Looked, look};
use super::plan::{BundlePlan, Holding, plan};
use super::publish::write_names;
use super::retry::Retry;
use super::run::{Agent, StoreState};
use super::tracked::{State, Tracked};
use super::work::Done;
use crate::store::view::{Revision, Seen, View};
use crate::store::{Session, StoreError};

/// Changes come in bursts, ours among them; they are waited for this long.
const QUIET: Duration = Duration::from_millis(50);
/// The least time between two looks at the store.
const PAUSE: Duration = Duration::from_millis(250);
/// A look takes the longer the more the store holds: after it, this many times as long is left to
/// everything else, so that many bundles that come one by one don't pay for looks at each other.
const REST: u32 = 4;
/// But no longer than this.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// When the store is looked at.
#[derive(Debug)]
pub(super) struct Healing {
    due: Instant,
    /// Looks, and what they led to, under way.
    running: usize,
    last: Option<Instant>,
    /// From the beginning of one look to that of the next, at least.
    pause: Duration,
    retry: Option<Retry>,
    reason: Option<String>,
    looks: u64,
    tidied: bool,
    /// Whether something happened since the last look.
    wanted: bool,
    in_order: Option<InOrder>,
}

impl Healing {
    /// At once.
    pub(super) fn now() -> Self {
        Self {
            due: Instant::now(),
            running: 0,
            last: None,
            pause: PAUSE,
            retry: None,
            reason: None,
            looks: 0,
            tidied: false,
            wanted: true,
            in_order: None,
        }
    }

    /// In a moment.
    pub(super) fn soon(&mut self, now: Instant) {
        let rested = self.last.map_or(now, |last| last + self.pause);
        self.wanted = true;
        self.at((now + QUIET).max(rested));
    }

    /// At a time, or earlier if it is due earlier.
    pub(super) fn at(&mut self, due: Instant) {
        self.due = self.due.min(due);
    }

    pub(super) fn wake(&self) -> Option<Instant> {
        (self.running == 0).then_some(self.due)
    }

    /// Something more is under way, and no look is begun before it has ended.
    pub(super) fn began(&mut self) {
        self.running += 1;
    }

    /// A look has ended.
    pub(super) fn looked(&mut self, now: Instant) {
        let took = self.last.map_or(Duration::ZERO, |last| now - last);
        self.pause = (took * REST).clamp(PAUSE, PAUSE_MAX);
        self.ended();
    }

    pub(super) fn ended(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// How often the store was looked at.
    pub(super) fn looks(&self) -> u64 {
        self.looks
    }

    /// Why the store doesn't answer, while it doesn't.
    pub(super) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Whether nothing is going on, and nothing has happened that asks for a look.
    pub(super) fn is_quiet(&self) -> bool {
        self.running == 0 && !self.wanted
    }
}

impl Agent {
    pub(super) fn start_healing(&mut self, now: Instant) {
        if self.healing.running > 0 || now < self.healing.due {
            return;
        }
        self.healing.running = 1;
        self.healing.looks += 1;
        self.healing.wanted = false;
        self.healing.last = Some(now);
        self.healing.due = now + self.settings.resync;
        let store = self.context.store.clone();
        let tidy = !self.healing.tidied;
        let known = self.known_in_order();
        self.tasks
            .spawn(async move { Done::Viewed(look(store, tidy, known).await) });
    }

    /// What the store is known to be if all is in order.
    fn known_in_order(&self) -> Option<Revision> {
        let in_order = self.healing.in_order.as_ref()?;
        in_order.revision_for(&self.holdings())
    }

    /// Takes in what the store holds.
    pub(super) fn viewed(&mut self, looked: Result<Looked, StoreError>, now: Instant) {
        self.healing.looked(now);
        match looked {
            Ok(Looked { seen, sandbox }) => {
                self.reachable(now);
                match seen {
                    Seen::Other { view, revision } => self.reconcile(view, revision, now),
                    // It was asked whether the store is as it was, and that isn't enough any more.
                    Seen::Same if self.known_in_order().is_none() => {
                        self.healing.in_order = None;
                        self.healing.soon(now);
                    }
                    Seen::Same => {}
                }
                self.check_sandbox(sandbox);
                self.start_verifying();
            }
            Err(error) => self.unreachable(&error, now),
        }
    }

    fn reachable(&mut self, now: Instant) {
        self.healing.tidied = true;
        self.healing.retry = None;
        self.healing.reason = None;
        if self.store == StoreState::Reachable {
            return;
        }
        self.store = StoreState::Reachable;
        let store = self.context.store.describe();
        self.context.report(&Event::StoreReachable { store });
        for bundle in self.bundles.values_mut() {
            if let State::Failing { retry, .. } = bundle.state {
                bundle.settle(now, Some(retry));
            }
        }
    }

    /// The store doesn't answer: everything waits, and it is asked again ever more slowly.
    pub(super) fn unreachable(&mut self, error: &StoreError, now: Instant) {
        if let Some(retry) = self.healing.retry.filter(|retry| now < retry.at) {
            self.healing.at(retry.at);
            return;
        }
        self.store = StoreState::Unreachable;
        let retry = Retry::of_store(self.healing.retry, now);
        self.healing.retry = Some(retry);
        self.healing.reason = Some(error.to_string());
        self.healing.due = retry.at;
        self.context.report(&Event::StoreUnreachable {
            store: self.context.store.describe(),
            reason: error.to_string(),
            retry: retry.wait(now),
        });
    }

    fn reconcile(&mut self, view: View, revision: Option<Revision>, now: Instant) {
        let owned = self.holdings();
        let holdings: Vec<Holding<'_>> = owned.iter().map(OwnedHolding::borrowed).collect();
        let mut plan = plan(&holdings, &view, self.context.store.rules());
        let in_order = revision.filter(|_| plan.is_empty());
        if self.imported_since(self.healing.last) {
            plan.spare_unknown(&holdings, &view);
        }
        let mut names_only = Vec::new();
        let mut by_path: BTreeMap<PathBuf, Vec<BundlePlan>> = BTreeMap::new();
        for bundle in plan.bundles {
            if let Some(holding) = owned.get(bundle.holding) {
                let path = holding.path.clone();
                by_path.entry(path).or_default().push(bundle);
            }
        }
        for (path, plans) in by_path {
            names_only.extend(self.restore(&path, plans, &owned, now));
        }
        if !names_only.is_empty() {
            let context = self.context.clone();
            self.healing.began();
            self.tasks
                .spawn(async move { Done::Restored(restore_names(names_only, &context).await) });
        }
        for lost in plan.lost {
            self.report_lost(&owned, lost.holding, lost.image);
        }
        self.start_release(plan.orphans, now);
        let records = view.records.into_iter();
        self.records = records.map(|(name, it)| (name, it.into())).collect();
        self.healing.in_order = in_order.map(|revision| InOrder::new(revision, owned));
    }

    /// Whether any bundle is being brought, or was since then.
    fn imported_since(&self, then: Option<Instant>) -> bool {
        let lately = |b: &Tracked| b.brought_at >= then && b.brought_at.is_some();
        !self.at_work.is_empty() || self.bundles.values().any(lately)
    }

    /// What of a bundle can be put right without reading it; otherwise it goes its way again.
    fn restore(
        &mut self,
        path: &PathBuf,
        plans: Vec<BundlePlan>,
        owned: &[OwnedHolding],
        now: Instant,
    ) -> Vec<NamesOnly> {
        let Some(bundle) = self.bundles.get_mut(path) else {
            return Vec::new();
        };
        let must_read = plans.iter().any(|plan| !plan.write.is_empty());
        let is_on_its_way = matches!(bundle.state, State::Importing { .. });
        if is_on_its_way || (must_read && !bundle.is_at_rest()) {
            return Vec::new();
        }
        // What was looked at is older than what it has written since.
        if bundle.brought_at > self.healing.last {
            return Vec::new();
        }
        let is_takeover = plans.iter().all(BundlePlan::is_takeover);
        if !is_takeover && let Err(due) = bundle.restore(now) {
            self.healing.at(due);
            return Vec::new();
        }
        if !is_takeover {
            self.context.report(&Event::Restoring {
                bundle: path.clone(),
                names: plans.iter().map(|plan| plan.steps.len()).sum(),
                blobs: plans.iter().map(|plan| plan.write.len()).sum(),
            });
        }
        if must_read {
            bundle.settle(now, None);
            return Vec::new();
        }
        let short_id = |plan: &BundlePlan| {
            let holding = owned.get(plan.holding);
            holding.map_or_else(String::new, |h| h.offer.short_id().to_owned())
        };
        let names_only = plans.into_iter().map(|plan| NamesOnly {
            bundle: short_id(&plan),
            plan,
        });
        names_only.collect()
    }

    /// Without its sandbox image a node starts no pod at all, and the message that kubelet gives
    /// for it is hard to read: k0s#5753, k0s#6360.
    fn check_sandbox(&mut self, sandbox: Option<String>) {
        let Some(image) = sandbox.and_then(|name| Name::parse(&name).ok()) else {
            return;
        };
        let name = image.to_string();
        let offers = self.bundles.values().flat_map(|bundle| &bundle.entry.held);
        let mut offered = offers.flat_map(|held| &held.offer.images);
        let pending = self.bundles.values().any(|bundle| !bundle.is_at_rest());
        let known = self.records.contains_key(&name)
            || offered.any(|offered| offered.names.contains(&image));
        if known {
            self.sandbox.told = None;
        } else if !pending && self.sandbox.told.as_ref() != Some(&name) {
            self.context
                .report(&Event::SandboxMissing { name: name.clone() });
            self.sandbox.told = Some(name);
        }
    }

    fn report_lost(&self, owned: &[OwnedHolding], holding: usize, image: usize) {
        let Some(holding) = owned.get(holding) else {
            return;
        };
        let is_judged = self
            .bundles
            .get(&holding.path)
            .is_some_and(Tracked::is_at_rest);
        if let Some(image) = holding.offer.images.get(image)
            && is_judged
        {
            self.context.report(&Event::Lost {
                bundle: holding.path.clone(),
                image: super::publish::names_of(image),
            });
        }
    }

    pub(super) fn restored(&mut self, result: Result<(), Failure>, now: Instant) {
        self.healing.ended();
        match result {
            Ok(()) => {}
            Err(Failure::Store(error)) => self.unreachable(&error, now),
            Err(_) => self.healing.soon(now),
        }
    }
}

/// Whether it was told that nothing has the sandbox image.
#[derive(Debug, Default)]
pub(super) struct Sandbox {
    told: Option<String>,
}

/// Names of a bundle whose blobs are all there.
#[derive(Debug)]
struct NamesOnly {
    bundle: String,
    plan: BundlePlan,
}

async fn restore_names(bundles: Vec<NamesOnly>, context: &Context) -> Result<(), Failure> {
    for NamesOnly { bundle, plan } in bundles {
        let session = context.store.begin(&bundle).await?;
        let restored = restore_bundle(&plan, &session, context).await;
        match restored {
            Ok(()) => session.finish().await,
            Err(_) => session.abandon().await,
        }
        restored?;
    }
    Ok(())
}

async fn restore_bundle(
    plan: &BundlePlan,
    session: &Session,
    context: &Context,
) -> Result<(), Failure> {
    session.protect(&plan.roots).await?;
    if let Some(gone) = plan
        .gone(&context.store.view_of(&plan.extent()).await?)
        .into_iter()
        .next()
    {
        return Err(Failure::NotReadBack(gone.to_string()));
    }
    for blob in &plan.relabel {
        session.relabel(blob).await?;
    }
    write_names(session, &plan.steps, context).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_a_look_takes_the_longer_the_next_waits() {
        let begun = Instant::now();
        for (took, wait) in [
            (1, PAUSE),
            (100, REST * Duration::from_millis(100)),
            (60_000, PAUSE_MAX),
        ] {
            let mut healing = Healing::now();
            healing.last = Some(begun);
            healing.due = begun + Duration::from_secs(3600);
            let now = begun + Duration::from_millis(took);
            healing.looked(now);
            healing.soon(now);
            assert_eq!(healing.due, (begun + wait).max(now + QUIET), "{took} ms");
        }
    }
}
