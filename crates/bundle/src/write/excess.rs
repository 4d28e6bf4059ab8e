//! What no reader would take: more than its limits allow. It is told before anything is written.

use std::collections::{BTreeMap, BTreeSet};

use super::{Compression, Contents, index};
use crate::archive::is_kept;
use crate::digest::Digest;
use crate::document::media_type::Kind;
use crate::document::{Config, Descriptor, Document, Manifest};
use crate::limits;

/// How often a reader takes `index.json` in its hands.
const INDEX_READS: usize = 4;

/// What a bundle would have too much of: a sentence that ends with what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Excess {
    #[error(
        "the bundle would hold {count} files, over the {} that can be read; \
         put fewer images into one bundle",
        limits::ENTRIES
    )]
    Entries { count: usize },
    #[error(
        "the bundle's {list} would take {size} bytes, over the {} that can be read; \
         put fewer images into one bundle",
        limits::MANIFEST
    )]
    List { list: &'static str, size: usize },
    #[error(
        "the bundle would list {count} manifests, over the {} that can be read; \
         put fewer images into one bundle",
        limits::DESCRIPTORS
    )]
    Descriptors { count: usize },
    #[error(
        "the bundle's indexes, manifests and configs for {platform} would take {size} bytes, \
         over the {} that can be read; put fewer images into one bundle",
        limits::DOCUMENTS_HELD
    )]
    Documents { platform: String, size: u64 },
    #[error(
        "the bundle's images for {platform} would have {count} layers and documents in all, \
         over the {} that can be read; put fewer images into one bundle",
        limits::BLOBS
    )]
    Blobs { platform: String, count: usize },
    #[error(
        "the bundle would hold more than can be read from a compressed file; \
         leave out --compress, or put fewer images into one bundle"
    )]
    Compressed,
}

impl Contents {
    /// That a reader would take it, written like that.
    ///
    /// # Errors
    /// The first limit that it exceeds.
    pub fn check(&self, compression: Compression) -> Result<(), Excess> {
        let index = index::index(self).len();
        self.check_lists(index)?;
        let survey = Survey::of(self)?;
        for ((os, architecture), read) in &survey.platforms {
            read.check(self, &survey.shared, &format!("{os}/{architecture}"))?;
        }
        if compression == Compression::Zstd {
            self.check_compressed(index, &survey)?;
        }
        Ok(())
    }

    fn check_lists(&self, index: usize) -> Result<(), Excess> {
        // The marker, the lists, and three directories at most.
        let count = self.documents.len() + self.layers.len() + 6;
        if count > limits::ENTRIES {
            return Err(Excess::Entries { count });
        }
        let images = self.docker.len();
        if images > limits::DESCRIPTORS {
            return Err(Excess::Descriptors { count: images });
        }
        let docker = match images {
            0 => 0,
            _ => index::docker(&self.docker).len(),
        };
        for (list, size) in [("index.json", index), ("manifest.json", docker)] {
            if size as u64 > limits::MANIFEST {
                return Err(Excess::List { list, size });
            }
        }
        Ok(())
    }

    /// A reader keeps what it meets first, and makes a pass over the file for anything else.
    fn check_compressed(&self, index: usize, survey: &Survey<'_>) -> Result<(), Excess> {
        let heads = self.layers.values();
        let heads: u64 = heads.map(|size| (*size).min(limits::HEAD as u64)).sum();
        let (mut kept, mut lost) = (0, BTreeSet::new());
        let mut keeps = |size: usize| {
            let fits = is_kept(size, kept);
            kept += if fits { size } else { 0 };
            fits
        };
        let passes = if keeps(index) { 0 } else { INDEX_READS };
        for (digest, bytes) in &self.documents {
            if !keeps(bytes.len()) {
                lost.insert(digest);
            }
        }
        let reads = survey.platforms.values();
        let reads = reads.map(|read| read.documents.intersection(&lost).count());
        let shared = survey.shared.intersection(&lost).count();
        let passes = passes + shared + reads.max().unwrap_or(0);
        let is_over = passes > limits::EXTRA_PASSES as usize || heads > limits::HEADS_KEPT as u64;
        if is_over {
            return Err(Excess::Compressed);
        }
        Ok(())
    }
}

/// Operating system and architecture: variants of one are counted together, since a reader may
/// take any of them.
type Family = (String, String);

