//! How much of a store is to be looked at.

use std::collections::BTreeSet;

use airdock_bundle::digest::Digest;

use super::records::RecordRules;
use crate::agent::offer::Offer;

/// Names and blobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// As a store has them.
    pub names: BTreeSet<String>,
    /// Their digests.
    pub blobs: BTreeSet<Digest>,
}

impl Extent {
    /// All that a bundle gives.
    pub fn of(offer: &Offer, rules: RecordRules) -> Self {
        let names = offer.images.iter().flat_map(|image| rules.names(image));
        let blobs = offer.blobs().map(|blob| blob.digest.clone());
        Self {
            names: names.collect(),
            blobs: blobs.collect(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len() + self.blobs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
