//! Why an image can't be imported.

use std::sync::Arc;

use crate::archive::ArchiveError;
use crate::codec::Codec;
use crate::digest::Digest;
use crate::document::DocumentError;
use crate::escape::escaped;
use crate::image::Role;
use crate::limits;
use crate::platform::{Matcher, Platform};

/// Why an image can't be imported: one sentence that names the entry or field and ends with
/// what to do. It holds for this image alone.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ImageError {
    #[error(transparent)]
    Archive(Arc<ArchiveError>),
    #[error("\"{}\" {source}; save the image again", escaped(.entry))]
    Document {
        entry: String,
        #[source]
        source: DocumentError,
    },
    #[error(
        "the {role} {digest} is not in the archive; save the image again with all of its content"
    )]
    Missing { role: Role, digest: Digest },
    #[error("\"{}\", which {field} of manifest.json names, is not in the archive; save the image again", escaped(.path))]
    MissingFile { field: String, path: String },
    #[error("{field} of manifest.json is empty; save the image again")]
    EmptyPath { field: String },
    #[error("\"{}\" {} {found} bytes, but its descriptor says {expected}; copy or save the bundle again", escaped(.entry), has(*.found, *.expected))]
    Size {
        entry: String,
        expected: u64,
        found: u64,
    },
    #[error("the content of \"{}\" is damaged: its digest is {found}, not {expected}; copy or save the bundle again", escaped(.entry))]
    Damaged {
        entry: String,
        expected: Digest,
        found: Digest,
    },
    #[error("the {role} has the digest {}…, and containerd stores sha256 only; save the image with sha256 digests", short(.digest))]
    Unstorable { role: Role, digest: Digest },
    #[error("index.json describes {digest} in two ways; save the bundle again")]
    TwoDescriptions { digest: Digest },
    #[error("it has no image for {wanted}, only for {}; save it with --platform {wanted}", list(.found))]
    NoPlatform {
        wanted: Platform,
        found: Vec<Platform>,
    },
    #[error("it is a Windows image ({}), which can't run on {wanted}; save the image for {wanted}", list(.found))]
    Windows {
        wanted: Platform,
        found: Vec<Platform>,
    },
    #[error("the index {digest} lists no manifest; save the image again with all of its content")]
    EmptyIndex { digest: Digest },
    #[error(
        "its index holds others, nested over {} levels deep; save the image for one platform",
        limits::INDEX_DEPTH
    )]
    TooDeep,
    #[error("its index gives {digest} no media type; save the image again with a current tool")]
    NoMediaType { digest: Digest },
    #[error(
        "the manifest {digest} is an artifact and not an image; save the image for one platform"
    )]
    Artifact { digest: Digest },
    #[error(
        "it has {count} layers, over the {} allowed; squash it",
        limits::LAYERS
    )]
    TooManyLayers { count: usize },
    #[error(
        "its config lists {diff_ids} diff_ids for {layers} layers; build or save the image again"
    )]
    DiffIds { diff_ids: usize, layers: usize },
    #[error("layer {} ({}) {fault}", .position + 1, .digest.short())]
    Layer {
        /// From 0, lowest first.
        position: usize,
        digest: Digest,
        fault: LayerFault,
    },
    #[error("{platform}: {source}")]
    Platform {
        platform: Platform,
        #[source]
        source: Box<ImageError>,
    },
}

/// Why a layer can't be used: a fragment that ends with what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayerFault {
    #[error("has no media type; save the image again with a current tool")]
    NoMediaType,
    #[error("has the media type \"{}\", which is no image layer; save the image again", escaped(.media_type))]
    MediaType { media_type: String },
    #[error("is encrypted; decrypt the image before saving it")]
    Encrypted,
    #[error(
        "is a foreign layer whose blob is not in the archive; save the image with its foreign layers"
    )]
    ForeignAbsent,
    #[error("is {found}, but its media type \"{}\" says otherwise; save the image again", escaped(.media_type))]
    Contradiction { media_type: String, found: Codec },
    #[error("can't be unpacked: {}; save the image again", escaped(.detail))]
    Undecodable { detail: String },
    #[error("is cut: its {codec} stream ends at byte {offset}; save the image again")]
    Cut {
        codec: Codec,
        /// In the layer as it is stored.
        offset: u64,
    },
    #[error("unpacks to {found}, but the config lists {expected}; copy or save the bundle again")]
    DiffId { expected: Digest, found: Digest },
    #[error(
        "is compressed with {codec}, which containerd can't unpack; save it as gzip, zstd or plain"
    )]
    Codec { codec: Codec },
}

impl ImageError {
    /// That no image of `found` runs here.
    pub(crate) fn wrong_platform(matcher: &Matcher, found: Vec<Platform>) -> Self {
        let wanted = matcher.wanted().clone();
        if !found.is_empty() && found.iter().all(Platform::is_windows) {
            return Self::Windows { wanted, found };
        }
        Self::NoPlatform { wanted, found }
    }

    /// The platforms that there are instead of the wanted one.
    pub(crate) fn platforms(&self) -> &[Platform] {
        match self {
            Self::NoPlatform { found, .. } | Self::Windows { found, .. } => found,
            _ => &[],
        }
    }

    /// Whether the reason is something absent, which a file that is still arriving would bring.
    pub fn is_absence(&self) -> bool {
        match self {
            Self::Missing { .. } | Self::MissingFile { .. } => true,
            Self::Archive(error) => matches!(**error, ArchiveError::Dangling { .. }),
            Self::Layer { fault, .. } => *fault == LayerFault::ForeignAbsent,
            _ => false,
        }
    }
}

/// A blob that lacks bytes was cut; one with too many is another.
fn has(found: u64, expected: u64) -> &'static str {
    if found < expected {
        "is cut: it has"
    } else {
        "has"
    }
}

/// A sha512 digest is 135 characters long: its algorithm and start tell enough.
fn short(digest: &Digest) -> String {
    format!("{}:{}", digest.algorithm(), digest.short())
}

fn list(platforms: &[Platform]) -> String {
    if platforms.is_empty() {
        return "platforms that it does not name".to_owned();
    }
    let shown: Vec<String> = platforms.iter().map(ToString::to_string).collect();
    shown.join(", ")
}
