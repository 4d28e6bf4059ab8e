//! What `diff` prints.

use std::collections::BTreeMap;

use airdock_bundle::digest::Digest;
use serde::Serialize;

use super::human::{Bytes, count};
use crate::compare::Difference;

/// A difference, as JSON.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Names that only the second side has, and what they stand for.
    pub added: BTreeMap<String, String>,
    /// Names that only the first side has, and what they stand for.
    pub removed: BTreeMap<String, String>,
    /// Names that stand for something else on the second side.
    pub moved: BTreeMap<String, MoveReport>,
    /// Blobs that only the second side has.
    pub new: BlobsReport,
    /// Blobs that only the first side has.
    pub gone: BlobsReport,
}

/// From what to what, as JSON.
#[derive(Debug, Serialize)]
pub struct MoveReport {
    /// On the first side.
    pub from: String,
    /// On the second side.
    pub to: String,
}

/// Blobs, as JSON.
#[derive(Debug, Serialize)]
pub struct BlobsReport {
    /// Their digests.
    pub digests: Vec<String>,
    /// Their bytes.
    pub size: u64,
}

impl Report {
    /// Of a difference.
    pub fn of(difference: &Difference) -> Self {
        let moved = difference.moved.iter().map(|(name, (from, to))| {
            let (from, to) = (from.to_string(), to.to_string());
            (name.clone(), MoveReport { from, to })
        });
        Self {
            added: names(&difference.added),
            removed: names(&difference.removed),
            moved: moved.collect(),
            new: BlobsReport::of(&difference.new),
            gone: BlobsReport::of(&difference.gone),
        }
    }

    /// Prints it for people; nothing where there is no difference.
    pub fn print(&self) {
        for (name, digest) in &self.removed {
            super::line(&format!("- {name} {digest}"));
        }
        for (name, digest) in &self.added {
            super::line(&format!("+ {name} {digest}"));
        }
        for (name, MoveReport { from, to }) in &self.moved {
            super::line(&format!("~ {name} {from} -> {to}"));
        }
        for (blobs, word) in [(&self.new, "new"), (&self.gone, "gone")] {
            if !blobs.digests.is_empty() {
                let number = count(blobs.digests.len(), "blob");
                super::line(&format!("{number} with {} {word}", Bytes(blobs.size)));
            }
        }
    }
}

impl BlobsReport {
    fn of(blobs: &BTreeMap<Digest, u64>) -> Self {
        Self {
            digests: blobs.keys().map(ToString::to_string).collect(),
            size: blobs.values().sum(),
        }
    }
}

fn names(images: &BTreeMap<String, Digest>) -> BTreeMap<String, String> {
    let text = |(name, digest): (&String, &Digest)| (name.clone(), digest.to_string());
    images.iter().map(text).collect()
}
