//! The documents as they are written, before anything is made of them.
//!
//! Most tools that write them are in Go, where `null` and an absent field are the same. So they
//! are here, except where presence alone tells what a document is.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::media_type::{self, Kind};
use super::{Descriptor, DocumentError};
use crate::digest::Digest;
use crate::platform::Platform;

/// An index or a manifest; its fields tell which.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawDocument {
    schema_version: Option<i64>,
    media_type: Option<String>,
    pub(super) artifact_type: Option<String>,
    #[serde(default)]
    pub(super) manifests: Field<Vec<RawDescriptor>>,
    #[serde(default)]
    pub(super) config: Field<RawDescriptor>,
    #[serde(default)]
    pub(super) layers: Field<Vec<RawDescriptor>>,
    #[serde(default)]
    fs_layers: Field<IgnoredAny>,
}

impl RawDocument {
    /// What it says, or else what its descriptor `said`.
    pub(super) fn media_type<'a>(&'a self, said: &'a str) -> &'a str {
        match self.media_type.as_deref() {
            None | Some("") => said,
            Some(body) => body,
        }
    }

    /// Refuses schema 1 and what could be taken for two things. `said` is the media type of the
    /// descriptor that led here; empty when there was none.
    ///
    /// Presence decides, `null` or not: containerd refuses an index that has a `config` field.
    pub(super) fn check(&self, said: &str) -> Result<(), DocumentError> {
        let body = self.media_type.as_deref().unwrap_or_default();
        self.check_schema(body, said)?;
        check_same(body, said)?;
        let is_index = self.manifests.is_present();
        let is_manifest = self.config.is_present() || self.layers.is_present();
        if is_index && is_manifest {
            return Err(DocumentError::Ambiguous);
        }
        let media_type = self.media_type(said);
        let as_said = match media_type::kind(media_type) {
            Kind::Index => is_index,
            Kind::Manifest => is_manifest,
            Kind::Unsaid if is_index || is_manifest => true,
            Kind::Unsaid => return Err(DocumentError::Neither),
            Kind::Schema1 | Kind::Other => false,
        };
        if !as_said {
            let media_type = media_type.to_owned();
            return Err(DocumentError::Shape { media_type });
        }
        Ok(())
    }

    fn check_schema(&self, body: &str, said: &str) -> Result<(), DocumentError> {
        let is_schema1 = |media_type| media_type::kind(media_type) == Kind::Schema1;
        match self.schema_version {
            _ if self.fs_layers.is_present() || is_schema1(body) || is_schema1(said) => {
                Err(DocumentError::Schema1)
            }
            Some(1) => Err(DocumentError::Schema1),
            None | Some(2) => Ok(()),
            Some(version) => Err(DocumentError::SchemaVersion { version }),
        }
    }
}

fn check_same(body: &str, said: &str) -> Result<(), DocumentError> {
    if body.is_empty() || said.is_empty() || body == said {
        return Ok(());
    }
    Err(DocumentError::MediaTypeDiffers {
        body: body.to_owned(),
        descriptor: said.to_owned(),
    })
}

/// A field that can be absent, `null`, or there.
#[derive(Default)]
pub(super) enum Field<T> {
    #[default]
    Absent,
    Null,
    Value(T),
}

impl<T> Field<T> {
    pub(super) fn is_present(&self) -> bool {
        !matches!(self, Self::Absent)
    }

    pub(super) fn into_value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null => None,
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Option::<T>::deserialize(deserializer)?;
        Ok(value.map_or(Self::Null, Self::Value))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawDescriptor {
    media_type: Option<String>,
    digest: Option<String>,
    size: Option<u64>,
    artifact_type: Option<String>,
    annotations: Option<BTreeMap<String, Option<String>>>,
    platform: Option<RawPlatform>,
}

impl RawDescriptor {
    /// `field` is the path of this descriptor within its document.
    pub(super) fn into_descriptor(self, field: &str) -> Result<Descriptor, DocumentError> {
        let size = self.size.ok_or_else(|| DocumentError::NoSize {
            field: field.to_owned(),
        })?;
        Ok(Descriptor {
            digest: digest(&self.digest.unwrap_or_default(), || {
                format!("{field}.digest")
            })?,
            size,
            media_type: self.media_type.unwrap_or_default(),
            artifact_type: self.artifact_type.filter(|given| !given.is_empty()),
            annotations: annotations(self.annotations),
            platform: self
                .platform
                .and_then(|raw| platform(raw.os, raw.architecture, raw.variant)),
        })
    }

    /// Takes the annotations out of it.
    pub(super) fn take_annotations(&mut self) -> BTreeMap<String, String> {
        annotations(self.annotations.take())
    }
}

fn annotations(given: Option<BTreeMap<String, Option<String>>>) -> BTreeMap<String, String> {
    let given = given.unwrap_or_default().into_iter();
    given
        .map(|(key, value)| (key, value.unwrap_or_default()))
        .collect()
}

/// The digest in `text`; `field` names its place in the document.
pub(super) fn digest(text: &str, field: impl Fn() -> String) -> Result<Digest, DocumentError> {
    Digest::from_str(text).map_err(|source| DocumentError::Digest {
        field: field(),
        source,
    })
}

#[derive(Deserialize)]
struct RawPlatform {
    os: Option<String>,
    architecture: Option<String>,
    variant: Option<String>,
}

/// `None` unless both operating system and architecture are given.
pub(super) fn platform(
    os: Option<String>,
    architecture: Option<String>,
    variant: Option<String>,
) -> Option<Platform> {
    let os = os.filter(|os| !os.is_empty())?;
    let architecture = architecture.filter(|given| !given.is_empty())?;
    Some(Platform::new(
        &os,
        &architecture,
        &variant.unwrap_or_default(),
    ))
}
