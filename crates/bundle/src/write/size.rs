//! How large a bundle becomes at most, told piece by piece while it grows: nothing is added up
//! twice.

use std::ops::{Add, AddAssign};

use super::Listed;
use super::index::entry_size;
use super::tar::{self, BLOCK};
use crate::digest::Digest;
use crate::limits;
use crate::name::Name;

/// Of `index.json` without entries; the words around its annotations are fewer.
const INDEX_FRAME: u64 = 256;
/// The marker, three directories and the index, each with its header.
const FRAME: u64 = 6 * BLOCK as u64;

/// A size that contents never exceed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Of documents and layers in the tar.
    blobs: u64,
    entries: usize,
    /// Of what stands in `index.json`.
    index: u64,
}

impl Size {
    /// Of an index, a manifest or a config.
    pub fn of_document(bytes: &[u8]) -> Self {
        Self::of_entry(BLOCK as u64 + tar::padded(bytes.len() as u64))
    }

    /// Of a layer that is in the bundle.
    pub fn of_layer(size: u64) -> Self {
        Self::of_entry(tar::most(size))
    }

    fn of_entry(blobs: u64) -> Self {
        Self {
            blobs,
            entries: 1,
            index: 0,
        }
    }

    /// Of a layer that another bundle has.
    pub fn of_absent(layer: &Digest) -> Self {
        Self::of_word(layer.as_str())
    }

    /// Of the name of a bundle that has layers.
    pub fn of_base(base: &str) -> Self {
        Self::of_word(base)
    }

    fn of_word(word: &str) -> Self {
        // What JSON escapes takes six bytes at most.
        let is_plain = |it: u8| !it.is_ascii_control() && !matches!(it, b'"' | b'\\');
        let bytes = word.bytes().map(|it| if is_plain(it) { 1 } else { 6 });
        Self {
            index: bytes.sum::<u64>() + 1,
            ..Self::default()
        }
    }

    /// Of something that is listed under a name, or under none.
    pub fn of_listed(listed: &Listed, name: Option<&Name>) -> Self {
        Self {
            index: entry_size(&listed.descriptor, name) + 1,
            ..Self::default()
        }
    }

    /// Bytes of the tar with all that is in it.
    pub fn archive(&self) -> u64 {
        let index = tar::padded(INDEX_FRAME + self.index);
        FRAME + index + self.blobs + tar::TRAILER as u64
    }

    /// Whether a reader takes so many files, and an index of this size with `slack` more.
    pub fn is_readable(&self, slack: u64) -> bool {
        let index = INDEX_FRAME + self.index + slack;
        self.entries + 6 <= limits::ENTRIES && index <= limits::MANIFEST
    }
}

impl Add for Size {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            blobs: self.blobs.saturating_add(more.blobs),
            entries: self.entries + more.entries,
            index: self.index + more.index,
        }
    }
}

impl AddAssign for Size {
    fn add_assign(&mut self, more: Self) {
        *self = *self + more;
    }
}

impl std::iter::Sum for Size {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::default(), Self::add)
    }
}
