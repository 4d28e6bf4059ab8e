//! What a delta leaves to other bundles, as its `index.json` says.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use crate::archive::Archive;
use crate::bundle::Bundle;
use crate::digest::Digest;
use crate::document::Descriptor;
use crate::image::{Blob, Place};
use crate::json;
use crate::layout::{BASE, MISSING};
use crate::limits;

/// Layers that a bundle lists and leaves to others, and which these are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Ids of the bundles, or names of the parts, that have them: to be shown escaped only.
    pub bases: Vec<String>,
    /// Their digests. Some may be in the bundle all the same.
    pub layers: BTreeSet<Digest>,
}

#[derive(Deserialize)]
struct Annotated {
    annotations: Option<Value>,
}

impl LeftOut {
    /// What the index document says. Annotations are free text: what is no digest is none.
    pub(crate) fn of(index: &[u8]) -> Self {
        let parsed = json::parse::<Annotated>(index, limits::MANIFEST).ok();
        let annotations = parsed.and_then(|it| it.annotations).unwrap_or_default();
        let words = |key| annotations.get(key).and_then(Value::as_str);
        let words = |key| words(key).unwrap_or_default().split_ascii_whitespace();
        Self {
            bases: words(BASE).map(str::to_owned).collect(),
            layers: words(MISSING).filter_map(|it| it.parse().ok()).collect(),
        }
    }

    /// Whether the layer is left to others.
    pub(crate) fn has(&self, digest: &Digest) -> bool {
        self.layers.contains(digest)
    }
}

impl Bundle {
    /// What it leaves to other bundles; nothing unless it is a delta.
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// The layers of its importable images that it has not, each once, and their sizes.
    pub fn lacks(&self) -> BTreeMap<Digest, Descriptor> {
        let outcomes = self.images.iter().map(|image| &image.outcome);
        let contents = outcomes.filter_map(|outcome| outcome.as_ref().ok());
        let blobs = contents.flat_map(|content| &content.blobs);
        let elsewhere = blobs.filter(|blob: &&Blob| blob.place == Place::Elsewhere);
        elsewhere
            .map(|blob| (blob.descriptor.digest.clone(), blob.descriptor.clone()))
            .collect()
    }
}

/// What the layout in `archive` leaves out.
pub(crate) fn read(archive: &Archive, index: crate::archive::EntryId) -> LeftOut {
    let bytes = archive.read(index, limits::MANIFEST);
    bytes.map_or_else(|_| LeftOut::default(), |bytes| LeftOut::of(&bytes))
}
