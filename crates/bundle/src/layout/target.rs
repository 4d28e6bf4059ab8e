//! The entries of `index.json`, brought together by what they describe.

use std::collections::BTreeMap;

use crate::digest::Digest;
use crate::document::{Descriptor, DocumentError, TopEntry};
use crate::graph;
use crate::layout::{IMAGE_NAME, REF_NAME};
use crate::naming::{self, Names};

/// All entries of `index.json` that describe one digest.
pub(super) struct Target {
    /// Positions of the entries.
    pub(super) listed: Vec<usize>,
    pub(super) descriptor: Result<Descriptor, DocumentError>,
    /// Whether the entries agree on its size and media type.
    pub(super) agreed: bool,
    pub(super) names: Names,
    /// For what turns out to be no image.
    pub(super) given: Option<String>,
    pub(super) attestation: bool,
}

/// Entries that describe the same digest are one target, at its first place.
pub(super) fn by_digest(entries: Vec<TopEntry>) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    let mut places: BTreeMap<Digest, usize> = BTreeMap::new();
    for (position, entry) in entries.into_iter().enumerate() {
        let target = Target::of(position, entry);
        let digest = target.descriptor.as_ref().ok().map(|it| it.digest.clone());
        let place = digest.map(|digest| *places.entry(digest).or_insert(targets.len()));
        match place.and_then(|place| targets.get_mut(place)) {
            Some(known) => known.merge(target),
            None => targets.push(target),
        }
    }
    targets
}

impl Target {
    fn of(position: usize, entry: TopEntry) -> Self {
        let annotation = |key| entry.annotations.get(key).filter(|name| !name.is_empty());
        let ref_name = annotation(REF_NAME);
        let full = ref_name.filter(|name| naming::is_full_reference(name));
        let name = annotation(IMAGE_NAME).or(full);
        let descriptor = entry.descriptor.as_ref().ok();
        Self {
            listed: vec![position],
            agreed: true,
            names: Names::sort_out(
                name.map(String::as_str),
                descriptor.map(|descriptor| &descriptor.digest),
            ),
            given: name.or(ref_name).cloned(),
            attestation: descriptor
                .is_some_and(|descriptor| graph::is_attestation(descriptor, &entry.annotations)),
            descriptor: entry.descriptor,
        }
    }

    fn merge(&mut self, other: Self) {
        if let (Ok(known), Ok(other)) = (&self.descriptor, &other.descriptor) {
            self.agreed &= known.bare() == other.bare();
        }
        self.listed.extend(other.listed);
        self.names.merge(other.names);
        self.given = self.given.take().or(other.given);
        self.attestation &= other.attestation;
    }
}
