//! The entries of a sample, as far as it can be read.

use airdock_bundle::codec::DecodeError;
use airdock_bundle::tar::{Entry, Reader, Source};

/// Entries and their content, in order.
pub(super) fn of(archive: &[u8]) -> Vec<(Entry, Vec<u8>)> {
    let mut reader = Reader::new(Slice(archive));
    let mut entries = Vec::new();
    while let Ok(Some(entry)) = reader.next_entry() {
        let mut content = Vec::new();
        while let Ok(chunk @ [_, ..]) = reader.chunk() {
            content.extend_from_slice(chunk);
        }
        entries.push((entry, content));
    }
    entries
}

struct Slice<'a>(&'a [u8]);

impl Source for Slice<'_> {
    fn fill(&mut self) -> Result<&[u8], DecodeError> {
        Ok(self.0)
    }

    fn consume(&mut self, count: usize) {
        self.0 = self.0.get(count..).unwrap_or_default();
    }

    fn skip(&mut self, count: u64) -> Result<u64, DecodeError> {
        let count = usize::try_from(count)
            .unwrap_or(usize::MAX)
            .min(self.0.len());
        self.consume(count);
        Ok(count as u64)
    }
}
