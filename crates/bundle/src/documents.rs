//! Reads the documents of an image layout: each once, verified, within a budget.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::archive::{Archive, EntryId};
use crate::digest::{Algorithm, Digest};
use crate::document::{Config, Descriptor, Document};
use crate::fault::Fault;
use crate::image::{ImageError, Role};
use crate::limits;
use crate::open::OpenError;

/// Which digests a document may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Accepted {
    /// Those that containerd can store.
    Storable,
    /// All that can be verified.
    Any,
}

/// The documents read so far, by digest.
pub(crate) struct Documents<'a> {
    archive: &'a Archive,
    accepted: Accepted,
    bytes: BTreeMap<Digest, Result<Bytes, ImageError>>,
    /// A config is parsed once for all the manifests that share it.
    configs: BTreeMap<Digest, Result<Arc<Config>, ImageError>>,
    held: u64,
}

impl<'a> Documents<'a> {
    /// Reads documents that are to be imported.
    pub(crate) fn new(archive: &'a Archive) -> Self {
        Self::accepting(archive, Accepted::Storable)
    }

    /// Reads documents that are only to be verified, whatever they are called by.
    pub(crate) fn of_any_digest(archive: &'a Archive) -> Self {
        Self::accepting(archive, Accepted::Any)
    }

    fn accepting(archive: &'a Archive, accepted: Accepted) -> Self {
        Self {
            archive,
            accepted,
            bytes: BTreeMap::new(),
            configs: BTreeMap::new(),
            held: 0,
        }
    }

    pub(crate) fn archive(&self) -> &'a Archive {
        self.archive
    }

    /// Takes a document that was read and verified before, so that it isn't read again.
    pub(crate) fn hold(&mut self, digest: &Digest, bytes: &Bytes) {
        self.bytes.insert(digest.clone(), Ok(bytes.clone()));
    }

    /// How many documents were looked at, and the bytes of those that are what they should be.
    pub(crate) fn seen(&self) -> (usize, u64) {
        let sound = self.bytes.values().filter_map(|read| read.as_ref().ok());
        let bytes = sound.map(|bytes| u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        (self.bytes.len(), bytes.sum())
    }

    /// The index or manifest that `descriptor` points to; `None` if the archive has it not.
    pub(crate) fn document(
        &mut self,
        descriptor: &Descriptor,
        role: Role,
    ) -> Result<Option<Document>, Fault> {
        let Some(bytes) = self.read(descriptor, role)? else {
            return Ok(None);
        };
        let document = Document::parse(&bytes, &descriptor.media_type);
        let document = document.map_err(|source| ImageError::Document {
            entry: entry_name(&descriptor.digest),
            source,
        })?;
        Ok(Some(document))
    }

    /// The image config that `descriptor` points to; `None` if the archive has it not.
    pub(crate) fn config(&mut self, descriptor: &Descriptor) -> Result<Option<Arc<Config>>, Fault> {
        let Some(bytes) = self.read(descriptor, Role::Config)? else {
            return Ok(None);
        };
        let digest = &descriptor.digest;
        let config = self.configs.entry(digest.clone()).or_insert_with(|| {
            Config::parse(&bytes)
                .map(Arc::new)
                .map_err(|source| ImageError::Document {
                    entry: entry_name(digest),
                    source,
                })
        });
        Ok(Some(config.clone()?))
    }

    /// The verified bytes that `descriptor` points to; `None` if the archive has them not.
    pub(crate) fn read(
        &mut self,
        descriptor: &Descriptor,
        role: Role,
    ) -> Result<Option<Bytes>, Fault> {
        let entry = match self.accepted {
            Accepted::Storable => locate(self.archive, descriptor, role)?,
            Accepted::Any => find(self.archive, descriptor)?,
        };
        let Some(entry) = entry else {
            return Ok(None);
        };
        if let Some(known) = self.bytes.get(&descriptor.digest) {
            return Ok(Some(known.clone()?));
        }
        let read = Fault::settle(self.read_entry(entry, &descriptor.digest, role))?;
        self.bytes.insert(descriptor.digest.clone(), read.clone());
        Ok(Some(read?))
    }

    fn read_entry(&mut self, entry: EntryId, digest: &Digest, role: Role) -> Result<Bytes, Fault> {
        let limit = match role {
            Role::Config => limits::CONFIG,
            Role::Layer | Role::Manifest | Role::Index => limits::MANIFEST,
        };
        let bytes = self.archive.read(entry, limit)?;
        self.held = self.held.saturating_add(self.archive.size(entry));
        if self.held > limits::DOCUMENTS_HELD {
            return Err(OpenError::TooManyDocuments.into());
        }
        let found = Digest::of(digest.algorithm(), &bytes);
        if found != *digest {
            return Err(Fault::Image(ImageError::Damaged {
                entry: entry_name(digest),
                expected: digest.clone(),
                found,
            }));
        }
        Ok(bytes)
    }
}

/// The entry that holds the blob of `descriptor`, which can be stored and has the size that it
/// should have; `None` if the archive has it not.
pub(crate) fn locate(
    archive: &Archive,
    descriptor: &Descriptor,
    role: Role,
) -> Result<Option<EntryId>, Fault> {
    check_storable(&descriptor.digest, role)?;
    find(archive, descriptor)
}

/// That containerd can store a blob of this digest.
pub(crate) fn check_storable(digest: &Digest, role: Role) -> Result<(), ImageError> {
    if digest.algorithm() == Algorithm::Sha256 {
        return Ok(());
    }
    let digest = digest.clone();
    Err(ImageError::Unstorable { role, digest })
}

/// The entry that holds the blob of `descriptor`, which has the size that it should have; `None`
/// if the archive has it not.
pub(crate) fn find(archive: &Archive, descriptor: &Descriptor) -> Result<Option<EntryId>, Fault> {
    let name = entry_name(&descriptor.digest);
    let Some(entry) = archive.find(&name)? else {
        return Ok(None);
    };
    let (expected, found) = (descriptor.size, archive.size(entry));
    if found != expected {
        return Err(Fault::Image(ImageError::Size {
            entry: name,
            expected,
            found,
        }));
    }
    Ok(Some(entry))
}

/// Where an image layout keeps the blob of this digest.
pub(crate) fn entry_name(digest: &Digest) -> String {
    format!("blobs/{}/{}", digest.algorithm(), digest.hex())
}
