//! What the agent knows, as the status document.

use std::collections::BTreeMap;
use std::path::PathBuf;

use airdock_bundle::Verdict;
use tokio::time::Instant;

use super::run::{Agent, StoreState};
use super::sources::shown_bytes;
use super::tracked::{State, Tracked};
use crate::admin::document::{
    AgentStatus, BundleState, BundleStatus, ImageStatus, SourceStatus, Status, StoreStatus, VERSION,
};
use crate::agent::bring::OwnedHolding;
use crate::agent::offer::OfferedImage;
use crate::agent::publish::Refused;

impl Agent {
    /// Everything at this moment, after a look at the directories: who has just copied a bundle
    /// and asks is told of that bundle.
    pub(super) fn status(&mut self) -> Status {
        self.scan();
        Status {
            version: VERSION,
            agent: self.agent_status(),
            store: self.store_status(),
            sources: self.source_statuses(),
            bundles: self.bundle_statuses(),
            images: self.image_statuses(),
        }
    }

    fn agent_status(&self) -> AgentStatus {
        AgentStatus {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            started: self.started,
            state_dir: self.settings.state_directory.clone(),
            ready: self.ready,
            resyncs: self.healing.looks(),
        }
    }

    fn store_status(&self) -> StoreStatus {
        let state = match self.store {
            StoreState::Unknown => "unknown",
            StoreState::Reachable => "reachable",
            StoreState::Unreachable => "unreachable",
        };
        StoreStatus {
            name: self.context.store.describe(),
            state: state.to_owned(),
            reason: self.healing.reason().map(str::to_owned),
        }
    }

    fn source_statuses(&self) -> Vec<SourceStatus> {
        let of = |directory: &PathBuf| {
            let bundles = self.bundles.values();
            bundles.filter(|b| b.entry.source == *directory).count()
        };
        let sources = self.sources.iter();
        sources
            .map(|(directory, state)| SourceStatus {
                directory: directory.clone(),
                state: state.as_str().to_owned(),
                reason: state.reason().map(str::to_owned),
                bundles: of(directory),
                not_utf8: self.unnamed_in(directory),
            })
            .collect()
    }

    fn unnamed_in(&self, source: &PathBuf) -> Vec<String> {
        let unnamed = self.unnamed.iter();
        let here = unnamed.filter(|path| path.starts_with(source));
        here.map(|path| shown_bytes(path)).collect()
    }

    fn bundle_statuses(&self) -> Vec<BundleStatus> {
        let now = Instant::now();
        let bundles = self.bundles.values();
        bundles
            .map(|bundle| self.bundle_status(bundle, now))
            .collect()
    }

    fn bundle_status(&self, bundle: &Tracked, now: Instant) -> BundleStatus {
        let state = state(bundle);
        let progress = self.context.reporter.progress(bundle.path());
        let progress = progress.filter(|_| state == BundleState::Importing);
        let held = &bundle.entry.held;
        let retry = bundle.wake().filter(|_| {
            matches!(
                state,
                BundleState::Failing | BundleState::Incomplete | BundleState::Releasing
            )
        });
        BundleStatus {
            path: bundle.path().clone(),
            state,
            verdict: bundle.entry.judged.map(|_| bundle.entry.verdict),
            reason: self.reason(bundle, state),
            id: bundle.live_offer().map(|offer| offer.short_id().to_owned()),
            size: bundle.candidate.fingerprint.size,
            fingerprint: bundle.candidate.fingerprint,
            arrived: bundle.entry.arrived,
            judged: bundle.entry.judged,
            images: held.iter().map(|held| held.offer.images.len()).sum(),
            holds_earlier: state != BundleState::Releasing && held.iter().any(|held| !held.live),
            bytes_done: progress.map(|progress| progress.done),
            bytes_total: progress.map(|progress| progress.total),
            retry_seconds: retry.map(|at| at.saturating_duration_since(now).as_secs_f64()),
        }
    }

