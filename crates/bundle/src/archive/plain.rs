//! Plain tar files, read at random.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytes::Bytes;

use super::index::{Builder, Index};
use super::{ArchiveError, EntryId, Region};
use crate::codec::DecodeError;
use crate::limits;
use crate::tar::{Reader, Source};

/// A plain tar file.
#[derive(Debug)]
pub(super) struct Plain {
    file: Arc<File>,
}

impl Plain {
    /// Reads the headers of the archive in `file`, of `len` bytes.
    pub(super) fn index(file: Arc<File>, len: u64) -> Result<(Index, Self), ArchiveError> {
        let mut reader = Reader::new(Window::new(Arc::clone(&file), len));
        let mut builder = Builder::default();
        while let Some(entry) = reader.next_entry()? {
            builder.add(&entry)?;
        }
        Ok((builder.finish(), Self { file }))
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn region(&self, index: &Index, entry: EntryId) -> Region {
        let (offset, len) = index.place(entry);
        Region {
            file: Arc::clone(&self.file),
            offset,
            len,
        }
    }

    /// The first `len` bytes of an entry.
    pub(super) fn read(
        &self,
        index: &Index,
        entry: EntryId,
        len: u64,
    ) -> Result<Bytes, ArchiveError> {
        whole(
            &Region {
                len,
                ..self.region(index, entry)
            },
            index.name(entry),
        )
    }
}

/// The content of a region, which was compared with a limit and the file's size before.
pub(super) fn whole(region: &Region, entry: &str) -> Result<Bytes, ArchiveError> {
    let shrunk = || ArchiveError::Shrunk {
        entry: entry.to_owned(),
        size: region.len,
    };
    let len = usize::try_from(region.len).map_err(|_| shrunk())?;
    let mut content = vec![0; len];
    match region.file.read_exact_at(&mut content, region.offset) {
        Ok(()) => Ok(content.into()),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(shrunk()),
        Err(error) => Err(ArchiveError::read(error)),
    }
}

/// Gives the content of a region in pieces as large as `buffer`; one empty piece if it is empty.
pub(super) fn pieces(
    region: &Region,
    entry: &str,
    buffer: &mut [u8],
    visitor: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, ArchiveError> {
    if region.len == 0 {
        return Ok(visitor(&[]));
    }
    let mut done = 0;
    while done < region.len {
        let room = usize::try_from(region.len - done)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let room = buffer.get_mut(..room).unwrap_or_default();
        let count = match region.file.read_at(room, region.offset + done) {
            Ok(0) => {
                return Err(ArchiveError::Shrunk {
                    entry: entry.to_owned(),
                    size: region.len,
                });
            }
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(ArchiveError::read(error)),
        };
        done += count as u64;
        if visitor(room.get(..count).unwrap_or_default()).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// A moving view of a file, which is jumped over where content is passed over. It is small after
/// a long jump, and grows while what is wanted stands close together.
#[derive(Debug)]
struct Window {
    file: Arc<File>,
    len: u64,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Where in the file the byte at `end` stands.
    next: u64,
    /// How much the next read asks for.
    ahead: usize,
}

impl Window {
    fn new(file: Arc<File>, len: u64) -> Self {
        let buffer = vec![0; limits::SCAN_WINDOW].into_boxed_slice();
        Self {
            file,
            len,
            buffer,
            start: 0,
            end: 0,
            next: 0,
            ahead: limits::SEEK_WINDOW,
        }
    }

    fn read_more(&mut self) -> io::Result<()> {
        let room = self.buffer.get_mut(..self.ahead).unwrap_or_default();
        let count = loop {
            match self.file.read_at(room, self.next) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        (self.start, self.end) = (0, count);
        self.next += count as u64;
        self.ahead = (self.ahead * 2).min(limits::SCAN_WINDOW);
        Ok(())
    }
}

impl Source for Window {
    fn fill(&mut self) -> Result<&[u8], DecodeError> {
        if self.start == self.end {
            self.read_more().map_err(DecodeError::Io)?;
        }
        Ok(self.buffer.get(self.start..self.end).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.start = self.end.min(self.start + count);
    }

    fn skip(&mut self, count: u64) -> Result<u64, DecodeError> {
        let buffered = self.end - self.start;
        if let Ok(count) = usize::try_from(count)
            && count <= buffered
        {
            self.consume(count);
            return Ok(count as u64);
        }
        let wanted = count - buffered as u64;
        let jump = wanted.min(self.len.saturating_sub(self.next));
        if jump >= limits::SCAN_WINDOW as u64 {
            self.ahead = limits::SEEK_WINDOW;
        }
        self.start = self.end;
        self.next += jump;
        Ok(buffered as u64 + jump)
    }
}
