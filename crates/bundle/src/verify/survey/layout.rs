//! Everything that an image layout's `index.json` leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Claim, LayerClaim, Map, Node};
use crate::archive::{Archive, EntryId};
use crate::bundle::Bundle;
use crate::content;
use crate::digest::Digest;
use crate::document::media_type::Kind;
use crate::document::{Config, Descriptor, Document, Index, Manifest, TopEntry};
use crate::documents::{self, Documents};
use crate::fault::Fault;
use crate::graph;
use crate::image::{ImageError, Place, Role};
use crate::layout;
use crate::left_out::LeftOut;
use crate::limits;
use crate::open::OpenError;
use crate::verify::hazard;

/// Adds all that the layout lists to `map`.
pub(super) fn survey(bundle: &Bundle, map: &mut Map) -> Result<(), OpenError> {
    let archive = bundle.archive();
    let index = archive.find(layout::INDEX)?.ok_or(OpenError::NoIndex)?;
    let mut walk = Walk {
        archive,
        documents: documents_of(bundle),
        map,
        known: BTreeMap::new(),
        left_out: &bundle.left_out,
    };
    for (position, entry) in layout::read_index(archive, index)?.iter().enumerate() {
        walk.root(position, entry)?;
    }
    let (documents, bytes) = walk.documents.seen();
    (map.documents, map.document_bytes) = (documents, bytes);
    Ok(())
}

/// What opening the bundle has read and verified is not read again.
fn documents_of(bundle: &Bundle) -> Documents<'_> {
    let mut documents = Documents::of_any_digest(bundle.archive());
    let outcomes = bundle.images().iter().map(|image| &image.outcome);
    let contents = outcomes.filter_map(|outcome| outcome.as_ref().ok());
    for blob in contents.flat_map(|content| &content.blobs) {
        if let Place::Memory(bytes) = &blob.place {
            documents.hold(&blob.descriptor.digest, bytes);
        }
    }
    documents
}

/// All that decides how a document is read: the same bytes under another type, or said to be of
/// another size, are looked at again.
type Key = (Digest, String, u64, Part);

/// What a descriptor says that a manifest is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// An image, unless the manifest says otherwise.
    Image,
    /// An attestation or an artifact.
    Other,
}

impl Part {
    fn of(descriptor: &Descriptor, annotations: &BTreeMap<String, String>) -> Self {
        let is_artifact = descriptor.artifact_type.is_some();
        if is_artifact || graph::is_attestation(descriptor, annotations) {
            return Self::Other;
        }
        Self::Image
    }
}

struct Walk<'a> {
    archive: &'a Archive,
    documents: Documents<'a>,
    map: &'a mut Map,
    /// Each is followed once, so that the work grows with the archive and not with the paths
    /// through it. `None` where the archive has it not.
    known: BTreeMap<Key, Option<usize>>,
    /// Layers that need not be there.
    left_out: &'a LeftOut,
}

