//! Which names a store gets for an image, and what is written on them.

use std::collections::{BTreeMap, BTreeSet};

use crate::agent::offer::OfferedImage;
use crate::store::labels;
use crate::store::view::Record;

/// A store's rules for names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordRules {
    /// What a CRI pull leaves behind: the tag, `repository@digest` and the config digest that
    /// CRI calls the image's id, so that pods by tag and by digest find it without pulling.
    Containerd,
    /// The tag alone: in a layout an image is found by its digest anyway.
    Layout,
}

impl RecordRules {
    /// The names that the store gets for an image, in the order in which they are written:
    /// tags last, so that a tag that exists says that all is there.
    pub fn names(self, image: &OfferedImage) -> Vec<String> {
        let tags = image.names.iter().map(ToString::to_string);
        match self {
            Self::Layout => tags.collect(),
            Self::Containerd => {
                let by_digest: BTreeSet<String> = image
                    .names
                    .iter()
                    .map(|name| name.with_digest(&image.target.digest))
                    .collect();
                let mut names: Vec<String> = by_digest.into_iter().collect();
                names.push(image.config.to_string());
                names.extend(tags);
                deduplicated(names)
            }
        }
    }

    /// Whether the name stands for CRI's image id, which several manifests may share.
    pub fn is_id(self, name: &str) -> bool {
        self == Self::Containerd && name.starts_with("sha256:")
    }

    /// The labels of a record that is made, or moved, for a bundle.
    pub fn labels(
        self,
        name: &str,
        owner: &Owner<'_>,
        before: Option<&Record>,
    ) -> BTreeMap<String, String> {
        let mut set = BTreeMap::from([
            (labels::BUNDLE.to_owned(), owner.bundle.to_owned()),
            (labels::SOURCE.to_owned(), owner.source.to_owned()),
        ]);
        if before.is_none_or(|record| record.is_marked(labels::CREATED, name)) {
            set.insert(labels::CREATED.to_owned(), labels::mark(name));
        }
        if self == Self::Containerd {
            let managed = labels::CRI_MANAGED_VALUE.to_owned();
            set.insert(labels::CRI_MANAGED.to_owned(), managed);
            set.extend(self.pin(name, before));
        }
        set
    }

    /// The labels that are missing for the record to be pinned; empty where it is.
    ///
    /// A pin that somebody else set stays theirs.
    pub fn pin(self, name: &str, before: Option<&Record>) -> BTreeMap<String, String> {
        let pinned = |r: &Record| {
            r.labels
                .get(labels::CRI_PINNED)
                .is_some_and(|v| v == labels::CRI_PINNED_VALUE)
        };
        if self == Self::Layout || before.is_some_and(pinned) {
            return BTreeMap::new();
        }
        let pin = labels::CRI_PINNED_VALUE.to_owned();
        BTreeMap::from([
            (labels::CRI_PINNED.to_owned(), pin),
            (labels::PINNED.to_owned(), labels::mark(name)),
        ])
    }
}

/// For whom a record is written.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    /// The bundle's short id.
    pub bundle: &'a str,
    /// The source's label value.
    pub source: &'a str,
}

fn deduplicated(names: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names
        .into_iter()
        .filter(|name| seen.insert(name.clone()))
        .collect()
}
