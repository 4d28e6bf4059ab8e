//! From a manifest to everything that must be in the store for it.

mod layer;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bytes::Bytes;

use crate::digest::Digest;
use crate::document::{Config, Descriptor, Document, Manifest};
use crate::documents::Documents;
use crate::fault::Fault;
use crate::graph::Step;
use crate::image::{Blob, Content, ImageError, Layer, Place, RefKind, Role};
use crate::left_out::LeftOut;
use crate::limits;
use crate::open::OpenError;

pub(crate) use layer::{PlacedLayer, check_codec, place};

/// Counts what images hold: they share their blobs in the archive, but not in memory.
#[derive(Default)]
pub(crate) struct Budget(usize);

impl Budget {
    /// Counts `more` layers and blobs.
    ///
    /// # Errors
    /// When the bundle has more of them than it may.
    pub(crate) fn charge(&mut self, more: usize) -> Result<(), OpenError> {
        self.0 = self.0.saturating_add(more);
        if self.0 > limits::BLOBS {
            return Err(OpenError::TooManyBlobs);
        }
        Ok(())
    }
}

/// The contents of an image layout's manifests, each put together once.
pub(crate) struct Contents<'a> {
    /// By digest and media type, as [`Graph`](crate::graph::Graph) keeps its nodes.
    known: BTreeMap<(Digest, String), Result<Rc<Content>, ImageError>>,
    budget: Budget,
    left_out: &'a LeftOut,
}

impl<'a> Contents<'a> {
    /// None yet; layers that are left out need not be there.
    pub(crate) fn new(left_out: &'a LeftOut) -> Self {
        Self {
            known: BTreeMap::new(),
            budget: Budget::default(),
            left_out,
        }
    }

    /// What the manifest needs, and the indexes that `steps` lead through to it.
    pub(crate) fn of(
        &mut self,
        documents: &mut Documents<'_>,
        manifest: &Descriptor,
        steps: &[Step<'_>],
    ) -> Result<Content, Fault> {
        let core = self.of_manifest(documents, manifest)?;
        let size = core.layers.len() + core.blobs.len() + steps.len();
        self.budget.charge(size)?;
        let mut content = Content::clone(&core);
        for step in steps.iter().rev() {
            let held = Held::read(documents, step.index, Role::Index)?;
            let child = (RefKind::Manifest(step.position), step.child.digest.clone());
            content.blobs.push(held.blob(Role::Index, vec![child]));
        }
        Ok(content)
    }

    fn of_manifest(
        &mut self,
        documents: &mut Documents<'_>,
        descriptor: &Descriptor,
    ) -> Result<Rc<Content>, Fault> {
        let key = (descriptor.digest.clone(), descriptor.media_type.clone());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone()?);
        }
        let content =
            Fault::settle(read_content(documents, descriptor, self.left_out))?.map(Rc::new);
        self.known.insert(key, content.clone());
        Ok(content?)
    }
}

fn read_content(
    documents: &mut Documents<'_>,
    descriptor: &Descriptor,
    left_out: &LeftOut,
) -> Result<Content, Fault> {
    let held = Held::read(documents, descriptor, Role::Manifest)?;
    let manifest = read_manifest(documents, descriptor)?;
    let config = Held::read(documents, &manifest.config, Role::Config)?;
    let parsed = documents.config(&manifest.config)?;
    let parsed = parsed.ok_or_else(|| missing(Role::Config, &manifest.config))?;
    check_counts(manifest.layers.len(), &parsed)?;
    let archive = documents.archive();
    let layers = manifest.layers.iter().enumerate();
    let layers = layers
        .map(|(position, layer)| layer::place(archive, position, layer, left_out))
        .collect::<Result<_, Fault>>()?;
    Ok(assemble(held, config, layers, &parsed))
}

fn read_manifest(
    documents: &mut Documents<'_>,
    descriptor: &Descriptor,
) -> Result<Manifest, Fault> {
    match documents.document(descriptor, Role::Manifest)? {
        Some(Document::Manifest(manifest)) if !manifest.is_artifact() => Ok(manifest),
        Some(_) => Err(Fault::Image(ImageError::Artifact {
            digest: descriptor.digest.clone(),
        })),
        None => Err(Fault::Image(missing(Role::Manifest, descriptor))),
    }
}

fn missing(role: Role, descriptor: &Descriptor) -> ImageError {
    ImageError::Missing {
        role,
        digest: descriptor.digest.clone(),
    }
}

/// That there are as many layers as diff ids, and not too many.
pub(crate) fn check_counts(layers: usize, config: &Config) -> Result<(), ImageError> {
    if layers > limits::LAYERS {
        return Err(ImageError::TooManyLayers { count: layers });
    }
    let diff_ids = config.diff_ids.len();
    if diff_ids != layers {
        return Err(ImageError::DiffIds { diff_ids, layers });
    }
    Ok(())
}

/// A document and its descriptor.
pub(crate) struct Held {
    pub(crate) descriptor: Descriptor,
    pub(crate) bytes: Bytes,
}

impl Held {
    fn read(
        documents: &mut Documents<'_>,
        descriptor: &Descriptor,
        role: Role,
    ) -> Result<Self, Fault> {
        let bytes = documents.read(descriptor, role)?;
        Ok(Self {
            descriptor: descriptor.bare(),
            bytes: bytes.ok_or_else(|| missing(role, descriptor))?,
        })
    }

    fn blob(self, role: Role, refs: Vec<(RefKind, Digest)>) -> Blob {
        Blob {
            descriptor: self.descriptor,
            place: Place::Memory(self.bytes),
            role,
            refs,
        }
    }
}

/// Manifest, config and layers as one content, its blobs in the order in which a store takes them.
pub(crate) fn assemble(
    manifest: Held,
    config: Held,
    layers: Vec<PlacedLayer>,
    parsed: &Config,
) -> Content {
    let mut blobs = layer_blobs(&layers, &config.descriptor);
    let refs = manifest_refs(&config.descriptor, &layers);
    let (manifest_descriptor, config_descriptor) =
        (manifest.descriptor.clone(), config.descriptor.clone());
    blobs.push(config.blob(Role::Config, Vec::new()));
    blobs.push(manifest.blob(Role::Manifest, refs));
    let diff_ids = parsed.diff_ids.iter().cloned();
    let layers = layers.into_iter().zip(diff_ids);
    Content {
        platform: parsed.platform.clone(),
        manifest: manifest_descriptor,
        config: config_descriptor,
        layers: layers
            .map(|(layer, diff_id)| Layer {
                descriptor: layer.descriptor,
                diff_id,
            })
            .collect(),
        blobs,
    }
}

/// Each layer once; one with the bytes of the config is there as the config.
fn layer_blobs(layers: &[PlacedLayer], config: &Descriptor) -> Vec<Blob> {
    let mut seen = BTreeSet::from([&config.digest]);
    layers
        .iter()
        .filter(|layer| seen.insert(&layer.descriptor.digest))
        .map(|layer| Blob {
            descriptor: layer.descriptor.clone(),
            place: layer.entry.map_or(Place::Elsewhere, Place::Entry),
            role: Role::Layer,
            refs: Vec::new(),
        })
        .collect()
}

fn manifest_refs(config: &Descriptor, layers: &[PlacedLayer]) -> Vec<(RefKind, Digest)> {
    let layers = layers.iter().enumerate();
    let layers = layers.map(|(n, layer)| (RefKind::Layer(n), layer.descriptor.digest.clone()));
    std::iter::once((RefKind::Config, config.digest.clone()))
        .chain(layers)
        .collect()
}
