//! What tells one version of a file from another.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::Stat;

/// Identity, size and times of a file. The change time cannot be set back by any program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, u64),
    changed: (i64, u64),
}

impl Stamp {
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Bytes of [`to_bytes`](Self::to_bytes).
    pub(super) const BYTES: usize = 7 * size_of::<u64>();

    /// Other bytes for any other stamp.
    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let numbers = [
            self.device.to_le_bytes(),
            self.inode.to_le_bytes(),
            self.size.to_le_bytes(),
            self.modified.0.to_le_bytes(),
            self.modified.1.to_le_bytes(),
            self.changed.0.to_le_bytes(),
            self.changed.1.to_le_bytes(),
        ];
        bytes.copy_from_slice(numbers.as_flattened());
        bytes
    }

    /// Whether the file is still this version.
    pub(super) fn holds(&self, file: impl AsFd) -> io::Result<bool> {
        Ok(Self::of(&rustix::fs::fstat(file)?) == *self)
    }
}
