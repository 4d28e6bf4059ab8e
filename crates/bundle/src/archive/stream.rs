//! Compressed tar files, which can only be read from their start.

mod decoded;
mod kept;

use std::fs::File;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;

use self::decoded::Decoded;
pub(super) use self::kept::Kept;
pub(crate) use self::kept::is_kept;
use super::index::{Builder, Index};
use super::{ArchiveError, EntryId, Extent, Visitor};
use crate::codec::{Codec, DecodeError};
use crate::limits;
use crate::tar::{Reader, Source, TarError};

/// A compressed tar file, with what was kept of it while it was indexed.
#[derive(Debug)]
pub(super) struct Stream {
    file: Arc<File>,
    codec: Codec,
    kept: Kept,
    /// Passes made for what was not kept.
    passes: AtomicU32,
}

impl Stream {
    /// Reads the whole file, to its last byte.
    pub(super) fn index(file: Arc<File>, codec: Codec) -> Result<(Index, Self), ArchiveError> {
        let mut reader = Reader::new(Decoded::new(&file, codec)?);
        let mut builder = Builder::default();
        let mut kept = Kept::default();
        if let Err(error) = index_entries(&mut reader, &mut builder, &mut kept) {
            return Err(true_cause(error, codec, reader.into_source()));
        }
        Ok((builder.finish(), Self::indexed(file, codec, kept)))
    }

    /// Takes a file that was indexed before.
    pub(super) fn indexed(file: Arc<File>, codec: Codec, kept: Kept) -> Self {
        Self {
            file,
            codec,
            kept,
            passes: AtomicU32::new(0),
        }
    }

    /// What was kept of it.
    pub(super) fn kept(&self) -> &Kept {
        &self.kept
    }

    pub(super) fn codec(&self) -> Codec {
        self.codec
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn head(&self, index: &Index, entry: EntryId) -> Result<Bytes, ArchiveError> {
        let len = index.size(entry).min(limits::HEAD as u64);
        match self
            .kept
            .head(entry, usize::try_from(len).unwrap_or(limits::HEAD))
        {
            Some(head) => Ok(head),
            None => self.fetch(index, entry, len),
        }
    }

    pub(super) fn read(&self, index: &Index, entry: EntryId) -> Result<Bytes, ArchiveError> {
        match self.kept.document(entry) {
            Some(document) => Ok(document),
            None => self.fetch(index, entry, index.size(entry)),
        }
    }

    /// Gives the content of `wanted`, sorted, in one pass that ends behind the last of them.
    pub(super) fn visit(
        &self,
        index: &Index,
        wanted: &[EntryId],
        visitor: &mut Visitor<'_>,
    ) -> Result<(), ArchiveError> {
        let mut wanted = wanted.iter().copied().peekable();
        let mut reader = Reader::new(Decoded::new(&self.file, self.codec)?);
        while let Some(entry) = wanted.peek().copied() {
            let (offset, size) = index.place(entry);
            match reader.next_entry()? {
                Some(found) if found.offset < offset => {}
                Some(found) if found.offset == offset && found.size == size => {
                    wanted.next();
                    if give(&mut reader, entry, visitor)?.is_break() {
                        return Ok(());
                    }
                }
                // The stream was another one when it was indexed.
                _ => {
                    return Err(ArchiveError::Changed {
                        entry: index.name(entry).to_owned(),
                    });
                }
            }
        }
        Ok(())
    }

    /// The first `len` bytes of an entry, by another pass.
    fn fetch(&self, index: &Index, entry: EntryId, len: u64) -> Result<Bytes, ArchiveError> {
        if self.passes.fetch_add(1, Ordering::Relaxed) >= limits::EXTRA_PASSES {
            return Err(ArchiveError::TooManyPasses {
                entry: index.name(entry).to_owned(),
            });
        }
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let mut content = Vec::new();
        self.visit(index, &[entry], &mut |_, piece| {
            content.extend_from_slice(piece.get(..len - content.len()).unwrap_or(piece));
            if content.len() < len {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        Ok(content.into())
    }
}

fn index_entries(
    reader: &mut Reader<Decoded>,
    builder: &mut Builder,
    kept: &mut Kept,
) -> Result<(), ArchiveError> {
    while let Some(entry) = reader.next_entry()? {
        if let Some(id) = builder.add(&entry)? {
            kept.keep(id, &entry, reader)?;
        }
    }
    Ok(())
}

/// Gives all of the current entry's content; one empty piece if it is empty.
fn give(
    reader: &mut Reader<Decoded>,
    entry: EntryId,
    visitor: &mut Visitor<'_>,
) -> Result<ControlFlow<()>, TarError> {
    let mut is_first = true;
    loop {
        let piece = reader.chunk()?;
        let is_end = piece.is_empty();
        if is_end && !is_first {
            return Ok(ControlFlow::Continue(()));
        }
        let flow = visitor(entry, piece);
        if is_end || flow.is_break() {
            return Ok(flow);
        }
        is_first = false;
    }
}

/// An archive that cannot be read may be a stream that was damaged: then that is the cause, and it
/// shows further on. Zeros without end aren't damage, and neither is an end that comes too early:
/// the stream was read to its own by then.
fn true_cause(error: ArchiveError, codec: Codec, mut source: Decoded) -> ArchiveError {
    let error = match error {
        ArchiveError::Tar(error) => error,
        error => return error,
    };
    if let Some(extent) = Extent::of(&error) {
        return ArchiveError::CutInside { codec, extent };
    }
    if matches!(error, TarError::Padding { .. }) {
        return error.into();
    }
    match source.skip(limits::DIAGNOSED) {
        Err(cause @ (DecodeError::Corrupt { .. } | DecodeError::Cut { .. })) => cause.into(),
        _ => error.into(),
    }
}
