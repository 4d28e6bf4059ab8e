//! From what the bundles offer and what the store holds to what is to be done, and why.
//!
//! Pure: no I/O, no clock. Nearly all policy is decided, and tested, here.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use airdock_bundle::digest::Digest;
use jiff::Timestamp;

use super::offer::{Offer, OfferedBlob, OfferedImage, Target};
use crate::config::OnConflict;
use crate::store::extent::Extent;
use crate::store::labels;
use crate::store::records::{Owner, RecordRules};
use crate::store::view::{Record, View};

/// A bundle that holds images: on disk now, or gone and still in its grace.
#[derive(Clone, Copy, Debug)]
pub struct Holding<'a> {
    /// Where it stands or stood.
    pub path: &'a Path,
    /// Its source, as a label value.
    pub source: &'a str,
    /// When this content came: of two bundles with one name, the later wins.
    pub arrived: Timestamp,
    /// Whether its blobs can be read: it is on disk and is what it was.
    pub live: bool,
    /// What its source says about names that aren't ours.
    pub on_conflict: OnConflict,
    /// What it gives.
    pub offer: &'a Offer,
}

/// All that is to be done, for all bundles.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// What each bundle has to bring, in the order of the holdings; those with nothing to do
    /// are left out.
    pub bundles: Vec<BundlePlan>,
    /// Names that more than one party wants.
    pub conflicts: Vec<Conflict>,
    /// Names that are ours by their labels and that no holding wants any more.
    pub orphans: Vec<Orphan>,
    /// Images whose blobs are missing and whose bundle can't give them.
    pub lost: Vec<Lost>,
}

impl Plan {
    /// Whether there is nothing to do, and nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.bundles.is_empty() && self.orphans.is_empty() && self.lost.is_empty()
    }

    /// Changes none of the names that were last written for a bundle of which nothing is known: while
    /// one is being imported, these may be its first.
    pub fn spare_unknown(&mut self, holdings: &[Holding<'_>], view: &View) {
        let known: HashSet<&str> = holdings.iter().map(|h| h.offer.short_id()).collect();
        let is_known = |name: &str| {
            let written_for = view
                .records
                .get(name)
                .and_then(|r| r.labels.get(labels::BUNDLE));
            written_for.is_none_or(|bundle| known.contains(bundle.as_str()))
        };
        for bundle in &mut self.bundles {
            bundle.steps.retain(|step| is_known(&step.name));
        }
        self.bundles.retain(|bundle| !bundle.is_empty());
    }
}

/// What one bundle has to bring.
#[derive(Clone, Debug)]
pub struct BundlePlan {
    /// The index of its holding.
    pub holding: usize,
    /// Blobs that the store lacks, children before parents.
    pub write: Vec<OfferedBlob>,
    /// Blobs that are needed and there.
    pub present: Vec<OfferedBlob>,
    /// Documents that are there but don't keep their children alive.
    pub relabel: Vec<OfferedBlob>,
    /// Blobs that are there and from which all other needed ones that are there can be reached.
    pub roots: Vec<Digest>,
    /// Names to write, in order.
    pub steps: Vec<Step>,
}

impl BundlePlan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.write.is_empty() && self.relabel.is_empty() && self.steps.is_empty()
    }

    /// Whether all that changes is which bundle names are known to be held by: another bundle held
    /// them before, and nobody has changed anything.
    pub fn is_takeover(&self) -> bool {
        let only_labels = |step: &Step| {
            step.action == Action::Hold && !step.labels.contains_key(labels::CRI_PINNED)
        };
        self.write.is_empty() && self.relabel.is_empty() && self.steps.iter().all(only_labels)
    }

    /// Bytes that have to be sent.
    pub fn missing(&self) -> u64 {
        self.write.iter().map(|blob| blob.size).sum()
    }

    /// Bytes that are needed and there.
    pub fn spared(&self) -> u64 {
        self.present.iter().map(|blob| blob.size).sum()
    }

    /// The blobs that were there when the plan was made.
    pub fn extent(&self) -> Extent {
        let present = self.present.iter().map(|blob| blob.digest.clone());
        Extent {
            blobs: present.collect(),
            ..Extent::default()
        }
    }

    /// Blobs that were there when the plan was made, and are no longer.
    pub fn gone(&self, view: &View) -> HashSet<Digest> {
        let gone = |blob: &&OfferedBlob| !view.has(&blob.digest, blob.size);
        let gone = self.present.iter().filter(gone);
        gone.map(|blob| blob.digest.clone()).collect()
    }

    /// Plans to write blobs that were thought to be there, each still after its children.
    pub fn write_again(&mut self, gone: &HashSet<Digest>, offer: &Offer) {
        let written: HashSet<Digest> = self.write.iter().map(|b| b.digest.clone()).collect();
        let wanted = |b: &&OfferedBlob| written.contains(&b.digest) || gone.contains(&b.digest);
        self.write = offer.blobs().filter(wanted).cloned().collect();
        self.present.retain(|blob| !gone.contains(&blob.digest));
        self.relabel.retain(|blob| !gone.contains(&blob.digest));
    }
}

