//! What differs between two sets of images: bundles, directories of bundles, a store.

use std::collections::{BTreeMap, BTreeSet};

use airdock_bundle::Bundle;
use airdock_bundle::digest::Digest;
use airdock_bundle::image::{Blob, Place};
use airdock_bundle::name::Name;
use airdock_bundle::write::Listed;

use crate::pack::base::Base;
use crate::store::view::View;

/// What is on one side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Side {
    /// Names, and what they stand for. What has none is here under its digest.
    pub images: BTreeMap<String, Digest>,
    /// Blobs that are there, and their sizes.
    pub blobs: BTreeMap<Digest, u64>,
}

/// What the second side has more, less, or otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Names that only the second has.
    pub added: BTreeMap<String, Digest>,
    /// Names that only the first has.
    pub removed: BTreeMap<String, Digest>,
    /// Names that both have, from what to what.
    pub moved: BTreeMap<String, (Digest, Digest)>,
    /// Blobs that only the second has, and their sizes.
    pub new: BTreeMap<Digest, u64>,
    /// Blobs that only the first has, and their sizes.
    pub gone: BTreeMap<Digest, u64>,
}

impl Side {
    /// Adds a bundle: of two that give one name the last counts.
    pub fn add(&mut self, bundle: &Bundle, listed: &[Listed]) {
        for Listed { descriptor, names } in listed {
            let digest = descriptor.digest.clone();
            if names.is_empty() {
                self.images.insert(digest.to_string(), digest.clone());
            }
            let names = names.iter().map(ToString::to_string);
            self.images.extend(names.map(|name| (name, digest.clone())));
        }
        self.blobs.extend(blobs(bundle));
    }

    /// What a store has. A record by digest beside a tag, and CRI's ids, are no images of their own.
    pub fn of_store(view: &View) -> Self {
        let named = view.records.iter().filter_map(|(name, record)| {
            let parsed = Name::parse(name).ok()?;
            Some((parsed, record.target.clone()))
        });
        let named: Vec<(Name, Digest)> = named.collect();
        let tagged: BTreeSet<(String, &Digest)> = named
            .iter()
            .filter(|(name, _)| name.tag().is_some())
            .map(|(name, target)| (name.repository(), target))
            .collect();
        let is_own = |name: &Name, target: &Digest| {
            name.tag().is_some() || !tagged.contains(&(name.repository(), target))
        };
        let own = named.iter().filter(|(name, target)| is_own(name, target));
        let content = view.content.iter();
        Self {
            images: own
                .map(|(name, target)| (name.to_string(), target.clone()))
                .collect(),
            blobs: content
                .map(|(digest, it)| (digest.clone(), it.size))
                .collect(),
        }
    }

    /// What `other` has more, less, or otherwise.
    pub fn difference(&self, other: &Self) -> Difference {
        let moved = |(name, from): (&String, &Digest)| {
            let to = other.images.get(name).filter(|to| *to != from)?;
            Some((name.clone(), (from.clone(), to.clone())))
        };
        Difference {
            added: only(&other.images, &self.images),
            removed: only(&self.images, &other.images),
            moved: self.images.iter().filter_map(moved).collect(),
            new: only(&other.blobs, &self.blobs),
            gone: only(&self.blobs, &other.blobs),
        }
    }
}

impl Difference {
    /// Whether both sides hold the same images and blobs.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// What `these` have under keys that `those` don't.
fn only<K: Ord + Clone, V: Clone>(
    these: &BTreeMap<K, V>,
    those: &BTreeMap<K, V>,
) -> BTreeMap<K, V> {
    let only = these.iter().filter(|(key, _)| !those.contains_key(*key));
    only.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Everything that the bundle holds: of a layout each blob, of any what its images need.
fn blobs(bundle: &Bundle) -> BTreeMap<Digest, u64> {
    let outcomes = bundle.images().iter().map(|image| &image.outcome);
    let contents = outcomes.filter_map(|outcome| outcome.as_ref().ok());
    let needed = contents
        .flat_map(|content| &content.blobs)
        .filter(|blob: &&Blob| blob.place != Place::Elsewhere)
        .map(|blob| (blob.descriptor.digest.clone(), blob.descriptor.size));
    Base::stored(bundle).chain(needed).collect()
}

#[cfg(test)]
mod tests {
    use airdock_bundle::digest::Algorithm;

    use super::*;

    fn digest(text: &str) -> Digest {
        Digest::of(Algorithm::Sha256, text.as_bytes())
    }

    fn side(images: &[(&str, &str)], blobs: &[(&str, u64)]) -> Side {
        Side {
            images: images
                .iter()
                .map(|(name, image)| ((*name).to_owned(), digest(image)))
                .collect(),
            blobs: blobs
                .iter()
                .map(|(blob, size)| (digest(blob), *size))
                .collect(),
        }
    }

    #[test]
    fn names_are_added_removed_and_moved() {
        let first = side(&[("a", "1"), ("b", "1"), ("c", "1")], &[("x", 1), ("y", 2)]);
        let second = side(&[("b", "1"), ("c", "2"), ("d", "1")], &[("y", 2), ("z", 3)]);
        let difference = first.difference(&second);
        assert_eq!(difference.added, side(&[("d", "1")], &[]).images);
        assert_eq!(difference.removed, side(&[("a", "1")], &[]).images);
        let moved = BTreeMap::from([("c".to_owned(), (digest("1"), digest("2")))]);
        assert_eq!(difference.moved, moved);
        assert_eq!(difference.new, side(&[], &[("z", 3)]).blobs);
        assert_eq!(difference.gone, side(&[], &[("x", 1)]).blobs);
        assert!(first.difference(&first).is_none() && !difference.is_none());
    }
}