impl Walk<'_> {
    fn root(&mut self, position: usize, entry: &TopEntry) -> Result<(), OpenError> {
        // One that is no descriptor leads nowhere; opening has refused it.
        let Ok(descriptor) = &entry.descriptor else {
            return Ok(());
        };
        let part = Part::of(descriptor, &entry.annotations);
        let node = match Fault::settle(self.visit(descriptor, part, 1))? {
            Ok(node) => node,
            Err(error) => Some(self.map.add(Node::default().with(error))?),
        };
        self.map.roots.extend(node.map(|node| (position, node)));
        Ok(())
    }

    /// The node of what `descriptor` points to; `None` if the archive has it not. `depth` counts
    /// the indexes on the way, its own included.
    ///
    /// # Errors
    /// Of an image only [`ImageError::TooDeep`]: the rest is noted with the node.
    fn visit(
        &mut self,
        descriptor: &Descriptor,
        part: Part,
        depth: usize,
    ) -> Result<Option<usize>, Fault> {
        let (digest, media_type) = (descriptor.digest.clone(), descriptor.media_type.clone());
        let key = (digest, media_type, descriptor.size, part);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let node = match descriptor.kind() {
            Kind::Other => self.blob(descriptor)?,
            _ => self.document(descriptor, part, depth)?,
        };
        let place = node.map(|node| self.map.add(node)).transpose()?;
        self.known.insert(key, place);
        Ok(place)
    }

    /// Something that is neither index nor manifest.
    fn blob(&self, descriptor: &Descriptor) -> Result<Option<Node>, OpenError> {
        let mut node = Node::default();
        match self.find(descriptor)? {
            Ok(None) => return Ok(None),
            Ok(Some(entry)) => node.claims.push(claim(entry, descriptor)),
            Err(error) => node.note(error),
        }
        Ok(Some(node))
    }

    fn document(
        &mut self,
        descriptor: &Descriptor,
        part: Part,
        depth: usize,
    ) -> Result<Option<Node>, Fault> {
        let role = match descriptor.kind() {
            Kind::Index => Role::Index,
            _ => Role::Manifest,
        };
        let node = match Fault::settle(self.documents.document(descriptor, role))? {
            Ok(None) => return Ok(None),
            Ok(Some(Document::Index(index))) => self.index(&index, depth)?,
            Ok(Some(Document::Manifest(manifest))) => self.manifest(descriptor, part, &manifest)?,
            Err(error) => Node::of(descriptor.platform.clone()).with(error),
        };
        Ok(Some(
            match documents::check_storable(&descriptor.digest, role) {
                Err(error) if part == Part::Image => node.with(error),
                _ => node,
            },
        ))
    }

    fn index(&mut self, index: &Index, depth: usize) -> Result<Node, Fault> {
        if depth > limits::INDEX_DEPTH {
            return Err(Fault::Image(ImageError::TooDeep));
        }
        self.map.charge(index.manifests.len())?;
        let mut children = BTreeSet::new();
        for child in &index.manifests {
            let part = Part::of(child, &child.annotations);
            children.extend(self.visit(child, part, depth + 1)?);
        }
        Ok(Node {
            children: children.into_iter().collect(),
            ..Node::default()
        })
    }

    fn manifest(
        &mut self,
        descriptor: &Descriptor,
        part: Part,
        manifest: &Manifest,
    ) -> Result<Node, OpenError> {
        if part == Part::Image && !manifest.is_artifact() {
            let mut node = Node::of(descriptor.platform.clone());
            self.image(manifest, &mut node)?;
            return Ok(node);
        }
        self.artifact(manifest)
    }

    /// Nothing is known of an artifact's parts but their digests, and each may be elsewhere.
    fn artifact(&self, manifest: &Manifest) -> Result<Node, OpenError> {
        let mut node = Node::default();
        for part in std::iter::once(&manifest.config).chain(&manifest.layers) {
            let entry = node.take(self.find(part)?).flatten();
            node.claims.extend(entry.map(|entry| claim(entry, part)));
        }
        Ok(node)
    }

    fn image(&mut self, manifest: &Manifest, node: &mut Node) -> Result<(), OpenError> {
        let layers = &manifest.layers;
        let config = self.config(&manifest.config, node)?;
        let counted = config.filter(|config| {
            let counts = content::check_counts(layers.len(), config);
            node.take(counts).is_some()
        });
        for (position, layer) in layers.iter().enumerate() {
            let diff_ids = counted.as_ref().map(|config| &config.diff_ids);
            let diff_id = diff_ids.and_then(|ids| ids.get(position));
            let claim = self.layer(position, layer, diff_id, node)?;
            node.claims.extend(claim);
        }
        Ok(())
    }

    fn config(
        &mut self,
        descriptor: &Descriptor,
        node: &mut Node,
    ) -> Result<Option<Arc<Config>>, OpenError> {
        let role = Role::Config;
        node.take(documents::check_storable(&descriptor.digest, role));
        let bytes = Fault::settle(self.documents.read(descriptor, role))?;
        let Some(bytes) =
            node.take(bytes.and_then(|it| it.ok_or_else(|| missing(role, descriptor))))
        else {
            return Ok(None);
        };
        let config = node.take(Fault::settle(self.documents.config(descriptor))?);
        let config = config.flatten();
        if let Some(config) = &config {
            node.hazards = hazard::of(&bytes);
            node.platform.get_or_insert_with(|| config.platform.clone());
        }
        Ok(config)
    }

    /// What is said of a layer. Its content is compared with its digest, also where the image can't
    /// use it for another reason.
    fn layer(
        &self,
        position: usize,
        descriptor: &Descriptor,
        diff_id: Option<&Digest>,
        node: &mut Node,
    ) -> Result<Option<Claim>, OpenError> {
        let found = self.find(descriptor)?;
        if matches!(found, Ok(None)) && self.left_out.has(&descriptor.digest) {
            return Ok(None);
        }
        let found = found.and_then(|it| it.ok_or_else(|| missing(Role::Layer, descriptor)));
        let Some(entry) = node.take(found) else {
            return Ok(None);
        };
        let placed = Fault::settle(content::place(
            self.archive,
            position,
            descriptor,
            self.left_out,
        ))?;
        let layer = node.take(placed).zip(diff_id);
        Ok(Some(Claim {
            layer: layer.map(|(placed, diff_id)| LayerClaim {
                position,
                diff_id: diff_id.clone(),
                codec: placed.codec,
            }),
            ..claim(entry, descriptor)
        }))
    }

    /// As [`documents::find`], with the image's own fault apart.
    fn find(
        &self,
        descriptor: &Descriptor,
    ) -> Result<Result<Option<EntryId>, ImageError>, OpenError> {
        Fault::settle(documents::find(self.archive, descriptor))
    }
}

fn claim(entry: EntryId, descriptor: &Descriptor) -> Claim {
    Claim {
        entry,
        stored: Some(descriptor.digest.clone()),
        layer: None,
    }
}

fn missing(role: Role, descriptor: &Descriptor) -> ImageError {
    ImageError::Missing {
        role,
        digest: descriptor.digest.clone(),
    }
}