/// One change of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The record's name.
    pub name: String,
    /// The index of the image in its offer.
    pub image: usize,
    /// What the name shall point to.
    pub target: Target,
    /// What is done.
    pub action: Action,
    /// Labels that are set; others stay.
    pub labels: BTreeMap<String, String>,
    /// Labels of the record in case that it has gone meanwhile, and is made anew.
    pub fresh: BTreeMap<String, String>,
}

/// What is done to a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It doesn't exist.
    Create,
    /// It points elsewhere.
    Move {
        /// Where to.
        from: Digest,
    },
    /// It is right, but isn't pinned, or isn't known to be held by this bundle.
    Hold,
}

/// A name that more than one party wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// Two bundles give it different images.
    Bundles {
        /// The name.
        name: String,
        /// The holding that has it.
        winner: usize,
        /// The holding that would have it otherwise.
        loser: usize,
    },
    /// It was in the store, pointing elsewhere, before us.
    Foreign {
        /// The name.
        name: String,
        /// The holding that offers another image.
        holding: usize,
        /// What the store has.
        stored: Digest,
        /// What the bundle has.
        offered: Digest,
        /// Whether the store's stays.
        kept: bool,
    },
}

/// A name of ours that nothing holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// The record's name.
    pub name: String,
    /// What it points to.
    pub target: Digest,
    /// The bundle that it was written for.
    pub bundle: String,
    /// The source of that bundle.
    pub source: String,
    /// Whether the record is our doing.
    pub created: bool,
    /// Whether the pin is our doing.
    pub pinned: bool,
}

/// An image that can't be put right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The holding that offered it.
    pub holding: usize,
    /// The index of the image in its offer.
    pub image: usize,
}

/// Computes what is to be done.
pub fn plan(holdings: &[Holding<'_>], view: &View, rules: RecordRules) -> Plan {
    let mut planner = Planner {
        holdings,
        view,
        rules,
        plan: Plan::default(),
    };
    let claims = planner.claims();
    let steps = planner.steps(&claims);
    planner.orphans(&claims);
    for (holding, steps) in steps {
        planner.bundle(holding, steps);
    }
    planner.plan
}

/// That an image of a holding shall have a name.
#[derive(Clone, Copy)]
struct Claim {
    holding: usize,
    image: usize,
}

struct Planner<'a> {
    holdings: &'a [Holding<'a>],
    view: &'a View,
    rules: RecordRules,
    plan: Plan,
}

/// The images that a holding has to provide, each with the changes of its names.
type Needed = BTreeMap<usize, Vec<Step>>;

impl<'a> Planner<'a> {
    /// Who wants which name, the strongest first.
    fn claims(&self) -> BTreeMap<String, Vec<Claim>> {
        let mut claims: BTreeMap<String, Vec<Claim>> = BTreeMap::new();
        for (holding, h) in self.holdings.iter().enumerate() {
            for (image, offered) in h.offer.images.iter().enumerate() {
                for name in self.rules.names(offered) {
                    let claim = Claim { holding, image };
                    claims.entry(name).or_default().push(claim);
                }
            }
        }
        for (name, claims) in &mut claims {
            claims.sort_by_key(|&claim| std::cmp::Reverse(self.strength(name, claim)));
        }
        claims
    }

    /// The last to arrive wins; an id that several manifests share stays where it is.
    fn strength(&self, name: &str, claim: Claim) -> (bool, Option<(Timestamp, &Path)>) {
        let stored = self.view.records.get(name).map(|record| &record.target);
        let stays = self.rules.is_id(name)
            && stored.is_some_and(|t| self.image(claim).is_some_and(|i| i.target.digest == *t));
        let holding = self.holdings.get(claim.holding);
        (stays, holding.map(|h| (h.arrived, h.path)))
    }

