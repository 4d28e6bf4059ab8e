//! The part of an image config that an import needs.

use serde::Deserialize;

use super::DocumentError;
use super::raw;
use crate::digest::Digest;
use crate::json;
use crate::limits;
use crate::platform::Platform;

/// Platform and layers as the config has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub platform: Platform,
    /// Digests of the uncompressed layers, lowest first.
    pub diff_ids: Vec<Digest>,
}

#[derive(Deserialize)]
struct RawConfig {
    os: Option<String>,
    architecture: Option<String>,
    variant: Option<String>,
    rootfs: Option<RawRootfs>,
}

#[derive(Deserialize)]
struct RawRootfs {
    diff_ids: Option<Vec<String>>,
}

impl Config {
    /// The config in `bytes`.
    ///
    /// # Errors
    /// JSON that [`json::parse`] refuses, no platform, no root file system, digests that are none.
    pub fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        let raw: RawConfig = json::parse(bytes, limits::CONFIG)?;
        let platform = raw::platform(raw.os, raw.architecture, raw.variant);
        let rootfs = raw.rootfs.ok_or(DocumentError::NoRootfs)?;
        Ok(Self {
            platform: platform.ok_or(DocumentError::NoPlatform)?,
            diff_ids: diff_ids(&rootfs.diff_ids.unwrap_or_default())?,
        })
    }
}

fn diff_ids(given: &[String]) -> Result<Vec<Digest>, DocumentError> {
    let given = given.iter().enumerate();
    given
        .map(|(n, text)| raw::digest(text, || format!("rootfs.diff_ids[{n}]")))
        .collect()
}
