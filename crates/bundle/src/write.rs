//! Writes bundles: an OCI image layout in a tar, the same bytes for the same contents.
//!
//! `oci-layout` and `index.json` come first, so that a reader can plan before blobs arrive, then
//! documents, then layers, each in the order of their digests. Times, owners and modes are fixed.
//! The content of larger blobs starts at a multiple of [`limits::ALIGNMENT`], so that file systems
//! can share extents with what is copied out of the bundle.

mod error;
mod excess;
mod frames;
mod index;
mod plan;
mod size;
mod tar;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};

use bytes::Bytes;

use crate::digest::{Digest, Hasher};
use crate::document::Descriptor;
use crate::limits;
use crate::name::Name;

pub use error::WriteError;
pub use excess::Excess;
pub use size::Size;

use frames::Frames;
use plan::{Body, Entry};

/// How the file is compressed. Layers stay as they are either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    #[default]
    None,
    /// Frames that can be read one by one, with a seek table at the end; any zstd reads it.
    Zstd,
}

/// Gives the bytes of a layer, from their start.
pub type Bodies<'a> = dyn FnMut(&Digest, u64) -> io::Result<Box<dyn Read + 'a>> + 'a;

/// An entry of `index.json`: a descriptor and the names that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub descriptor: Descriptor,
    pub names: BTreeSet<Name>,
}

/// One image as Docker's `manifest.json` lists it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DockerImage {
    pub names: Vec<Name>,
    pub config: Digest,
    /// Lowest first.
    pub layers: Vec<Digest>,
}

/// All that a bundle holds: what it lists, documents as their own bytes, and which layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    listed: BTreeMap<Digest, Listed>,
    documents: BTreeMap<Digest, Bytes>,
    layers: BTreeMap<Digest, u64>,
    /// Layers that another bundle holds.
    elsewhere: BTreeMap<Digest, u64>,
    bases: BTreeSet<String>,
    docker: BTreeSet<DockerImage>,
}

impl Contents {
    /// Lists an image, or something else that has a descriptor, under names. One digest is listed
    /// once; its names come together.
    pub fn list(&mut self, descriptor: Descriptor, names: impl IntoIterator<Item = Name>) {
        let digest = descriptor.digest.clone();
        let listed = self.listed.entry(digest).or_insert_with(|| Listed {
            descriptor,
            names: BTreeSet::new(),
        });
        listed.names.extend(names);
    }

    /// Adds an index, a manifest or a config. Its bytes are written as they are.
    ///
    /// # Errors
    /// When they have another digest.
    pub fn add_document(&mut self, digest: &Digest, bytes: Bytes) -> Result<(), WriteError> {
        let found = Digest::of(digest.algorithm(), &bytes);
        if found != *digest {
            let digest = digest.clone();
            return Err(WriteError::Digest { digest, found });
        }
        self.layers.remove(digest);
        self.documents.insert(digest.clone(), bytes);
        Ok(())
    }

    /// Adds a layer, or another blob that is not held in memory.
    ///
    /// # Errors
    /// When it is there already in another size.
    pub fn add_layer(&mut self, digest: &Digest, size: u64) -> Result<(), WriteError> {
        if self.documents.contains_key(digest) {
            return Ok(());
        }
        let known = *self.layers.entry(digest.clone()).or_insert(size);
        if known != size {
            return Err(WriteError::TwoSizes {
                digest: digest.clone(),
                sizes: (known, size),
            });
        }
        Ok(())
    }

    /// Lists an image for `docker load` as well, which reads no `index.json` before version 25.
    pub fn list_for_docker(&mut self, image: DockerImage) {
        self.docker.insert(image);
    }

    /// Leaves out the layers that `base` has, and notes that they are to be found there.
    pub fn leave_out(&mut self, base: &str, has: impl Fn(&Digest) -> bool) {
        let layers = std::mem::take(&mut self.layers);
        let (gone, kept): (BTreeMap<_, _>, _) =
            layers.into_iter().partition(|(digest, _)| has(digest));
        self.layers = kept;
        if !gone.is_empty() {
            self.bases.insert(base.to_owned());
            self.elsewhere.extend(gone);
        }
    }

    /// Notes a layer that it doesn't hold, and which bundles do.
    pub fn refer(&mut self, digest: &Digest, size: u64, bases: impl IntoIterator<Item = String>) {
        if !self.layers.contains_key(digest) {
            self.elsewhere.insert(digest.clone(), size);
            self.bases.extend(bases);
        }
    }

