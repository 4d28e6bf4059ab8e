//! Indexes of compressed bundles, so that one that has to be sent again is read once and not
//! twice: each in a file beside the bundle's entry, which is read only when it is needed.
//!
//! An index that can't be kept, or read, costs one more pass over its bundle: nothing here fails.
//! Nor is anything flushed to the disk. What is torn by a power cut is told by its seal, and what
//! was written before one isn't used (see `unclean.rs`).

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use airdock_bundle::limits;
use bytes::Bytes;

use super::UNFINISHED;
use crate::agent::space;

const EXTENSION: &str = "index";

/// Where the index of one bundle is kept.
#[derive(Clone, Debug)]
pub struct IndexFile(PathBuf);

impl IndexFile {
    /// Beside the entry of its bundle.
    pub(super) fn beside(entry: &Path) -> Self {
        Self(entry.with_extension(EXTENSION))
    }

    /// What was kept, whatever it is.
    pub fn read(&self) -> Option<Bytes> {
        let limit = u64::try_from(limits::REMEMBERED).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        let file = File::open(&self.0).ok()?;
        file.take(limit).read_to_end(&mut bytes).ok()?;
        Some(bytes.into())
    }

    /// Keeps this, in place of what was kept before.
    pub fn keep(&self, index: Option<&[u8]>) {
        if index.and_then(|index| self.write(index)).is_none() {
            self.remove();
        }
    }

    /// Keeps nothing.
    pub fn remove(&self) {
        drop(fs::remove_file(&self.0));
    }

    fn write(&self, index: &[u8]) -> Option<()> {
        let directory = self.0.parent()?;
        if !has_room(directory, index.len()) {
            return None;
        }
        let mut file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(directory)
            .ok()?;
        file.write_all(index).ok()?;
        file.persist(&self.0).ok().map(drop)
    }
}

/// Entries are worth more than indexes: of what is free, one takes no more than half.
fn has_room(directory: &Path, len: usize) -> bool {
    let free = space::free(directory).unwrap_or(u64::MAX);
    u64::try_from(len).is_ok_and(|len| len <= free / 2)
}

/// Removes those whose bundle has no entry.
pub(super) fn remove_unowned(directory: &Path) {
    remove(directory, |index| !index.with_extension("json").exists());
}

/// Removes all.
pub(super) fn remove_all(directory: &Path) {
    remove(directory, |_| true);
}

fn remove(directory: &Path, which: impl Fn(&Path) -> bool) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let is_index = |path: &PathBuf| path.extension().is_some_and(|it| it == EXTENSION);
    for index in paths.filter(is_index).filter(|path| which(path)) {
        drop(fs::remove_file(index));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_replaced_and_what_is_not_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let index = IndexFile::beside(&directory.path().join("0123.json"));
        assert_eq!(index.read(), None);
        index.keep(Some(b"one"));
        index.keep(Some(b"two"));
        assert_eq!(index.read().as_deref(), Some(&b"two"[..]));
        index.keep(None);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_does_not_fit_leaves_nothing_of_the_old_version_either() {
        let directory = tempfile::tempdir().unwrap();
        assert!(!has_room(directory.path(), usize::MAX));
        let index = IndexFile(directory.path().join("no/such/directory.index"));
        index.keep(Some(b"one"));
        assert_eq!(index.read(), None);
    }
}
