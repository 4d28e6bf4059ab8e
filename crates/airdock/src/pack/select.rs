//! From a name to everything that is taken of it: documents as they are, and which layers.
//!
//! The original index is kept, so that the digest stays; what belongs to other platforms is left
//! out. What build tools state about a chosen manifest comes along where it is there, and what
//! refers to the image where that is asked for.

mod choose;
mod referring;

use std::collections::{BTreeMap, BTreeSet};

use airdock_bundle::digest::Digest;
use airdock_bundle::document::media_type::{self, Kind, LayerKind};
use airdock_bundle::document::{Config, Descriptor, Document, DocumentError, Index, Manifest};
use airdock_bundle::image::Role;
use airdock_bundle::limits;
use airdock_bundle::name::Name;
use airdock_bundle::platform::{Matcher, Platform};
use airdock_bundle::write::{DockerImage, Listed};
use bytes::Bytes;

use super::origin::{Origin, OriginError};
use choose::{Child, choose};

pub use referring::select_with_referrers;

/// Which platforms' images are taken.
#[derive(Clone, Debug)]
pub enum Platforms {
    /// Everything that the origin has.
    All,
    /// For each of these the best that there is; one that isn't there is an error.
    Only(Vec<Matcher>),
}

/// What is taken of one name.
#[derive(Clone, Debug, Default)]
pub struct Selected {
    /// What the bundle lists: the image, and what refers to it.
    pub listed: Vec<Listed>,
    /// Indexes, manifests and configs.
    pub documents: BTreeMap<Digest, Bytes>,
    /// Everything else.
    pub layers: BTreeMap<Digest, Descriptor>,
    /// Layers that the origin, a delta, leaves to other bundles.
    pub elsewhere: BTreeMap<Digest, Descriptor>,
    /// What others may refer to: the image, its indexes and its chosen manifests.
    pub subjects: BTreeSet<Digest>,
    /// The chosen manifests, as Docker lists them.
    pub docker: Vec<DockerImage>,
}

/// Why an image can't be taken.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// No origin has the name.
    #[error("it is not in {origins}")]
    NotFound {
        /// Where it was looked for.
        origins: String,
    },
    /// The tag stands for something else by now.
    #[error("its tag stands for {found}, not for the digest in its name")]
    DigestDiffers {
        /// What the tag stands for.
        found: Digest,
    },
    /// An origin failed.
    #[error(transparent)]
    Origin(#[from] OriginError),
    /// Something that it refers to isn't there.
    #[error("its {role} {digest} is missing")]
    Missing {
        /// What it is to the image.
        role: Role,
        /// Its digest.
        digest: Digest,
    },
    /// A document isn't what its digest says.
    #[error("the document {expected} is damaged: its digest is {found}")]
    Damaged {
        /// As the descriptor says.
        expected: Digest,
        /// Of the bytes.
        found: Digest,
    },
    /// A document can't be used.
    #[error("the document {digest} {source}")]
    Document {
        /// Its digest.
        digest: Digest,
        /// What is wrong with it.
        #[source]
        source: Box<DocumentError>,
    },
    /// It isn't for a platform that is wanted.
    #[error("it has no image for {wanted}, only for {}", list(found))]
    NoPlatform {
        /// What was asked for.
        wanted: Platform,
        /// What there is.
        found: Vec<Platform>,
    },
    /// Indexes within indexes, too many.
    #[error("its indexes are nested over {} levels deep", limits::INDEX_DEPTH)]
    TooDeep,
    /// What refers to it, and what refers to that, without an end.
    #[error(
        "what refers to it is referred to itself, over {} levels deep; leave out --with-referrers",
        referring::LEVELS
    )]
    ReferrersTooDeep,
    /// Too much refers to it.
    #[error(
        "over {} signatures, SBOMs and the like refer to it; leave out --with-referrers",
        referring::MOST
    )]
    TooManyReferrers,
}

fn list(platforms: &[Platform]) -> String {
    if platforms.is_empty() {
        return "platforms that it does not name".to_owned();
    }
    let shown: Vec<String> = platforms.iter().map(ToString::to_string).collect();
    shown.join(", ")
}

/// Follows a target to everything that is taken of it. `name` is where the origin is asked.
pub async fn select(
    origin: &Origin,
    name: &Name,
    target: Listed,
    platforms: &Platforms,
) -> Result<Selected, SelectError> {
    let mut walk = Walk {
        origin,
        name,
        platforms,
        names: target.names.iter().cloned().collect(),
        taken: Selected::default(),
        pending: vec![Step::to(target.descriptor.clone(), 1)],
        met: BTreeSet::new(),
        found: BTreeSet::new(),
    };
    walk.run().await?;
    walk.finish(target)
}

