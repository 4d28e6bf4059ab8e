//! One blob of a layout: written beside, hashed, synced, renamed into place.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use airdock_bundle::digest::{Digest, Hasher};
use airdock_containerd::Body;
use tempfile::NamedTempFile;

use crate::agent::offer::OfferedBlob;
use crate::store::{Put, StoreError};

/// What the names of unfinished files start with: the next agent that starts removes them.
pub(super) const UNFINISHED: &str = "unfinished-";

/// Layouts are shared with other tools, whoever runs them.
pub(super) fn readable_by_all() -> Permissions {
    Permissions::from_mode(0o644)
}

/// Writes a blob to `path`. Blocks on the body.
pub(super) fn write(
    work: &Path,
    path: &Path,
    blob: &OfferedBlob,
    body: Body,
) -> Result<Put, StoreError> {
    if fs::metadata(path).is_ok_and(|m| m.len() == blob.size) {
        return Ok(Put::Present);
    }
    let failed = |e| StoreError::layout("write", path, e);
    let mut sink = Sink::new(work, &blob.digest).map_err(failed)?;
    match body {
        Body::Whole(bytes) => sink.add(&bytes).map_err(failed)?,
        Body::Chunks(mut chunks) => {
            while let Some(chunk) = chunks.blocking_recv() {
                let chunk = chunk.map_err(|e| StoreError::Body(e.to_string()))?;
                sink.add(&chunk).map_err(failed)?;
            }
        }
    }
    sink.keep(path, blob).map_err(failed)
}

struct Sink {
    file: NamedTempFile,
    hasher: Hasher,
    size: u64,
}

impl Sink {
    fn new(work: &Path, digest: &Digest) -> io::Result<Self> {
        let file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .permissions(readable_by_all())
            .tempfile_in(work)?;
        Ok(Self {
            file,
            hasher: Hasher::new(digest.algorithm()),
            size: 0,
        })
    }

    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    fn keep(self, path: &Path, blob: &OfferedBlob) -> io::Result<Put> {
        if self.size != blob.size || self.hasher.finish() != blob.digest {
            return Ok(Put::Differs);
        }
        self.file.as_file().sync_all()?;
        self.file.persist(path)?;
        Ok(Put::Sent)
    }
}

/// Whether a stored blob is what its name says.
pub(super) fn is_sound(path: &Path, digest: &Digest) -> bool {
    let hashed = File::open(path).and_then(|file| hash(file, digest));
    hashed.is_ok_and(|found| found == *digest)
}

fn hash(file: File, digest: &Digest) -> io::Result<Digest> {
    let mut hasher = Hasher::new(digest.algorithm());
    hasher.read(file)?;
    Ok(hasher.finish())
}

/// Removes a blob; one that is gone already is as good.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(StoreError::layout("remove", path, e)),
        _ => Ok(()),
    }
}

/// Removes what a killed process left; failing to is no reason to stop.
pub(super) fn remove_unfinished(work: &Path) {
    let Ok(entries) = fs::read_dir(work) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            drop(fs::remove_file(entry.path()));
        }
    }
}
