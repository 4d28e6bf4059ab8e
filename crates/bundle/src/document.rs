//! Typed OCI and Docker documents. Parsing keeps nothing of the bytes: who needs them holds them.

mod config;
pub mod media_type;
mod raw;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::digest::{Digest, DigestError};
use crate::escape::escaped;
use crate::json::{self, JsonError};
use crate::limits;
use crate::platform::Platform;

pub use config::Config;

use media_type::Kind;
use raw::{Field, RawDescriptor, RawDocument};

/// A pointer to a blob: what it is, its digest and its size in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// Empty where a tool left it out.
    pub media_type: String,
    pub digest: Digest,
    pub size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
}

impl Descriptor {
    /// A descriptor of nothing but media type, digest and size.
    pub fn new(media_type: &str, digest: Digest, size: u64) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest,
            size,
            artifact_type: None,
            annotations: BTreeMap::new(),
            platform: None,
        }
    }

    /// The same without all that is not needed to find and store the blob.
    #[must_use]
    pub fn bare(&self) -> Self {
        Self::new(&self.media_type, self.digest.clone(), self.size)
    }

    /// What the media type says that the blob is.
    pub fn kind(&self) -> Kind {
        media_type::kind(&self.media_type)
    }
}

/// A list of manifests or further indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// What the document or its descriptor says, or OCI's where neither does.
    pub media_type: String,
    pub artifact_type: Option<String>,
    pub manifests: Vec<Descriptor>,
}

/// One image, or one artifact, of one platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// What the document or its descriptor says, or OCI's where neither does.
    pub media_type: String,
    pub artifact_type: Option<String>,
    pub config: Descriptor,
    pub layers: Vec<Descriptor>,
}

impl Manifest {
    /// Whether it holds something else than a runnable image: charts, signatures, SBOMs.
    /// Signatures pose as images by their config, so the layers are asked too.
    pub fn is_artifact(&self) -> bool {
        let poses = |layer: &Descriptor| {
            let media_type = layer.media_type.as_str();
            !media_type.is_empty() && media_type::layer(media_type).is_none()
        };
        self.artifact_type.is_some()
            || !media_type::is_image_config(&self.config.media_type)
            || (!self.layers.is_empty() && self.layers.iter().all(poses))
    }
}

/// An index or a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    Index(Index),
    Manifest(Manifest),
}

/// Why a document can't be used. Each is a fragment that follows the document's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error(
        "is of schema 1, which runtimes no longer run; pull the image anew with a current tool"
    )]
    Schema1,
    #[error("has schemaVersion {version}, not 2")]
    SchemaVersion { version: i64 },
    #[error("has the fields of both an index and a manifest")]
    Ambiguous,
    #[error("is a manifest, not an index")]
    NotAnIndex,
    #[error("has the fields of neither an index nor a manifest")]
    Neither,
    #[error(
        "says mediaType \"{}\", but its descriptor says \"{}\"",
        escaped(.body),
        escaped(.descriptor)
    )]
    MediaTypeDiffers { body: String, descriptor: String },
    #[error(
        "has other fields than its media type \"{}\" asks for",
        escaped(.media_type)
    )]
    Shape { media_type: String },
    #[error("has an unusable field {field}: {source}")]
    Digest {
        field: String,
        #[source]
        source: DigestError,
    },
    #[error("has no field {field}.size")]
    NoSize { field: String },
    #[error("has no field config")]
    NoConfig,
    #[error("has no platform: the fields os and architecture are missing or empty")]
    NoPlatform,
    #[error("has no root file system: the field rootfs is missing")]
    NoRootfs,
    #[error("lists {count} descriptors, over the {} allowed", limits::DESCRIPTORS)]
    TooManyDescriptors { count: usize },
}

impl Document {
    /// The index or manifest in `bytes`. `media_type` is what its descriptor says, or empty.
    ///
    /// # Errors
    /// JSON that [`json::parse`] refuses, schema 1, a shape that is neither or both, a media
    /// type that contradicts shape or descriptor, and digests that are none.
    pub fn parse(bytes: &[u8], media_type: &str) -> Result<Self, DocumentError> {
        let raw: RawDocument = json::parse(bytes, limits::MANIFEST)?;
        raw.check(media_type)?;
        let said = raw.media_type(media_type).to_owned();
        let or_default = |default: &str| match said.as_str() {
            "" => default.to_owned(),
            said => said.to_owned(),
        };
        let artifact_type = raw.artifact_type.filter(|given| !given.is_empty());
        match (raw.manifests, raw.config.into_value()) {
            (Field::Absent, None) => Err(DocumentError::NoConfig),
            (Field::Absent, Some(config)) => Ok(Self::Manifest(Manifest {
                media_type: or_default(media_type::OCI_MANIFEST),
                artifact_type,
                config: config.into_descriptor("config")?,
                layers: descriptors("layers", raw.layers)?,
            })),
            (manifests, _) => Ok(Self::Index(Index {
                media_type: or_default(media_type::OCI_INDEX),
                artifact_type,
                manifests: descriptors("manifests", manifests)?,
            })),
        }
    }
}

impl Document {
    /// What the document or its descriptor says, or OCI's where neither does.
    pub fn media_type(&self) -> &str {
        match self {
            Self::Index(index) => &index.media_type,
            Self::Manifest(manifest) => &manifest.media_type,
        }
    }
}

/// A descriptor of `index.json`, or why it is none, with the names that it was given: one bad
/// entry must not take the others along.
#[derive(Clone, Debug)]
pub struct TopEntry {
    pub annotations: BTreeMap<String, String>,
    pub descriptor: Result<Descriptor, DocumentError>,
}

/// The entries of an `index.json`, in its order.
///
/// # Errors
/// As [`Document::parse`], except for digests: those are the single entry's.
pub fn parse_top_index(bytes: &[u8]) -> Result<Vec<TopEntry>, DocumentError> {
    let raw: RawDocument = json::parse(bytes, limits::MANIFEST)?;
    raw.check("")?;
    if !raw.manifests.is_present() {
        return Err(DocumentError::NotAnIndex);
    }
    let entries = raw.manifests.into_value().unwrap_or_default();
    check_count(entries.len())?;
    let entries = entries.into_iter().enumerate();
    Ok(entries
        .map(|(position, mut raw)| TopEntry {
            annotations: raw.take_annotations(),
            descriptor: raw.into_descriptor(&format!("manifests[{position}]")),
        })
        .collect())
}

fn descriptors(
    field: &str,
    raw: Field<Vec<RawDescriptor>>,
) -> Result<Vec<Descriptor>, DocumentError> {
    let raw = raw.into_value().unwrap_or_default();
    check_count(raw.len())?;
    raw.into_iter()
        .enumerate()
        .map(|(position, raw)| raw.into_descriptor(&format!("{field}[{position}]")))
        .collect()
}

fn check_count(count: usize) -> Result<(), DocumentError> {
    if count > limits::DESCRIPTORS {
        return Err(DocumentError::TooManyDescriptors { count });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
