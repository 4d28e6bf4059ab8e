//! What a delta leaves to other bundles, as its `index.json` says.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::archive::Archive;
use crate::bundle::Bundle;
use crate::digest::Digest;
use crate::document::Descriptor;
use crate::image::{Blob, Place};
use crate::json;
use crate::limits;

/// Layers that a bundle lists and leaves to others, and which these are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Ids of the bundles, or names of the parts, that have them: to be shown escaped only.
    pub bases: Vec<String>,
    /// Their digests. Some may be in the bundle all the same.
    pub layers: BTreeSet<Digest>,
}

/// All else is passed over: what is large there takes no memory.
#[derive(Deserialize)]
struct Annotated {
    annotations: Option<Annotations>,
}

#[derive(Default, Deserialize)]
struct Annotations {
    #[serde(rename = "io.airdock.base")]
    base: Option<String>,
    #[serde(rename = "io.airdock.missing")]
    missing: Option<String>,
}

impl LeftOut {
    /// What the index document says. Annotations are free text: what is no digest is none.
    pub(crate) fn of(index: &[u8]) -> Self {
        let parsed = json::parse::<Annotated>(index, limits::MANIFEST).ok();
        let annotations = parsed.and_then(|it| it.annotations).unwrap_or_default();
        let (base, missing) = (annotations.base, annotations.missing);
        let (base, missing) = (base.unwrap_or_default(), missing.unwrap_or_default());
        let bases = base.split_ascii_whitespace().take(limits::BASES);
        let layers = missing.split_ascii_whitespace();
        Self {
            bases: bases.map(str::to_owned).collect(),
            layers: layers.filter_map(|it| it.parse().ok()).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Algorithm;
    use crate::layout::{BASE, MISSING};

    fn of(annotations: &str) -> LeftOut {
        let index = format!(r#"{{"schemaVersion":2,"manifests":[],"annotations":{annotations}}}"#);
        LeftOut::of(index.as_bytes())
    }

    #[test]
    fn bases_and_digests_stand_with_spaces_between() {
        let digest = Digest::of(Algorithm::Sha256, b"layer");
        let left_out = of(&format!(
            r#"{{"{BASE}":"a b","{MISSING}":"{digest} x {digest}"}}"#
        ));
        assert_eq!(left_out.bases, ["a", "b"]);
        assert_eq!(left_out.layers, BTreeSet::from([digest]));
    }

    #[test]
    fn what_is_no_annotation_of_ours_is_nothing() {
        let many = "b ".repeat(limits::BASES * 2);
        assert_eq!(
            of(&format!(r#"{{"{BASE}":"{many}"}}"#)).bases.len(),
            limits::BASES
        );
        for annotations in ["null", "{}", "[1,2]", "7", r#"{"io.airdock.base":[1]}"#] {
            assert_eq!(of(annotations), LeftOut::default(), "{annotations}");
        }
    }
}
