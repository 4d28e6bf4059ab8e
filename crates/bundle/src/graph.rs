//! From a target to the manifest that this node runs.
//!
//! Indexes may hold indexes, list one child many times, and share children. Every document is
//! looked at once, so that the work grows with the archive and not with the paths through it.

mod selection;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::archive::Archive;
use crate::digest::Digest;
use crate::document::media_type::Kind;
use crate::document::{Descriptor, Document, Index, Manifest};
use crate::documents::Documents;
use crate::fault::Fault;
use crate::image::{ImageError, Other, OtherKind, Role};
use crate::limits;
use crate::open::OpenError;
use crate::platform::{Matcher, Platform};

pub(crate) use selection::{Selection, Step};

/// Set by build tools on the descriptor of what they state about an image.
const ATTESTATION: &str = "vnd.docker.reference.type";

/// What a descriptor leads to.
#[derive(Clone)]
pub(crate) enum Node {
    /// Nothing: the archive has no such blob.
    Absent,
    /// An artifact, and its media type.
    Artifact(String),
    Manifest(Platform),
    Index(Rc<Selection>),
}

/// A child of an index.
enum Child {
    Other(OtherKind, String),
    /// It is absent, and its platform is said nowhere.
    Unknown,
    Manifest(Platform),
    Index(Rc<Selection>),
}

/// The documents of a bundle and what was found in them.
pub(crate) struct Graph<'a> {
    pub(crate) documents: Documents<'a>,
    platform: &'a Matcher,
    /// By digest and the media type that the descriptor gave: the same bytes under another type
    /// may be refused.
    nodes: BTreeMap<(Digest, String), Result<Node, ImageError>>,
    descriptors: usize,
    others: Vec<Other>,
    other_digests: BTreeSet<Digest>,
}

impl<'a> Graph<'a> {
    pub(crate) fn new(archive: &'a Archive, platform: &'a Matcher) -> Self {
        Self {
            documents: Documents::new(archive),
            platform,
            nodes: BTreeMap::new(),
            descriptors: 0,
            others: Vec::new(),
            other_digests: BTreeSet::new(),
        }
    }

    /// Artifacts and attestations met so far, each once.
    pub(crate) fn into_others(self) -> Vec<Other> {
        self.others
    }

    /// Counts `more` descriptors.
    ///
    /// # Errors
    /// When the bundle has more of them than it may.
    pub(crate) fn count(&mut self, more: usize) -> Result<(), OpenError> {
        self.descriptors = self.descriptors.saturating_add(more);
        if self.descriptors > limits::DESCRIPTORS {
            return Err(OpenError::TooManyDescriptors);
        }
        Ok(())
    }

    /// Lists something that is no image, once.
    pub(crate) fn note_other(&mut self, other: Other) {
        if self.other_digests.insert(other.digest.clone()) {
            self.others.push(other);
        }
    }

    /// What `descriptor` leads to. `depth` counts the indexes on the way, its own included.
    pub(crate) fn node(&mut self, descriptor: &Descriptor, depth: usize) -> Result<Node, Fault> {
        let key = (descriptor.digest.clone(), descriptor.media_type.clone());
        let node = match self.nodes.get(&key) {
            Some(known) => known.clone()?,
            None => self.explore(descriptor, depth, key)?,
        };
        match &node {
            // One that was met before may hang deeper this time.
            Node::Index(index) if depth + index.height() > limits::INDEX_DEPTH => {
                Err(Fault::Image(ImageError::TooDeep))
            }
            _ => Ok(node),
        }
    }

    fn explore(
        &mut self,
        descriptor: &Descriptor,
        depth: usize,
        key: (Digest, String),
    ) -> Result<Node, Fault> {
        let found = Fault::settle(self.open(descriptor, depth))?;
        // Too deep from here need not be too deep from elsewhere.
        if !matches!(found, Err(ImageError::TooDeep)) {
            self.nodes.insert(key, found.clone());
        }
        Ok(found?)
    }

