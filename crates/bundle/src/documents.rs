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

/// The documents read so far, by digest.
pub(crate) struct Documents<'a> {
    archive: &'a Archive,
    bytes: BTreeMap<Digest, Result<Bytes, ImageError>>,
    /// A config is parsed once for all the manifests that share it.
    configs: BTreeMap<Digest, Result<Arc<Config>, ImageError>>,
    held: u64,
}

impl<'a> Documents<'a> {
    pub(crate) fn new(archive: &'a Archive) -> Self {
        Self {
            archive,
            bytes: BTreeMap::new(),
            configs: BTreeMap::new(),
            held: 0,
        }
    }

    pub(crate) fn archive(&self) -> &'a Archive {
        self.archive
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
        let Some(entry) = locate(self.archive, descriptor, role)? else {
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

/// The entry that holds the blob of `descriptor`, which has the size that it should have; `None`
/// if the archive has it not.
pub(crate) fn locate(
    archive: &Archive,
    descriptor: &Descriptor,
    role: Role,
) -> Result<Option<EntryId>, Fault> {
    let digest = &descriptor.digest;
    if digest.algorithm() != Algorithm::Sha256 {
        let digest = digest.clone();
        return Err(Fault::Image(ImageError::Unstorable { role, digest }));
    }
    let name = entry_name(digest);
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
