//! What a node has, by the status document that its agent gives: a base for deltas.
//!
//! The document names images, not layers. These are read where the images come from, by digest, so
//! that a node tells nothing that it doesn't tell anyway.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use airdock_bundle::digest::Digest;
use airdock_bundle::name::Name;
use airdock_bundle::platform::{Matcher, Platform};
use airdock_bundle::write::Listed;

use super::base::Base;
use super::origin::Origin;
use super::select::{Platforms, SelectError, select};
use crate::admin::document::{ImageStatus, Status};
use crate::output::shown;

/// Why a status document can't be used.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// It can't be read.
    #[error("{}: {cause}", shown(path))]
    Read {
        /// The document.
        path: PathBuf,
        /// The cause.
        cause: std::io::Error,
    },
    /// It is something else.
    #[error(
        "{}: {cause}: give what `airdock status --output json` prints on the node",
        shown(path)
    )]
    Document {
        /// The document.
        path: PathBuf,
        /// The cause.
        cause: serde_json::Error,
    },
}

/// What is known of a node.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Layers that it has.
    pub layers: BTreeSet<Digest>,
    /// Images that it has and that no origin knows: what they have is sent again.
    pub unknown: Vec<String>,
}

impl Node {
    /// Reads the document, and looks its images up.
    pub async fn read(path: &Path, origins: &[Origin]) -> Result<Self, NodeError> {
        let bytes = std::fs::read(path).map_err(|cause| NodeError::Read {
            path: path.to_owned(),
            cause,
        })?;
        let status = serde_json::from_slice(&bytes).map_err(|cause| NodeError::Document {
            path: path.to_owned(),
            cause,
        })?;
        Ok(Self::of(&status, origins).await)
    }

    async fn of(status: &Status, origins: &[Origin]) -> Self {
        let mut node = Self::default();
        for image in status.images.iter().filter(|image| image.is_imported()) {
            match layers(image, origins).await {
                Some(layers) => node.layers.extend(layers),
                None => node.unknown.push(image.name.clone()),
            }
        }
        node
    }

    /// As a base.
    pub fn base(&self) -> Base {
        Base::of_digests(self.layers.clone())
    }
}

async fn layers(image: &ImageStatus, origins: &[Origin]) -> Option<Vec<Digest>> {
    let digest: Digest = image.digest.as_deref()?.parse().ok()?;
    let tagged = Name::parse(&image.name).ok()?;
    let name = Name::parse(&tagged.with_digest(&digest)).ok()?;
    let platform = Platform::parse(image.platform.as_deref()?).ok()?;
    let platforms = Platforms::Only(vec![Matcher::only(platform)]);
    for origin in origins {
        let Ok(Some(descriptor)) = origin.resolve(&name).await else {
            continue;
        };
        let names = BTreeSet::from([name.clone()]);
        let listed = Listed { descriptor, names };
        let selected: Result<_, SelectError> = select(origin, &name, listed, &platforms).await;
        if let Ok(selected) = selected {
            return Some(selected.layers.into_keys().collect());
        }
    }
    None
}