/// A document that is to be followed.
struct Step {
    descriptor: Descriptor,
    /// Of the indexes on the way to it.
    depth: usize,
    is_optional: bool,
}

impl Step {
    fn to(descriptor: Descriptor, depth: usize) -> Self {
        Self {
            descriptor,
            depth,
            is_optional: false,
        }
    }
}

struct Walk<'a> {
    origin: &'a Origin,
    name: &'a Name,
    platforms: &'a Platforms,
    names: Vec<Name>,
    taken: Selected,
    pending: Vec<Step>,
    /// Positions of the platforms for which there is an image.
    met: BTreeSet<usize>,
    /// Platforms that there are images for.
    found: BTreeSet<Platform>,
}

impl Walk<'_> {
    async fn run(&mut self) -> Result<(), SelectError> {
        while let Some(step) = self.pending.pop() {
            if self.taken.documents.contains_key(&step.descriptor.digest) {
                continue;
            }
            if step.descriptor.kind() == Kind::Other {
                self.leaf(&step.descriptor, step.is_optional)?;
                continue;
            }
            match self.read(&step.descriptor).await? {
                Some(bytes) => self.follow(&step, bytes).await?,
                None if step.is_optional => {}
                None => return Err(missing(&step.descriptor)),
            }
        }
        Ok(())
    }

    async fn follow(&mut self, step: &Step, bytes: Bytes) -> Result<(), SelectError> {
        let document = parse(&step.descriptor, &bytes)?;
        let digest = step.descriptor.digest.clone();
        self.taken.documents.insert(digest.clone(), bytes);
        if !matches!(&document, Document::Manifest(manifest) if manifest.is_artifact()) {
            self.taken.subjects.insert(digest);
        }
        match document {
            Document::Index(_) if step.depth > limits::INDEX_DEPTH => Err(SelectError::TooDeep),
            Document::Index(index) => self.index(&index, step.depth).await,
            Document::Manifest(manifest) => self.manifest(&manifest, step.depth == 1).await,
        }
    }

    async fn index(&mut self, index: &Index, depth: usize) -> Result<(), SelectError> {
        let mut children = Vec::new();
        for descriptor in &index.manifests {
            children.push((self.child(descriptor).await?, descriptor));
        }
        for (child, _) in &children {
            self.found.extend(child.platform().cloned());
        }
        let takes_all = index.artifact_type.is_some() || matches!(self.platforms, Platforms::All);
        let chosen = match self.platforms {
            Platforms::Only(matchers) if !takes_all => choose(&children, matchers, &mut self.met),
            _ => children
                .into_iter()
                .map(|(_, descriptor)| (descriptor, true))
                .collect(),
        };
        // Last in, first out: the order of the index is kept.
        let steps = chosen.into_iter().rev().map(|(child, is_optional)| Step {
            descriptor: child.clone(),
            depth: depth + 1,
            is_optional,
        });
        self.pending.extend(steps);
        Ok(())
    }

    /// What an index's descriptor leads to; a manifest whose platform is said nowhere is read.
    async fn child(&self, descriptor: &Descriptor) -> Result<Child, SelectError> {
        if let Some(child) = Child::of(descriptor) {
            return Ok(child);
        }
        let Some(bytes) = self.read(descriptor).await? else {
            return Ok(Child::Unknown);
        };
        Ok(match parse(descriptor, &bytes)? {
            Document::Index(_) => Child::Index,
            Document::Manifest(manifest) if manifest.is_artifact() => Child::Unknown,
            Document::Manifest(manifest) => match self.platform(&manifest).await? {
                Some(platform) => Child::Image(platform),
                None => Child::Unknown,
            },
        })
    }

    async fn platform(&self, manifest: &Manifest) -> Result<Option<Platform>, SelectError> {
        let config = self.read(&manifest.config).await?;
        let config = config.and_then(|bytes| Config::parse(&bytes).ok());
        Ok(config.map(|config| config.platform))
    }

    async fn manifest(&mut self, manifest: &Manifest, is_target: bool) -> Result<(), SelectError> {
        let is_image = !manifest.is_artifact();
        if is_target && is_image {
            self.meet(manifest).await?;
        }
        self.config(&manifest.config).await?;
        for layer in &manifest.layers {
            let kind = media_type::layer(&layer.media_type);
            let is_foreign = matches!(kind, Some(LayerKind::Tar { foreign: true, .. }));
            self.leaf(layer, is_foreign)?;
        }
        if is_image {
            self.taken.docker.push(DockerImage {
                names: self.names.clone(),
                config: manifest.config.digest.clone(),
                layers: manifest.layers.iter().map(|it| it.digest.clone()).collect(),
            });
        }
        Ok(())
    }

    /// An image without an index is for one platform, which must be among the wanted ones.
    async fn meet(&mut self, manifest: &Manifest) -> Result<(), SelectError> {
        let Some(platform) = self.platform(manifest).await? else {
            return Ok(());
        };
        let Platforms::Only(matchers) = self.platforms else {
            return Ok(());
        };
        if matchers.iter().any(|it| it.rank(&platform).is_some()) {
            self.met.extend(0..matchers.len());
        }
        self.found.insert(platform);
        Ok(())
    }

    async fn config(&mut self, descriptor: &Descriptor) -> Result<(), SelectError> {
        if descriptor.size > limits::CONFIG {
            return self.leaf(descriptor, false);
        }
        let bytes = self.read(descriptor).await?;
        let bytes = bytes.ok_or_else(|| SelectError::Missing {
            role: Role::Config,
            digest: descriptor.digest.clone(),
        })?;
        let digest = descriptor.digest.clone();
        self.taken.documents.insert(digest, bytes);
        Ok(())
    }

    fn leaf(&mut self, descriptor: &Descriptor, is_optional: bool) -> Result<(), SelectError> {
        let digest = &descriptor.digest;
        if self.taken.documents.contains_key(digest) || self.taken.layers.contains_key(digest) {
            return Ok(());
        }
        if self.origin.may_have(descriptor)? {
            let layers = &mut self.taken.layers;
            layers.insert(digest.clone(), descriptor.bare());
            return Ok(());
        }
        if is_optional {
            return Ok(());
        }
        if self.origin.bases_of(digest).is_some() {
            let elsewhere = &mut self.taken.elsewhere;
            elsewhere.insert(digest.clone(), descriptor.bare());
            return Ok(());
        }
        Err(SelectError::Missing {
            role: Role::Layer,
            digest: digest.clone(),
        })
    }

    async fn read(&self, descriptor: &Descriptor) -> Result<Option<Bytes>, SelectError> {
        if let Some(known) = self.taken.documents.get(&descriptor.digest) {
            return Ok(Some(known.clone()));
        }
        let bytes = self.origin.document(self.name, descriptor).await?;
        if let Some(bytes) = &bytes {
            let found = Digest::of(descriptor.digest.algorithm(), bytes);
            if found != descriptor.digest {
                let expected = descriptor.digest.clone();
                return Err(SelectError::Damaged { expected, found });
            }
        }
        Ok(bytes)
    }

    fn finish(mut self, mut target: Listed) -> Result<Selected, SelectError> {
        let is_image = !self.taken.docker.is_empty() || !self.found.is_empty();
        if let Platforms::Only(matchers) = self.platforms
            && is_image
            && let Some(unmet) = (0..matchers.len()).find(|at| !self.met.contains(at))
            && let Some(matcher) = matchers.get(unmet)
        {
            return Err(SelectError::NoPlatform {
                wanted: matcher.wanted().clone(),
                found: self.found.into_iter().collect(),
            });
        }
        self.say_type(&mut target);
        // Whatever it is: an artifact can be signed as well.
        let digest = target.descriptor.digest.clone();
        self.taken.subjects.insert(digest);
        self.taken.listed.push(target);
        Ok(self.taken)
    }

    /// A reader of the bundle needs the media type that a descriptor may leave out.
    fn say_type(&self, target: &mut Listed) {
        let descriptor = &mut target.descriptor;
        if descriptor.kind() != Kind::Unsaid {
            return;
        }
        let bytes = self.taken.documents.get(&descriptor.digest);
        if let Some(Ok(document)) = bytes.map(|bytes| Document::parse(bytes, "")) {
            document.media_type().clone_into(&mut descriptor.media_type);
        }
    }
}

fn parse(descriptor: &Descriptor, bytes: &Bytes) -> Result<Document, SelectError> {
    Document::parse(bytes, &descriptor.media_type).map_err(|source| SelectError::Document {
        digest: descriptor.digest.clone(),
        source: Box::new(source),
    })
}

fn missing(descriptor: &Descriptor) -> SelectError {
    SelectError::Missing {
        role: match descriptor.kind() {
            Kind::Index => Role::Index,
            _ => Role::Manifest,
        },
        digest: descriptor.digest.clone(),
    }
}
