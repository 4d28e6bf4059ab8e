//! What a store holds, as one value: the plan is computed against it.

use std::collections::{BTreeMap, HashMap, HashSet};

use airdock_bundle::digest::Digest;

use super::labels;

/// A store's names and blobs at one moment.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Every name and what it points to.
    pub records: BTreeMap<String, Record>,
    /// Every blob.
    pub content: HashMap<Digest, Stored>,
}

/// What all names and blobs of a store were at one moment, in two numbers that mean something to the
/// process alone that made them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision(pub [u64; 2]);

/// What a look at a store showed.
#[derive(Debug)]
pub enum Seen {
    /// What was known already.
    Same,
    /// Something else, or nothing was known.
    Other {
        /// All of it.
        view: View,
        /// By which it is known the next time; not every store can tell.
        revision: Option<Revision>,
    },
}

/// A name in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The index or manifest that the name stands for.
    pub target: Digest,
    /// Labels (containerd) or annotations (layout).
    pub labels: BTreeMap<String, String>,
}

impl Record {
    /// Whether the label is there, whatever its value.
    pub fn has(&self, label: &str) -> bool {
        self.labels.contains_key(label)
    }

    /// Whether the label is there and was set on the record of this name, not on another that
    /// this one is a copy of.
    pub fn is_marked(&self, label: &str, name: &str) -> bool {
        let value = self.labels.get(label);
        value.is_some_and(|value| *value == labels::mark(name))
    }
}

/// What is told of a name: of thousands, all labels would be most of an idle agent's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The index or manifest that the name stands for.
    pub target: Digest,
    /// Whether it is pinned, by whomever.
    pub is_pinned: bool,
}

impl From<Record> for Told {
    fn from(record: Record) -> Self {
        let pin = record.labels.get(labels::CRI_PINNED);
        Self {
            is_pinned: pin.is_some_and(|pin| pin == labels::CRI_PINNED_VALUE),
            target: record.target,
        }
    }
}

/// A blob in the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Bytes.
    pub size: u64,
    /// The blobs that garbage collection keeps because of this one.
    pub refs: Vec<Digest>,
}

impl View {
    /// Whether the blob is there, whole.
    pub fn has(&self, digest: &Digest, size: u64) -> bool {
        self.content.get(digest).is_some_and(|s| s.size == size)
    }

    /// Adds the blob and everything that its references keep alive to `reached`.
    pub fn reach(&self, root: &Digest, reached: &mut HashSet<Digest>) {
        let mut pending = vec![root.clone()];
        while let Some(digest) = pending.pop() {
            let Some(stored) = self.content.get(&digest) else {
                continue;
            };
            if reached.insert(digest) {
                pending.extend(stored.refs.iter().cloned());
            }
        }
    }
}
