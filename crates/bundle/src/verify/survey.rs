//! What there is to verify, before any of it is read.

mod docker;
mod layout;

use std::collections::BTreeMap;

use super::examine::Job;
use super::hazard::Hazard;
use crate::archive::EntryId;
use crate::bundle::{Bundle, Format};
use crate::codec::Codec;
use crate::digest::Digest;
use crate::image::ImageError;
use crate::limits;
use crate::open::OpenError;
use crate::platform::Platform;

/// A bundle, and everything that it lists and holds.
#[derive(Debug)]
pub struct Survey {
    pub(super) bundle: Bundle,
    pub(super) map: Map,
}

impl Survey {
    /// Follows every entry of the bundle's list to all that it refers to, whatever platform it is
    /// for. Documents are read and compared with their digests; blobs are only found.
    ///
    /// # Errors
    /// Limits, and everything that keeps documents from being read.
    pub fn of(bundle: Bundle) -> Result<Self, OpenError> {
        let mut map = Map::default();
        match bundle.format() {
            Format::OciLayout => layout::survey(&bundle, &mut map)?,
            Format::DockerArchive => docker::survey(bundle.archive(), &mut map)?,
        }
        Ok(Self { bundle, map })
    }

    /// Bytes that verifying will read, and report as progress.
    pub fn bytes(&self) -> u64 {
        let entries = self.map.jobs.keys();
        let sizes = entries.map(|entry| self.bundle.archive().size(*entry));
        sizes.sum()
    }
}

/// Who refers to what.
#[derive(Debug, Default)]
pub(super) struct Map {
    /// Children before those that refer to them.
    pub(super) nodes: Vec<Node>,
    /// The node that an entry of the bundle's list leads to, by the entry's position.
    pub(super) roots: Vec<(usize, usize)>,
    pub(super) jobs: BTreeMap<EntryId, Job>,
    /// Documents that were compared with their digests.
    pub(super) documents: usize,
    /// Their bytes.
    pub(super) document_bytes: u64,
    charged: usize,
}

impl Map {
    /// Adds a node, and asks of the entries what it claims. Returns its place in `nodes`.
    fn add(&mut self, node: Node) -> Result<usize, OpenError> {
        self.charge(node.claims.len() + 1)?;
        for claim in &node.claims {
            self.jobs.entry(claim.entry).or_default().ask(claim);
        }
        self.nodes.push(node);
        Ok(self.nodes.len() - 1)
    }

    /// Counts `more` nodes, claims or references.
    ///
    /// # Errors
    /// When the bundle has more of them than it may.
    fn charge(&mut self, more: usize) -> Result<(), OpenError> {
        self.charged = self.charged.saturating_add(more);
        if self.charged > limits::VERIFIED {
            return Err(OpenError::TooMuchToVerify);
        }
        Ok(())
    }
}

/// An index, a manifest, or a blob that an index lists.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Of an image.
    pub(super) platform: Option<Platform>,
    /// What is wrong with it, whatever its blobs hold.
    pub(super) faults: Vec<ImageError>,
    /// Faults that aren't kept: there are very many.
    pub(super) more_faults: usize,
    /// The first of its parts that is not in the bundle.
    pub(super) absent: Option<ImageError>,
    pub(super) hazards: Vec<Hazard>,
    pub(super) claims: Vec<Claim>,
    /// Places in [`Map::nodes`].
    pub(super) children: Vec<usize>,
}

impl Node {
    /// An image; `None` where its platform is not known yet.
    fn of(platform: Option<Platform>) -> Self {
        Self {
            platform,
            ..Self::default()
        }
    }

    fn with(mut self, error: ImageError) -> Self {
        self.note(error);
        self
    }

    /// Notes what is wrong with a part, or that it isn't there: a bundle need not hold all that
    /// an index lists, so that alone is no fault.
    fn note(&mut self, error: ImageError) {
        if error.is_absence() {
            self.absent.get_or_insert(error);
        } else if self.faults.len() < limits::FINDINGS {
            self.faults.push(error);
        } else {
            self.more_faults = self.more_faults.saturating_add(1);
        }
    }

    /// The value, or `None` with the error noted.
    fn take<T>(&mut self, result: Result<T, ImageError>) -> Option<T> {
        result.map_err(|error| self.note(error)).ok()
    }
}

/// What someone says of an entry's content.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) entry: EntryId,
    /// Its digest as it is stored; `None` where nobody says it.
    pub(super) stored: Option<Digest>,
    pub(super) layer: Option<LayerClaim>,
}

/// What an image says of one of its layers.
#[derive(Debug)]
pub(super) struct LayerClaim {
    /// From 0, lowest first.
    pub(super) position: usize,
    pub(super) diff_id: Digest,
    /// How it is stored: plain, gzip or zstd.
    pub(super) codec: Codec,
}
