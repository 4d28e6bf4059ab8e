//! What a store must look like when all has come to rest, and the first thing that doesn't.

use std::collections::{BTreeMap, BTreeSet};

use crate::image::digests;
use crate::meaning::Meaning;
use crate::store::{Record, Records, Store};

const OURS: &str = "io.airdock.";
const PIN: &str = "io.cri-containerd.pinned";

/// What becomes of images whose bundle went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    Unpin,
    Delete,
    Keep,
}

impl Policy {
    pub(crate) const ALL: [Self; 3] = [Self::Unpin, Self::Delete, Self::Keep];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Unpin => "unpin",
            Self::Delete => "delete",
            Self::Keep => "keep",
        }
    }
}

/// What others did to the store.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    /// Records that must stay exactly as they are.
    pub(crate) records: Records,
    /// Names that others gave to images of ours: they stay, and so does what they point to.
    pub(crate) tags: BTreeMap<String, String>,
    /// Labels that others set on records of ours.
    pub(crate) labels: BTreeMap<String, (String, String)>,
    /// Names that others had pinned before us.
    pub(crate) pinned: BTreeSet<String>,
    /// Names that others brought or moved: `delete` may leave them.
    pub(crate) touched: BTreeSet<String>,
}

/// All that decides how the store must look.
#[derive(Debug)]
pub(crate) struct Expectation<'a> {
    pub(crate) meaning: &'a Meaning,
    pub(crate) foreign: &'a Foreign,
    pub(crate) policy: Policy,
}

impl Expectation<'_> {
    /// The first difference, in words.
    pub(crate) fn difference(&self, store: &Store<'_>, records: &Records) -> Option<String> {
        let held = self.held(store);
        let wrong = held
            .iter()
            .find_map(|(name, targets)| wrong(name, targets, records.get(name), store.pins()));
        let others = records.iter().filter(|(name, _)| !held.contains_key(*name));
        wrong
            .or_else(|| {
                others
                    .into_iter()
                    .find_map(|(n, r)| self.stays(n, r, store))
            })
            .or_else(|| self.foreign_difference(store, records))
    }

    /// Every name that a bundle holds, and what it may point to.
    fn held(&self, store: &Store<'_>) -> BTreeMap<String, BTreeSet<String>> {
        let mut held: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for claim in self.meaning.claims() {
            for (name, target) in store.names(claim.name, &digests(claim.seed)) {
                held.insert(name, BTreeSet::from([target]));
            }
        }
        for (name, seeds) in self.meaning.names() {
            let targets = seeds.into_iter().map(|s| digests(s).manifest).collect();
            held.insert(name.to_owned(), targets);
        }
        held
    }

    /// What is wrong with a record that no bundle holds.
    fn stays(&self, name: &str, record: &Record, store: &Store<'_>) -> Option<String> {
        let foreign = self.foreign;
        if foreign.records.contains_key(name) || foreign.tags.contains_key(name) {
            return None;
        }
        if record.labels.keys().any(|key| key.starts_with(OURS)) {
            return Some(format!("{name} is still held: {record:?}"));
        }
        if self.takes_names(store) && !foreign.touched.contains(name) {
            return Some(format!("{name} is still there: {record:?}"));
        }
        let pinned = record.labels.contains_key(PIN) && !foreign.pinned.contains(name);
        (pinned && self.policy != Policy::Keep)
            .then(|| format!("{name} is still pinned: {record:?}"))
    }

    /// Whether a name that we made goes when nothing holds it any more, and others' labels with it.
    fn takes_names(&self, store: &Store<'_>) -> bool {
        self.policy == Policy::Delete || (self.policy == Policy::Unpin && !store.pins())
    }

    fn foreign_difference(&self, store: &Store<'_>, records: &Records) -> Option<String> {
        let foreign = self.foreign;
        let changed = foreign
            .records
            .iter()
            .find(|(n, r)| records.get(*n) != Some(*r));
        let moved = foreign
            .tags
            .iter()
            .find(|(name, target)| records.get(*name).is_none_or(|r| r.target != **target));
        let relabelled =
            foreign
                .labels
                .iter()
                .find(|(name, (key, value))| match records.get(*name) {
                    Some(record) => record.labels.get(key) != Some(value),
                    // One that is held is missed anyway.
                    None => !self.takes_names(store),
                });
        let lost = foreign
            .touched
            .iter()
            .find(|name| !records.contains_key(*name));
        let unpinned = foreign.pinned.iter().find(|name| {
            records
                .get(*name)
                .is_none_or(|r| !r.labels.contains_key(PIN))
        });
        let changed = changed.map(|(n, r)| format!("{n} was {r:?} and is {:?}", records.get(n)));
        let moved = moved.map(|(n, t)| format!("{n} was {t} and is {:?}", records.get(n)));
        let relabelled =
            relabelled.map(|(n, label)| format!("{n} had {label:?} and is {:?}", records.get(n)));
        let unpinned = unpinned.map(|n| format!("{n} was pinned and is {:?}", records.get(n)));
        let lost = lost.map(|name| format!("{name} was somebody's and is gone"));
        changed.or(moved).or(lost).or(relabelled).or(unpinned)
    }
}

/// What is wrong with a record that a bundle holds.
fn wrong(
    name: &str,
    targets: &BTreeSet<String>,
    record: Option<&Record>,
    pins: bool,
) -> Option<String> {
    let Some(record) = record else {
        return Some(format!("{name} isn't there: {targets:?}"));
    };
    if !targets.contains(&record.target) {
        return Some(format!("{name} is {record:?} instead of {targets:?}"));
    }
    if pins && record.labels.get(PIN).is_none_or(|pin| pin != "pinned") {
        return Some(format!("{name} isn't pinned: {record:?}"));
    }
    let lacks = |label: &&str| !record.labels.contains_key(&format!("{OURS}{label}"));
    let lacking = ["bundle", "source"].iter().find(|label| lacks(label));
    lacking.map(|label| format!("{name} lacks {label}: {record:?}"))
}

/// Every name's blobs are there, and are what their digests say.
pub(crate) fn every_name_is_whole(store: &Store<'_>, records: &Records) -> Result<(), String> {
    let known = store.blobs().map_err(|e| format!("{e:?}"))?;
    let mut sound = BTreeSet::new();
    for (name, record) in records {
        let mut pending = vec![record.target.clone()];
        while let Some(digest) = pending.pop() {
            if !sound.insert(digest.clone()) {
                continue;
            }
            if !known.contains(&digest) {
                return Err(format!("{name}: {digest} isn't there"));
            }
            let blob = store
                .blob(&digest)
                .map_err(|e| format!("{name}: {digest}: {e}"))?;
            if airdock_testkit::fixture::sha256(&blob) != digest {
                return Err(format!("{name}: {digest} has other content"));
            }
            pending.extend(children(&blob));
        }
    }
    Ok(())
}

fn children(blob: &[u8]) -> Vec<String> {
    let Ok(document) = serde_json::from_slice::<serde_json::Value>(blob) else {
        return Vec::new();
    };
    let layers = document["layers"].as_array().into_iter().flatten();
    let descriptors = layers.chain(document.get("config"));
    let digests = descriptors.filter_map(|d| d["digest"].as_str());
    digests.map(str::to_owned).collect()
}