    fn reason(&self, bundle: &Tracked, state: BundleState) -> Option<String> {
        match (&bundle.state, state) {
            (State::Failing { reason, .. }, _) => Some(reason.clone()),
            (State::Waiting { .. }, _) if self.store != StoreState::Reachable => {
                Some("the store does not answer".to_owned())
            }
            (State::Settling { tried, .. }, _) => tried.map(|_| "being tried again".to_owned()),
            (State::Waiting { .. } | State::Importing { .. }, _) => None,
            _ => bundle.entry.reason.clone(),
        }
    }

    /// Names by the rules of the plan: of several bundles the one that has the name comes first.
    fn image_statuses(&self) -> Vec<ImageStatus> {
        let mut holdings = self.holdings();
        holdings.sort_by(|a, b| (b.arrived, &b.path).cmp(&(a.arrived, &a.path)));
        let mut images: BTreeMap<String, ImageStatus> = BTreeMap::new();
        for holding in &holdings {
            for image in &holding.offer.images {
                for name in &image.names {
                    let name = name.to_string();
                    let status = images
                        .entry(name.clone())
                        .or_insert_with(|| self.image_status(name, image, holding));
                    if !status.bundles.contains(&holding.path) {
                        status.bundles.push(holding.path.clone());
                    }
                }
            }
        }
        let refused = self.bundles.values().flat_map(refused);
        for image in refused {
            images.entry(image.name.clone()).or_insert(image);
        }
        images.into_values().collect()
    }

    fn image_status(
        &self,
        name: String,
        image: &OfferedImage,
        holding: &OwnedHolding,
    ) -> ImageStatus {
        let record = self.records.get(&name);
        let names = self.context.store.rules().names(image);
        let others = names.into_iter().filter(|other| *other != name);
        ImageStatus {
            digest: record.map(|record| record.target.to_string()),
            wanted: Some(image.target.digest.to_string()),
            config: Some(image.config.to_string()),
            platform: Some(image.platform.clone()),
            size: image.size(),
            pinned: record.is_some_and(|record| record.is_pinned),
            also: others
                .filter(|other| self.records.contains_key(other))
                .collect(),
            bundles: Vec::new(),
            since: Some(holding.arrived),
            refused: None,
            left_out: false,
            name,
        }
    }
}

fn state(bundle: &Tracked) -> BundleState {
    match (&bundle.state, bundle.entry.verdict) {
        (State::Settling { .. }, _) => BundleState::Settling,
        (State::Waiting { .. }, _) => BundleState::Waiting,
        (State::Importing { .. }, _) => BundleState::Importing,
        (State::Imported, _) => BundleState::Imported,
        (State::Judged { .. }, Verdict::Incomplete) => BundleState::Incomplete,
        (State::Judged { .. }, _) => BundleState::Refused,
        (State::Failing { .. }, _) => BundleState::Failing,
        (State::Departed { .. }, _) => BundleState::Releasing,
    }
}

/// Images of a bundle that aren't imported, under what the bundle calls them.
fn refused(bundle: &Tracked) -> impl Iterator<Item = ImageStatus> + '_ {
    let (refused, left_out) = (&bundle.entry.refused, &bundle.entry.left_out);
    let refused = refused.iter().map(|image| (image, false));
    let all = refused.chain(left_out.iter().map(|image| (image, true)));
    all.flat_map(move |(image, left_out)| {
        let names = names(image).into_iter();
        names.map(move |name| refused_image(bundle, image, name, left_out))
    })
}

/// What it is asked for by: each of its names, or how messages call it.
fn names(image: &Refused) -> Vec<String> {
    match image.names.as_slice() {
        [] => vec![image.image.clone()],
        names => names.to_vec(),
    }
}

fn refused_image(bundle: &Tracked, image: &Refused, name: String, left_out: bool) -> ImageStatus {
    ImageStatus {
        name,
        digest: None,
        wanted: None,
        config: None,
        platform: None,
        size: 0,
        pinned: false,
        also: Vec::new(),
        bundles: vec![bundle.path().clone()],
        since: None,
        refused: Some(image.reason.clone()),
        left_out,
    }
}
