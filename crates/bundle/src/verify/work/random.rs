//! Entries that can be read at random, several at a time.

use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::{Outcomes, Share, Work, buffer, joined};
use crate::archive::{ArchiveError, EntryId, Region};
use crate::verify::examine::Examined;

/// Entries that nobody has taken yet.
type Queue = Mutex<Vec<EntryId>>;

pub(super) fn read(work: &Work<'_>) -> Result<Outcomes, ArchiveError> {
    let queue = Mutex::new(largest_last(work));
    thread::scope(|scope| {
        let threads = 0..work.threads();
        let threads = threads.map(|_| scope.spawn(|| share(work, &queue)));
        joined(threads.collect())
    })
}

/// The largest are taken first, from the end, so that no thread is left with one when the others
/// are through.
fn largest_last(work: &Work<'_>) -> Vec<EntryId> {
    let mut entries: Vec<EntryId> = work.jobs.keys().copied().collect();
    entries.sort_by_key(|entry| work.archive.size(*entry));
    entries
}

/// Takes entries until there are none.
fn share(work: &Work<'_>, queue: &Queue) -> Share {
    let mut buffer = buffer();
    let mut done = Vec::new();
    while let Some(entry) = next(queue) {
        match look_at(work, entry, &mut buffer) {
            // It is about the whole bundle, so nobody need go on.
            Err(error) if error.verdict().is_some() => {
                locked(queue).clear();
                return Err(error);
            }
            outcome => done.push((entry, outcome.map_err(Arc::new))),
        }
    }
    Ok(done)
}

fn next(queue: &Queue) -> Option<EntryId> {
    locked(queue).pop()
}

/// A list is whole whoever panicked while holding it.
fn locked(queue: &Queue) -> MutexGuard<'_, Vec<EntryId>> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

fn look_at(work: &Work<'_>, entry: EntryId, buffer: &mut [u8]) -> Result<Examined, ArchiveError> {
    let name = work.archive.name(entry);
    let region = work.archive.region(entry)?.ok_or(ArchiveError::Unsettled)?;
    let size = region.len;
    let examined = work.examine(entry, RegionReader { region }, buffer);
    examined.map_err(|source| match source.kind() {
        io::ErrorKind::UnexpectedEof => ArchiveError::Shrunk {
            entry: name.to_owned(),
            size,
        },
        _ => ArchiveError::Io {
            action: "read",
            path: name.into(),
            source,
        },
    })
}

/// Reads the region to its end; a file that ends before is an error of that kind.
struct RegionReader {
    /// What is left of it.
    region: Region,
}

impl Read for RegionReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.region.len).unwrap_or(usize::MAX);
        let room = room.min(buffer.len());
        let room = buffer.get_mut(..room).unwrap_or_default();
        if room.is_empty() {
            return Ok(0);
        }
        let count = self.region.file.read_at(room, self.region.offset)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let advance = u64::try_from(count).unwrap_or(u64::MAX);
        self.region.offset += advance;
        self.region.len = self.region.len.saturating_sub(advance);
        Ok(count)
    }
}