    fn open(&mut self, descriptor: &Descriptor, depth: usize) -> Result<Node, Fault> {
        let role = match descriptor.kind() {
            Kind::Other => return Ok(Node::Artifact(descriptor.media_type.clone())),
            Kind::Index => Role::Index,
            Kind::Manifest | Kind::Schema1 | Kind::Unsaid => Role::Manifest,
        };
        match self.documents.document(descriptor, role)? {
            None => Ok(Node::Absent),
            Some(Document::Manifest(manifest)) => self.manifest(manifest),
            Some(Document::Index(index)) => self.index(descriptor, &index, depth),
        }
    }

    fn manifest(&mut self, manifest: Manifest) -> Result<Node, Fault> {
        if manifest.is_artifact() {
            let media_type = manifest.artifact_type;
            let media_type = media_type.unwrap_or(manifest.config.media_type);
            return Ok(Node::Artifact(media_type));
        }
        let config = self.documents.config(&manifest.config)?;
        let config = config.ok_or_else(|| ImageError::Missing {
            role: Role::Config,
            digest: manifest.config.digest.clone(),
        })?;
        Ok(Node::Manifest(config.platform.clone()))
    }

    fn index(
        &mut self,
        descriptor: &Descriptor,
        index: &Index,
        depth: usize,
    ) -> Result<Node, Fault> {
        if depth > limits::INDEX_DEPTH {
            return Err(Fault::Image(ImageError::TooDeep));
        }
        if let Some(media_type) = &index.artifact_type {
            return Ok(Node::Artifact(media_type.clone()));
        }
        if index.manifests.is_empty() {
            let digest = descriptor.digest.clone();
            return Err(Fault::Image(ImageError::EmptyIndex { digest }));
        }
        self.count(index.manifests.len())?;
        let mut selection = Selection::new(descriptor);
        for (position, child) in index.manifests.iter().enumerate() {
            let found = self.child(child, depth + 1)?;
            self.offer(&mut selection, position, child, found);
        }
        Ok(match selection.has_images() {
            true => Node::Index(Rc::new(selection)),
            false => Node::Artifact(descriptor.media_type.clone()),
        })
    }

    fn offer(
        &mut self,
        selection: &mut Selection,
        position: usize,
        child: &Descriptor,
        found: Child,
    ) {
        match found {
            Child::Unknown => selection.offer_unknown(child),
            Child::Index(inner) => selection.offer_index(position, child, inner),
            Child::Manifest(platform) => {
                selection.offer_manifest(self.platform, position, child, platform);
            }
            Child::Other(kind, media_type) => self.note_other(Other {
                kind,
                media_type,
                digest: child.digest.clone(),
                name: None,
            }),
        }
    }

    /// A manifest whose platform is said by its descriptor need not be there to be counted.
    fn child(&mut self, child: &Descriptor, depth: usize) -> Result<Child, Fault> {
        if is_attestation(child, &child.annotations) {
            return Ok(Child::Other(
                OtherKind::Attestation,
                child.media_type.clone(),
            ));
        }
        if let Some(media_type) = &child.artifact_type {
            return Ok(Child::Other(OtherKind::Artifact, media_type.clone()));
        }
        match (child.kind(), &child.platform) {
            (Kind::Manifest, Some(platform)) => Ok(Child::Manifest(platform.clone())),
            _ => self.unlisted_child(child, depth),
        }
    }

    fn unlisted_child(&mut self, child: &Descriptor, depth: usize) -> Result<Child, Fault> {
        let node = match self.node(child, depth) {
            Err(Fault::Image(error)) if error.is_absence() => Node::Absent,
            node => node?,
        };
        Ok(match (node, &child.platform) {
            (Node::Artifact(media_type), _) => Child::Other(OtherKind::Artifact, media_type),
            (Node::Index(index), _) => Child::Index(index),
            (Node::Absent | Node::Manifest(_), Some(listed)) => Child::Manifest(listed.clone()),
            (Node::Manifest(platform), None) => Child::Manifest(platform),
            (Node::Absent, None) => Child::Unknown,
        })
    }
}

/// Whether a descriptor points to what a build tool states about an image.
pub(crate) fn is_attestation(
    descriptor: &Descriptor,
    annotations: &BTreeMap<String, String>,
) -> bool {
    annotations.contains_key(ATTESTATION)
        || descriptor
            .platform
            .as_ref()
            .is_some_and(Platform::is_unknown)
}
