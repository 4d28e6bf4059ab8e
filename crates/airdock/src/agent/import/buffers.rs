//! Buffers that are used again: a new one of a mebibyte costs the kernel a page at a time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// Buffers that are kept for later: about as many as large blobs need at once.
const KEPT: usize = 8;

/// Buffers of one size. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Buffers {
    size: usize,
    free: Arc<Mutex<Vec<Box<[u8]>>>>,
}

/// A buffer with bytes in it, which goes back when the last who has them lets go.
struct Filled {
    bytes: Box<[u8]>,
    length: usize,
    home: Buffers,
}

impl Buffers {
    /// None yet.
    pub(super) fn new(size: usize) -> Self {
        let free = Arc::default();
        Self { size, free }
    }

    /// Reads `length` bytes, which is no more than a buffer holds, from a place in a file.
    pub(super) fn read_at(&self, file: &File, offset: u64, length: usize) -> io::Result<Bytes> {
        let mut filled = Filled {
            bytes: self.take(),
            length: length.min(self.size),
            home: self.clone(),
        };
        let room = filled.bytes.get_mut(..filled.length).unwrap_or_default();
        file.read_exact_at(room, offset)?;
        Ok(Bytes::from_owner(filled))
    }

    fn take(&self) -> Box<[u8]> {
        let kept = self.lock().pop();
        kept.unwrap_or_else(|| vec![0; self.size].into_boxed_slice())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Box<[u8]>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsRef<[u8]> for Filled {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

impl Drop for Filled {
    fn drop(&mut self) {
        let mut free = self.home.lock();
        if free.len() < KEPT {
            free.push(std::mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_buffer_comes_back_when_its_bytes_are_let_go() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let buffers = Buffers::new(4);
        let first = buffers.read_at(&file, 2, 4).unwrap();
        assert_eq!(first.as_ref(), b"2345");
        let place = first.as_ptr();
        drop((first.slice(1..2), first));
        let second = buffers.read_at(&file, 8, 2).unwrap();
        assert_eq!((second.as_ref(), second.as_ptr()), (&b"89"[..], place));
    }

    #[test]
    fn a_file_that_ends_too_early_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        assert!(Buffers::new(4).read_at(&file, 0, 1).is_err());
    }
}