/// What a reader goes through for one kind of node.
#[derive(Default)]
struct Read<'a> {
    documents: BTreeSet<&'a Digest>,
    blobs: usize,
}

impl Read<'_> {
    fn check(
        &self,
        contents: &Contents,
        shared: &BTreeSet<&Digest>,
        platform: &str,
    ) -> Result<(), Excess> {
        let platform = platform.to_owned();
        let documents = self.documents.union(shared);
        let sizes = documents.filter_map(|digest| contents.documents.get(*digest));
        let size: u64 = sizes.map(|bytes| bytes.len() as u64).sum();
        if size > limits::DOCUMENTS_HELD {
            return Err(Excess::Documents { platform, size });
        }
        let count = self.blobs;
        if count > limits::BLOBS {
            return Err(Excess::Blobs { platform, count });
        }
        Ok(())
    }
}

/// What a reader goes through, by the platform that it reads for.
struct Survey<'a> {
    contents: &'a Contents,
    descriptors: usize,
    /// Documents that are read on each platform.
    shared: BTreeSet<&'a Digest>,
    platforms: BTreeMap<Family, Read<'a>>,
}

impl<'a> Survey<'a> {
    fn of(contents: &'a Contents) -> Result<Self, Excess> {
        let names = contents.listed.values().map(|it| it.names.len().max(1));
        let mut survey = Self {
            contents,
            descriptors: 0,
            shared: BTreeSet::new(),
            platforms: BTreeMap::new(),
        };
        survey.count(names.sum())?;
        for listed in contents.listed.values() {
            survey.target(&listed.descriptor)?;
        }
        Ok(survey)
    }

    fn count(&mut self, more: usize) -> Result<(), Excess> {
        self.descriptors += more;
        let count = self.descriptors;
        if count > limits::DESCRIPTORS {
            return Err(Excess::Descriptors { count });
        }
        Ok(())
    }

    /// Of an image a reader takes what is for its own platform: one manifest, and the indexes on
    /// the way to it.
    fn target(&mut self, target: &Descriptor) -> Result<(), Excess> {
        let mut blobs: BTreeMap<Family, usize> = BTreeMap::new();
        let mut seen = BTreeSet::from([target.digest.clone()]);
        let mut pending = vec![(target.clone(), 0)];
        while let Some((descriptor, depth)) = pending.pop() {
            let document = match self.document(&descriptor) {
                Some((digest, Document::Index(index))) => {
                    if self.shared.insert(digest) {
                        self.count(index.manifests.len())?;
                    }
                    let children = index.manifests.into_iter();
                    let new = children.filter(|child| seen.insert(child.digest.clone()));
                    pending.extend(new.map(|child| (child, depth + 1)));
                    continue;
                }
                Some((digest, Document::Manifest(manifest))) => (digest, manifest),
                None => continue,
            };
            if let Some((family, count)) = self.manifest(document.0, &document.1) {
                let most = blobs.entry(family).or_default();
                *most = (*most).max(count + depth);
            }
        }
        for (family, count) in blobs {
            self.platforms.entry(family).or_default().blobs += count;
        }
        Ok(())
    }

    fn document(&self, descriptor: &Descriptor) -> Option<(&'a Digest, Document)> {
        if descriptor.kind() == Kind::Other || descriptor.artifact_type.is_some() {
            return None;
        }
        let documents = &self.contents.documents;
        let (digest, bytes) = documents.get_key_value(&descriptor.digest)?;
        let document = Document::parse(bytes, &descriptor.media_type).ok()?;
        Some((digest, document))
    }

    /// For whom it is, and how many layers and documents it has.
    fn manifest(&mut self, digest: &'a Digest, manifest: &Manifest) -> Option<(Family, usize)> {
        let documents = &self.contents.documents;
        let config = documents.get_key_value(&manifest.config.digest);
        let Some((config, bytes)) = config.filter(|_| !manifest.is_artifact()) else {
            self.shared.insert(digest);
            return None;
        };
        let platform = Config::parse(bytes).ok()?.platform;
        let family = (platform.os, platform.architecture);
        let read = self.platforms.entry(family.clone()).or_default();
        read.documents.extend([digest, config]);
        let layers = manifest.layers.iter().map(|layer| &layer.digest);
        let each: BTreeSet<&Digest> = layers.chain([config, digest]).collect();
        Some((family, manifest.layers.len() + each.len()))
    }
}
