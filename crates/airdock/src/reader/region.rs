//! Part of a file, read from its start.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;

use airdock_bundle::archive::Region;

/// Reads a region from its start.
pub fn read_region(region: &Region) -> impl Read + '_ {
    RegionReader {
        file: &region.file,
        offset: region.offset,
        left: region.len,
    }
}

/// Reads part of a file, wherever its own position is.
struct RegionReader<'a> {
    file: &'a File,
    offset: u64,
    left: u64,
}

impl Read for RegionReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX);
        let room = room.min(buffer.len());
        let room = buffer.get_mut(..room).unwrap_or_default();
        let count = self.file.read_at(room, self.offset)?;
        self.offset += count as u64;
        self.left -= count as u64;
        Ok(count)
    }
}
