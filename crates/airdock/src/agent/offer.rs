//! What a bundle gives, without its bytes: small enough to be remembered, and all that a plan
//! needs to know.

use airdock_bundle::digest::Digest;
use airdock_bundle::document::Descriptor;
use airdock_bundle::image::{Blob, Image, RefKind, Role};
use airdock_bundle::name::Name;
use airdock_bundle::open::Bundle;
use serde::{Deserialize, Serialize};

use crate::config::NameFilter;

/// The images of a bundle that can be imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The bundle's id: its content, so that copies and renames are the same bundle.
    pub id: Digest,
    /// Images with at least one name, complete for the wanted platform.
    pub images: Vec<OfferedImage>,
}

/// One image of an offer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedImage {
    /// The names that it shall have.
    pub names: Vec<Name>,
    /// The index or manifest that the names stand for.
    pub target: Target,
    /// The config's digest, which CRI calls the image's id.
    pub config: Digest,
    /// The platform that was chosen, as `os/architecture[/variant]`.
    pub platform: String,
    /// Everything that must be in the store before a name appears, children before parents.
    pub blobs: Vec<OfferedBlob>,
}

/// What a name points to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// As in the descriptor.
    pub media_type: String,
    /// Of the document.
    pub digest: Digest,
    /// Bytes of the document.
    pub size: u64,
}

/// A blob that an image reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedBlob {
    /// Of its bytes.
    pub digest: Digest,
    /// Bytes.
    pub size: u64,
    /// Whether it is written after its children, or is one of them.
    pub kind: BlobKind,
    /// Its children in this bundle, under the keys that containerd gives them.
    pub refs: Vec<(String, Digest)>,
}

/// Whether a blob refers to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlobKind {
    /// A layer or a config.
    Leaf,
    /// A manifest or an index.
    Document,
}

impl Offer {
    /// What an opened bundle offers.
    pub fn of(bundle: &Bundle) -> Self {
        let images = bundle.images().iter().filter_map(OfferedImage::of);
        Self {
            id: bundle.id(),
            images: images.collect(),
        }
    }

    /// What is left of it when only some names may be given.
    #[must_use]
    pub fn under(mut self, names: &NameFilter) -> Self {
        for image in &mut self.images {
            image.names.retain(|name| names.passes(name));
        }
        self.images.retain(|image| !image.names.is_empty());
        self
    }

    /// The bundle's id as it stands in labels and logs.
    pub fn short_id(&self) -> &str {
        self.id.short()
    }

    /// Every blob once, with those that several images share at their first place.
    pub fn blobs(&self) -> impl Iterator<Item = &OfferedBlob> {
        let mut seen = std::collections::HashSet::new();
        self.images
            .iter()
            .flat_map(|image| &image.blobs)
            .filter(move |blob| seen.insert(&blob.digest))
    }
}

impl OfferedImage {
    fn of(image: &Image) -> Option<Self> {
        let content = image.outcome.as_ref().ok()?;
        let target = image.target.as_ref()?;
        (!image.names.is_empty()).then(|| Self {
            names: image.names.clone(),
            target: Target::of(target),
            config: content.config.digest.clone(),
            platform: content.platform.to_string(),
            blobs: content.blobs.iter().map(OfferedBlob::of).collect(),
        })
    }

    /// Bytes of everything that the image needs.
    pub fn size(&self) -> u64 {
        self.blobs.iter().map(|blob| blob.size).sum()
    }
}

impl Target {
    fn of(descriptor: &Descriptor) -> Self {
        Self {
            media_type: descriptor.media_type.clone(),
            digest: descriptor.digest.clone(),
            size: descriptor.size,
        }
    }
}

impl OfferedBlob {
    fn of(blob: &Blob) -> Self {
        let key = |(kind, digest): &(RefKind, Digest)| (gc_key(*kind), digest.clone());
        Self {
            digest: blob.descriptor.digest.clone(),
            size: blob.descriptor.size,
            kind: match blob.role {
                Role::Layer | Role::Config => BlobKind::Leaf,
                Role::Manifest | Role::Index => BlobKind::Document,
            },
            refs: blob.refs.iter().map(key).collect(),
        }
    }
}

/// containerd's own spelling (`images.ChildGCLabels`), so that what a pull would have written
/// and what we write is the same.
fn gc_key(kind: RefKind) -> String {
    match kind {
        RefKind::Config => "config".to_owned(),
        RefKind::Layer(n) => format!("l.{n}"),
        RefKind::Manifest(n) => format!("m.{n}"),
    }
}