    fn image(&self, claim: Claim) -> Option<&'a OfferedImage> {
        self.holdings
            .get(claim.holding)?
            .offer
            .images
            .get(claim.image)
    }

    fn steps(&mut self, claims: &BTreeMap<String, Vec<Claim>>) -> BTreeMap<usize, Needed> {
        let mut needed: BTreeMap<usize, Needed> = BTreeMap::new();
        for (name, claims) in claims {
            let Some((&winner, others)) = claims.split_first() else {
                continue;
            };
            self.note_losers(name, winner, others);
            let Some(step) = self.step(name, winner, claims) else {
                continue;
            };
            let images = needed.entry(winner.holding).or_default();
            images.entry(winner.image).or_default().extend(step);
        }
        needed
    }

    fn note_losers(&mut self, name: &str, winner: Claim, others: &[Claim]) {
        let target = |claim| self.image(claim).map(|image| &image.target.digest);
        if self.rules.is_id(name) {
            return;
        }
        let loser = others
            .iter()
            .find(|&&other| other.holding != winner.holding && target(other) != target(winner));
        if let Some(loser) = loser {
            self.plan.conflicts.push(Conflict::Bundles {
                name: name.to_owned(),
                winner: winner.holding,
                loser: loser.holding,
            });
        }
    }

    /// The change that a name needs: `None` where the name stays somebody else's,
    /// `Some(None)` where it is as it should be.
    fn step(&mut self, name: &str, winner: Claim, claims: &[Claim]) -> Option<Option<Step>> {
        let holding = self.holdings.get(winner.holding)?;
        let target = &self.image(winner)?.target;
        let owner = Owner {
            bundle: holding.offer.short_id(),
            source: holding.source,
        };
        let before = self.view.records.get(name);
        let (action, labels) = match before {
            None => (Action::Create, self.rules.labels(name, &owner, None)),
            Some(record) if record.target == target.digest => {
                let labels = self.missing_labels(name, &owner, record, claims);
                if labels.is_empty() {
                    return Some(None);
                }
                (Action::Hold, labels)
            }
            Some(record) => {
                if !self.may_move(name, winner, record) {
                    return None;
                }
                let from = record.target.clone();
                let labels = self.rules.labels(name, &owner, before);
                (Action::Move { from }, labels)
            }
        };
        Some(Some(Step {
            name: name.to_owned(),
            image: winner.image,
            target: target.clone(),
            action,
            labels,
            fresh: self.rules.labels(name, &owner, None),
        }))
    }

    /// What a record with the right target lacks to be pinned and known as held.
    fn missing_labels(
        &self,
        name: &str,
        owner: &Owner<'_>,
        record: &Record,
        claims: &[Claim],
    ) -> BTreeMap<String, String> {
        let mut missing = self.rules.pin(name, Some(record));
        let holds_it = |claim: &&Claim| {
            let same = self
                .image(**claim)
                .is_some_and(|i| i.target.digest == record.target);
            let holding = self.holdings.get(claim.holding);
            let label = record.labels.get(labels::BUNDLE);
            same && holding.is_some_and(|h| label.is_some_and(|l| l == h.offer.short_id()))
        };
        // What somebody loaded by hand stays theirs: it outlives every bundle.
        let source = record.labels.get(labels::SOURCE);
        let by_hand = source.is_some_and(|source| source == labels::BY_HAND);
        let known = by_hand || (source.is_some() && claims.iter().any(|claim| holds_it(&claim)));
        if !known {
            missing.insert(labels::BUNDLE.to_owned(), owner.bundle.to_owned());
            missing.insert(labels::SOURCE.to_owned(), owner.source.to_owned());
        }
        missing
    }

    fn may_move(&mut self, name: &str, winner: Claim, record: &Record) -> bool {
        if record.has(labels::BUNDLE) || self.rules.is_id(name) {
            return true;
        }
        let Some(holding) = self.holdings.get(winner.holding) else {
            return false;
        };
        let kept = holding.on_conflict == OnConflict::Keep;
        if let Some(image) = self.image(winner) {
            self.plan.conflicts.push(Conflict::Foreign {
                name: name.to_owned(),
                holding: winner.holding,
                stored: record.target.clone(),
                offered: image.target.digest.clone(),
                kept,
            });
        }
        !kept
    }

    fn orphans(&mut self, claims: &BTreeMap<String, Vec<Claim>>) {
        for (name, record) in &self.view.records {
            let (Some(bundle), Some(source)) = (
                record.labels.get(labels::BUNDLE),
                record.labels.get(labels::SOURCE),
            ) else {
                continue;
            };
            if claims.contains_key(name) || source == labels::BY_HAND {
                continue;
            }
            self.plan.orphans.push(Orphan {
                name: name.clone(),
                target: record.target.clone(),
                bundle: bundle.clone(),
                source: source.clone(),
                created: record.is_marked(labels::CREATED, name),
                pinned: record.is_marked(labels::PINNED, name),
            });
        }
    }

    fn bundle(&mut self, holding: usize, needed: Needed) {
        let Some(h) = self.holdings.get(holding) else {
            return;
        };
        let mut bundle = BundlePlan {
            holding,
            write: Vec::new(),
            present: Vec::new(),
            relabel: Vec::new(),
            roots: Vec::new(),
            steps: Vec::new(),
        };
        let mut seen = HashSet::new();
        for (index, image) in h.offer.images.iter().enumerate() {
            let Some(steps) = needed.get(&index) else {
                continue;
            };
            if !h.live && !self.complete(image) {
                let image = index;
                self.plan.lost.push(Lost { holding, image });
                continue;
            }
            self.blobs(image, &mut seen, &mut bundle);
            bundle.steps.extend(in_order(steps, self.rules, image));
        }
        if bundle.is_empty() {
            return;
        }
        bundle.roots = self.roots(&h.offer.images, &needed);
        self.plan.bundles.push(bundle);
    }

    fn complete(&self, image: &OfferedImage) -> bool {
        let there = |blob: &OfferedBlob| self.view.has(&blob.digest, blob.size);
        image.blobs.iter().all(there)
    }

    fn blobs(
        &self,
        image: &'a OfferedImage,
        seen: &mut HashSet<&'a Digest>,
        bundle: &mut BundlePlan,
    ) {
        for blob in &image.blobs {
            if !seen.insert(&blob.digest) {
                continue;
            }
            if !self.view.has(&blob.digest, blob.size) {
                bundle.write.push(blob.clone());
                continue;
            }
            bundle.present.push(blob.clone());
            if !self.keeps_children(blob) {
                bundle.relabel.push(blob.clone());
            }
        }
    }

    /// A layout collects no garbage by itself.
    fn keeps_children(&self, blob: &OfferedBlob) -> bool {
        if self.rules == RecordRules::Layout {
            return true;
        }
        let Some(stored) = self.view.content.get(&blob.digest) else {
            return false;
        };
        blob.refs
            .iter()
            .all(|(_, child)| stored.refs.contains(child))
    }

    /// A few blobs whose protection protects all that is needed and there: protecting each would
    /// cost one transaction a blob.
    fn roots(&self, images: &'a [OfferedImage], needed: &Needed) -> Vec<Digest> {
        let wanted: BTreeSet<&Digest> = needed
            .keys()
            .filter_map(|&image| images.get(image))
            .flat_map(|image| &image.blobs)
            .filter(|blob| self.view.has(&blob.digest, blob.size))
            .map(|blob| &blob.digest)
            .collect();
        let mut reached = HashSet::new();
        let mut roots = Vec::new();
        if wanted.is_empty() {
            return roots;
        }
        for parent in self.parents_of(&wanted) {
            self.view.reach(parent, &mut reached);
            roots.push(parent.clone());
        }
        for digest in wanted {
            if !reached.contains(digest) {
                roots.push(digest.clone());
            }
        }
        roots
    }

    /// Stored documents that keep wanted blobs alive, least first where one is enough.
    fn parents_of(&self, wanted: &BTreeSet<&Digest>) -> Vec<&'a Digest> {
        let covers = |refs: &[Digest]| refs.iter().filter(|r| wanted.contains(r)).count();
        let mut candidates: Vec<(usize, &Digest, &[Digest])> = self
            .view
            .content
            .iter()
            .map(|(digest, stored)| (covers(&stored.refs), digest, stored.refs.as_slice()))
            .filter(|(count, _, _)| *count > 0)
            .collect();
        candidates.sort_by_key(|(count, digest, _)| (std::cmp::Reverse(*count), *digest));
        let mut covered: HashSet<&Digest> = HashSet::new();
        let mut parents = Vec::new();
        for (_, digest, refs) in candidates {
            let news = refs.iter().filter(|r| wanted.contains(r));
            let before = covered.len();
            covered.extend(news);
            if covered.len() > before {
                parents.push(digest);
            }
        }
        parents
    }
}

/// An image's names in the order of its rules, whatever order they were found in.
fn in_order(steps: &[Step], rules: RecordRules, image: &OfferedImage) -> Vec<Step> {
    let names = rules.names(image);
    let position = |step: &Step| names.iter().position(|name| *name == step.name);
    let mut ordered = steps.to_vec();
    ordered.sort_by_key(position);
    ordered
}

#[cfg(test)]
mod tests;
