//! Where images come from: bundles, a running containerd, registries.
//!
//! An origin answers four questions, and each kind of origin is a variant of [`Origin`] that
//! answers them with methods of the same names:
//!
//! 1. `resolve`: which descriptor does this name stand for? `None` where the origin hasn't it, and
//!    the next origin is asked.
//! 2. `document`: the bytes of an index, a manifest or a config. Whoever asks compares them with
//!    their digest; they are never serialised again.
//! 3. `referrers`: what refers to a digest (signatures, SBOMs), to be listed beside it.
//! 4. `blobs`: layers, made ready to be read. It returns at once where it can, and may go on
//!    working: [`Blob::open`] is called from a thread that may wait, in the order in which the
//!    file is written, which is the order of digests. So downloads run ahead of the writer, and a
//!    blob that fails does so when it is opened or read. What is read is compared with digest and
//!    size by the writer.
//!
//! A blob belongs to the name through which it was found: registries give it under that name's
//! repository only, and with that name's credentials.

pub mod containerd;
pub mod registry;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};

use airdock_bundle::archive::Region;
use airdock_bundle::digest::Digest;
use airdock_bundle::document::Descriptor;
use airdock_bundle::name::Name;
use airdock_bundle::write::Listed;
use bytes::Bytes;

use containerd::{ContainerdOrigin, StoredBlob};
use registry::{PulledBlob, RegistryOrigin};

use crate::output::shown;
use crate::pull::PullError;
use crate::reader::{ReadError, Reader, read_region};

/// Where images come from.
#[derive(Debug)]
pub enum Origin {
    /// A bundle or a layout directory.
    Bundle(Reader),
    /// A running containerd.
    Containerd(ContainerdOrigin),
    /// The registry of each name.
    Registry(RegistryOrigin),
}

/// Why an origin didn't give what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    /// A bundle can't be read, or is damaged.
    #[error(transparent)]
    Bundle(#[from] ReadError),
    /// A call to containerd failed.
    #[error(transparent)]
    Containerd(#[from] airdock_containerd::Error),
    /// A registry can't be asked, or sends what can't be used.
    #[error(transparent)]
    Registry(#[from] Box<PullError>),
}

/// A layer that is wanted, and the name through which it was found.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Whose repository has it.
    pub name: Name,
    /// Its digest and size.
    pub descriptor: Descriptor,
}

/// Layers that are ready, or being made so.
pub type Blobs = BTreeMap<Digest, Blob>;

/// A layer that can be read.
#[derive(Debug)]
pub enum Blob {
    /// Part of a file, or all of it.
    Region(Region),
    /// In a containerd.
    Stored(StoredBlob),
    /// From a registry.
    Pulled(PulledBlob),
}

impl Blob {
    /// Its bytes, from the start. Reading may wait for them.
    pub fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        match self {
            Self::Region(region) => Ok(Box::new(read_region(region))),
            Self::Stored(blob) => Ok(Box::new(blob.open())),
            Self::Pulled(blob) => Ok(Box::new(blob.open()?)),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bundle(bundle) => f.pad(&shown(bundle.path())),
            Self::Containerd(containerd) => write!(f, "containerd:{}", shown(containerd.socket())),
            Self::Registry(_) => f.pad("its registry"),
        }
    }
}

impl Origin {
    /// What a name stands for; `None` where it isn't here.
    pub async fn resolve(&self, name: &Name) -> Result<Option<Descriptor>, OriginError> {
        match self {
            Self::Bundle(bundle) => Ok(bundle.resolve(name)),
            Self::Containerd(containerd) => Ok(containerd.resolve(name).await?),
            Self::Registry(registry) => Ok(registry.resolve(name).await.map_err(Box::new)?),
        }
    }

    /// Everything that is listed here, where that can be asked.
    pub fn all(&self) -> Option<&[Listed]> {
        match self {
            Self::Bundle(bundle) => Some(bundle.listed()),
            Self::Containerd(_) | Self::Registry(_) => None,
        }
    }

    /// An index, a manifest or a config; `None` where it isn't here.
    pub async fn document(
        &self,
        name: &Name,
        descriptor: &Descriptor,
    ) -> Result<Option<Bytes>, OriginError> {
        match self {
            Self::Bundle(bundle) => Ok(bundle.document(descriptor)?),
            Self::Containerd(containerd) => Ok(containerd.document(descriptor).await?),
            Self::Registry(registry) => {
                let document = registry.document(name, descriptor).await;
                Ok(document.map_err(Box::new)?)
            }
        }
    }

    /// What refers to a digest, with the names that it has itself.
    pub async fn referrers(
        &self,
        name: &Name,
        subject: &Digest,
    ) -> Result<Vec<Listed>, OriginError> {
        match self {
            Self::Bundle(_) | Self::Containerd(_) => Ok(Vec::new()),
            Self::Registry(registry) => {
                let referrers = registry.referrers(name, subject).await;
                Ok(referrers.map_err(Box::new)?)
            }
        }
    }

    /// Ids of the bundles that have a layer which this one, a delta, leaves to them; `None` where
    /// it doesn't.
    pub fn bases_of(&self, layer: &Digest) -> Option<&[String]> {
        match self {
            Self::Bundle(bundle) => bundle.bases_of(layer),
            Self::Containerd(_) | Self::Registry(_) => None,
        }
    }

    /// Images that it lists and that can't be taken at all, each with its reason.
    pub fn refused(&self) -> Vec<(String, String)> {
        match self {
            Self::Bundle(bundle) => bundle.refused().collect(),
            Self::Containerd(_) | Self::Registry(_) => Vec::new(),
        }
    }

    /// Whether a layer is here, as far as that is known without asking for it.
    pub fn may_have(&self, descriptor: &Descriptor) -> Result<bool, OriginError> {
        match self {
            Self::Bundle(bundle) => Ok(bundle.has(descriptor)?),
            Self::Containerd(containerd) => Ok(containerd.has(descriptor)),
            Self::Registry(registry) => Ok(registry.has(descriptor)),
        }
    }

    /// Layers, made ready. Those that can't be had are absent, or fail when they are opened.
    pub async fn blobs(&self, wanted: &[Wanted]) -> Result<Blobs, OriginError> {
        match self {
            Self::Bundle(bundle) => {
                let wanted = wanted.iter().map(|wanted| &wanted.descriptor);
                let regions = bundle.regions(wanted)?.into_iter();
                Ok(regions
                    .map(|(digest, it)| (digest, Blob::Region(it)))
                    .collect())
            }
            Self::Containerd(containerd) => Ok(containerd.blobs(wanted)),
            Self::Registry(registry) => Ok(registry.blobs(wanted)),
        }
    }
}
