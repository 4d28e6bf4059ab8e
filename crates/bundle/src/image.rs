//! What a bundle says of one image: its names, and either all that it consists of or why it
//! can't be imported.

mod error;

use std::fmt;

use bytes::Bytes;
use serde::Serialize;

use crate::archive::EntryId;
use crate::digest::Digest;
use crate::document::Descriptor;
use crate::escape::escaped;
use crate::name::Name;
pub use crate::naming::{NameRefusal, RefusedName};
use crate::platform::Platform;
use crate::verdict::Verdict;

pub use error::{ImageError, LayerFault};

const UNNAMED: &str =
    "it has no usable name; save it by a tag, or give it a name with `airdock load --name`";

/// One name-able target of a bundle.
#[derive(Debug)]
pub struct Image {
    /// Under which it is to be published, sorted.
    pub names: Vec<Name>,
    pub refused_names: Vec<RefusedName>,
    /// The index or manifest that names point to. `None` where the image was refused before its
    /// digest could be known.
    pub target: Option<Descriptor>,
    /// What its index lists, or the one platform that it has, without repetition.
    pub platforms: Vec<Platform>,
    pub outcome: Result<Content, ImageError>,
    pub warnings: Vec<Warning>,
    /// Positions of its entries in the bundle's list of images.
    pub(crate) listed: Vec<usize>,
}

impl Image {
    /// `Ok`, `Partial` when some of its names are refused, `Unnamed`, or `Refused`.
    pub fn verdict(&self) -> Verdict {
        let refused = !self.refused_names.is_empty();
        match (&self.outcome, self.names.is_empty(), refused) {
            (Err(_), ..) | (Ok(_), true, true) => Verdict::Refused,
            (Ok(_), true, false) => Verdict::Unnamed,
            (Ok(_), false, true) => Verdict::Partial,
            (Ok(_), false, false) => Verdict::Ok,
        }
    }

    /// Why the verdict is not `Ok`: one sentence without a full stop.
    pub fn reason(&self) -> Option<String> {
        match (&self.outcome, self.refused_names.first()) {
            (Err(error), _) => Some(error.to_string()),
            (Ok(_), Some(refused)) => Some(refused.to_string()),
            (Ok(_), None) if self.names.is_empty() => Some(UNNAMED.to_owned()),
            (Ok(_), None) => None,
        }
    }

    /// How messages call it: its first name, or its digest, or the name that was refused.
    pub fn title(&self) -> String {
        if let Some(name) = self.names.first() {
            return name.to_string();
        }
        match (&self.target, self.refused_names.first()) {
            (Some(target), _) => target.digest.to_string(),
            (None, Some(refused)) => escaped(&refused.given).to_string(),
            (None, None) => "an image without a name".to_owned(),
        }
    }
}

/// Everything that must be in the store for an image to run on this platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    pub platform: Platform,
    pub manifest: Descriptor,
    pub config: Descriptor,
    /// Lowest first; a layer may be repeated.
    pub layers: Vec<Layer>,
    /// Each digest once, children before the parents that refer to them.
    pub blobs: Vec<Blob>,
}

/// A layer of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    pub descriptor: Descriptor,
    /// Digest of the layer when uncompressed.
    pub diff_id: Digest,
}

/// Some bytes that the store needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    pub descriptor: Descriptor,
    pub place: Place,
    pub role: Role,
    /// The blobs of the same [`Content`] that this one refers to.
    pub refs: Vec<(RefKind, Digest)>,
}

impl Blob {
    /// Whether the bundle holds its bytes.
    pub fn is_here(&self) -> bool {
        matches!(self.place, Place::Memory(_) | Place::Entry(_))
    }
}

/// Where a blob's bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A document, verified against its digest when it was read.
    Memory(Bytes),
    /// Content of the archive, not yet verified.
    Entry(EntryId),
    /// In another bundle: this one is a delta.
    Elsewhere,
}

/// What a blob is to its image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Layer,
    Config,
    Manifest,
    Index,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Layer => "layer",
            Self::Config => "config",
            Self::Manifest => "manifest",
            Self::Index => "index",
        })
    }
}

/// How a blob refers to another. Numbers are positions in the document's own list, so they stay
/// the same whatever part of a sparse index is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefKind {
    Config,
    Layer(usize),
    Manifest(usize),
}

/// Something to know of an image that can be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    #[error("two manifests for {platform}: {used} is used, {ignored} is not")]
    PlatformTwice {
        platform: Platform,
        used: Digest,
        ignored: Digest,
    },
    #[error("its index says {listed}, but its config says {config}")]
    PlatformDiffers { listed: Platform, config: Platform },
    #[error("its config has the digest {found}, but is called \"{}\"", escaped(.entry))]
    ConfigName { entry: String, found: Digest },
}

/// What a bundle holds besides images: carried along by tools, never run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Other {
    pub kind: OtherKind,
    /// As the archive gives it: to be shown escaped only.
    pub media_type: String,
    pub digest: Digest,
    /// As the archive gives it: to be shown escaped only.
    pub name: Option<String>,
}

/// What an [`Other`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OtherKind {
    /// A chart, a signature, an SBOM.
    Artifact,
    /// A statement of a build tool about an image.
    Attestation,
    /// The version for another platform of an image that is listed too.
    Platform,
}

impl fmt::Display for OtherKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Artifact => "artifact",
            Self::Attestation => "attestation",
            Self::Platform => "platform",
        })
    }
}