    /// What it lists, by digest.
    pub fn listed(&self) -> impl Iterator<Item = &Listed> {
        self.listed.values()
    }

    /// The documents.
    pub fn documents(&self) -> impl Iterator<Item = (&Digest, &Bytes)> {
        self.documents.iter()
    }

    /// The layers that are written, and their sizes.
    pub fn layers(&self) -> impl Iterator<Item = (&Digest, u64)> {
        self.layers.iter().map(|(digest, size)| (digest, *size))
    }

    /// The layers that were left out, and their sizes.
    pub fn elsewhere(&self) -> impl Iterator<Item = (&Digest, u64)> {
        self.elsewhere.iter().map(|(digest, size)| (digest, *size))
    }

    /// Bytes of all documents and layers: what writing reports as progress.
    pub fn size(&self) -> u64 {
        let documents = self.documents.values().map(|bytes| bytes.len() as u64);
        documents.chain(self.layers.values().copied()).sum()
    }

    /// Bytes of the tar, before it is compressed.
    pub fn archive_size(&self) -> u64 {
        let entries = plan::entries(self);
        let end = entries
            .iter()
            .fold(0, |offset, entry| tar::end_of(entry, offset));
        end + tar::TRAILER as u64
    }

    /// Writes the bundle. `bodies` gives each layer once, in the order of their digests;
    /// `progress` is told the bytes of content written.
    ///
    /// # Errors
    /// When a body can't be read, or is not what its digest and size say, or the output can't be
    /// written. What was written then is no bundle.
    pub fn write_to(
        &self,
        output: impl Write,
        compression: Compression,
        bodies: &mut Bodies<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), WriteError> {
        let mut writer = Writer {
            output: Frames::new(output, compression),
            offset: 0,
            progress,
        };
        for entry in plan::entries(self) {
            writer.entry(&entry, bodies)?;
        }
        writer.finish()
    }
}

struct Writer<'a, W: Write> {
    output: Frames<W>,
    /// Of the tar, whatever it is compressed to.
    offset: u64,
    progress: &'a mut dyn FnMut(u64),
}

impl<W: Write> Writer<'_, W> {
    fn entry(&mut self, entry: &Entry<'_>, bodies: &mut Bodies<'_>) -> Result<(), WriteError> {
        if entry.is_large() {
            self.output.cut()?;
        }
        self.put(&tar::header(entry, self.offset))?;
        match entry.body {
            Body::Directory => {}
            Body::Bytes(ref bytes) => {
                self.put(bytes)?;
                (self.progress)(bytes.len() as u64);
            }
            Body::Layer(digest, size) => {
                let body = bodies(digest, size).map_err(|source| WriteError::Body {
                    digest: digest.clone(),
                    source,
                })?;
                self.layer(digest, size, body)?;
            }
        }
        self.put(tar::padding(self.offset))
    }

    fn layer(&mut self, digest: &Digest, size: u64, body: impl Read) -> Result<(), WriteError> {
        let mut hasher = Hasher::new(digest.algorithm());
        let mut buffer = vec![0; limits::VISIT_CHUNK];
        // One byte more than it should have tells that there are too many.
        let mut body = body.take(size.saturating_add(1));
        let mut done = 0u64;
        loop {
            let piece = read_piece(&mut body, &mut buffer).map_err(|source| WriteError::Body {
                digest: digest.clone(),
                source,
            })?;
            if piece.is_empty() {
                break;
            }
            done += piece.len() as u64;
            if done > size {
                break;
            }
            hasher.update(piece);
            self.output.write(piece)?;
            self.offset += piece.len() as u64;
            (self.progress)(piece.len() as u64);
        }
        check(digest, size, done, hasher)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.output.write(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    fn finish(mut self) -> Result<(), WriteError> {
        self.put(&[0; tar::TRAILER])?;
        self.output.finish()
    }
}

fn read_piece<'a>(body: &mut impl Read, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
    loop {
        match body.read(buffer) {
            Ok(count) => return Ok(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn check(digest: &Digest, size: u64, found: u64, hasher: Hasher) -> Result<(), WriteError> {
    let digest = digest.clone();
    if found != size {
        let expected = size;
        return Err(WriteError::Size {
            digest,
            expected,
            found,
        });
    }
    let found = hasher.finish();
    if found != digest {
        return Err(WriteError::Digest { digest, found });
    }
    Ok(())
}
