//! An OCI image layout as a tar, written image by image: bundles are larger than memory.
//!
//! Blocks of zeros are left out of the file, which reads the same.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};

use airdock_testkit::fixture::{Blob, Descriptor, Tree, blob_path, media_type};
use serde_json::{Value, json};
use tar::Header;

use super::hollow::Hollow;
use super::layers::Written;

/// What is written or left out at once; a multiple of a file system's blocks.
const BLOCK: usize = 64 << 10;

/// A tar's header.
const HEADER: u64 = 512;

/// An archive that is being written.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    length: u64,
    seen: HashSet<String>,
    index: Vec<Value>,
    blobs: String,
}

impl Writer {
    pub(super) fn new(file: File) -> Self {
        Self {
            file,
            length: 0,
            seen: HashSet::new(),
            index: Vec::new(),
            blobs: String::new(),
        }
    }

    /// Adds an image, its layers first.
    pub(super) fn image(&mut self, name: &str, layers: &[Written]) -> anyhow::Result<()> {
        for layer in layers {
            self.blob(&layer.descriptor, &layer.tar)?;
        }
        let digests = layers
            .iter()
            .map(|layer| (&layer.descriptor, &layer.diff_id));
        self.documents(name, &digests.collect::<Vec<_>>())
    }

    /// Adds an image of layers that are next to nothing.
    pub(super) fn hollow_image(&mut self, name: &str, layers: &[Hollow]) -> anyhow::Result<()> {
        for layer in layers {
            self.hollow(layer)?;
        }
        let descriptors = layers.iter().map(|layer| &layer.descriptor);
        // Of a layer that isn't compressed the two digests are one.
        let digests = descriptors.map(|it| (it, &it.digest));
        self.documents(name, &digests.collect::<Vec<_>>())
    }

    /// Adds the config and the manifest of layers, each with what the config says of it.
    fn documents(&mut self, name: &str, layers: &[(&Descriptor, &String)]) -> anyhow::Result<()> {
        let (layers, diff_ids): (Vec<_>, Vec<_>) = layers.iter().copied().unzip();
        let config = self.document(media_type::CONFIG, &config(name, &diff_ids))?;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": media_type::MANIFEST,
            "config": config,
            "layers": layers,
        });
        let mut manifest = self.document(media_type::MANIFEST, &manifest)?;
        manifest.annotations = Some(json!({ "io.containerd.image.name": name }));
        self.index.push(serde_json::to_value(manifest)?);
        Ok(())
    }

    /// Adds what every layout has and the end of the archive. Returns a line for each blob:
    /// digest, offset and size.
    pub(super) fn finish(mut self) -> anyhow::Result<String> {
        let index = json!({
            "schemaVersion": 2,
            "mediaType": media_type::INDEX,
            "manifests": self.index,
        });
        let last = Tree::new()
            .file("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)
            .file("index.json", &serde_json::to_vec(&index)?)
            .tar();
        self.append(&last)?;
        self.file.set_len(self.length)?;
        Ok(self.blobs)
    }

    fn document(&mut self, media_type: &str, document: &Value) -> anyhow::Result<Descriptor> {
        let blob = Blob::new(media_type, serde_json::to_vec(document)?);
        let tar = Tree::new()
            .file(&blob.path(), &blob.content)
            .tar_without_end();
        self.blob(&blob.descriptor, &tar)?;
        Ok(blob.descriptor)
    }

    fn hollow(&mut self, layer: &Hollow) -> anyhow::Result<()> {
        let Descriptor { digest, size, .. } = &layer.descriptor;
        if !self.seen.insert(digest.clone()) {
            return Ok(());
        }
        writeln!(self.blobs, "{digest} {} {size}", self.length + HEADER)?;
        self.append(header(&blob_path(digest), *size)?.as_bytes())?;
        let zeros = size.saturating_sub(layer.last.len() as u64);
        self.file.seek(SeekFrom::Current(zeros.try_into()?))?;
        self.length += zeros;
        self.append(&layer.last)
    }

    fn blob(&mut self, descriptor: &Descriptor, tar: &[u8]) -> anyhow::Result<()> {
        let Descriptor { digest, size, .. } = descriptor;
        if self.seen.insert(digest.clone()) {
            writeln!(self.blobs, "{digest} {} {size}", self.length + HEADER)?;
            self.append(tar)?;
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        static ZEROS: [u8; BLOCK] = [0; BLOCK];
        for block in bytes.chunks(BLOCK) {
            if block == ZEROS {
                self.file.seek(SeekFrom::Current(block.len().try_into()?))?;
            } else {
                self.file.write_all(block)?;
            }
        }
        self.length += bytes.len() as u64;
        Ok(())
    }
}

/// Of a file whose size is a multiple of a tar's blocks.
fn header(path: &str, size: u64) -> anyhow::Result<Header> {
    let mut header = Header::new_ustar();
    header.set_path(path)?;
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    Ok(header)
}

/// The name makes it the only one of its kind, as a build's time would.
fn config(name: &str, diff_ids: &[&String]) -> Value {
    json!({
        "architecture": "amd64",
        "os": "linux",
        "author": name,
        "config": {},
        "rootfs": {
            "type": "layers",
            "diff_ids": diff_ids,
        },
    })
}
