//! Entries one after another, from any source of bytes.

use std::borrow::Cow;

use super::extensions::{Extensions, Special};
use super::header::{self, Header};
use super::raw::Raw;
use super::{BLOCK, Entry, TarError};
use crate::codec::DecodeError;
use crate::limits;

/// Where an archive's bytes come from: a file that can be jumped in, or a decoder that cannot.
pub trait Source {
    /// How many NULs behind the end of an archive are passed over.
    const PADDING: u64 = u64::MAX;
    /// The bytes that come next, at least one of them; none at the end.
    fn fill(&mut self) -> Result<&[u8], DecodeError>;
    /// Takes `count` of the bytes that [`fill`](Self::fill) showed.
    fn consume(&mut self, count: usize);
    /// Passes over `count` bytes. Returns how many there were.
    fn skip(&mut self, count: u64) -> Result<u64, DecodeError>;
}

/// Reads an archive from its start to its end.
#[derive(Debug)]
pub struct Reader<S> {
    source: S,
    /// Bytes taken from the source.
    offset: u64,
    /// Bytes that the last [`chunk`](Self::chunk) showed, not yet taken.
    shown: usize,
    /// The entry whose content comes next, for messages.
    entry: String,
    size: u64,
    left: u64,
}

impl<S: Source> Reader<S> {
    pub fn new(source: S) -> Self {
        Self {
            source,
            offset: 0,
            shown: 0,
            entry: String::new(),
            size: 0,
            left: 0,
        }
    }

    /// The source, wherever the reader left it.
    pub fn into_source(self) -> S {
        self.source
    }

    /// The next entry, whose content [`chunk`](Self::chunk) gives; what is left of the last one's
    /// is passed over. `None` at the end of the archive, once the source has been read to its end
    /// and nothing but zeros was found there.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, TarError> {
        self.pass_content()?;
        let mut extensions = Extensions::default();
        loop {
            let offset = self.offset;
            let block = self.block()?.ok_or(TarError::NoEnd { offset })?;
            if block.iter().all(|byte| *byte == 0) {
                extensions.must_be_empty()?;
                self.pass_end(offset)?;
                return Ok(None);
            }
            let header = Header::parse(&block, offset)?;
            if let Some(special) = Special::of(header.typeflag()) {
                let content = self.special_content(special, &header, offset)?;
                extensions.add(special, content, offset)?;
                continue;
            }
            let entry = self.entry(&header, &extensions, offset)?;
            self.entry.clone_from(&entry.name);
            (self.size, self.left) = (entry.size, entry.size);
            return Ok(Some(entry));
        }
    }

    /// The next piece of the entry's content, as large as the source's buffer happens to be; empty
    /// at its end.
    pub fn chunk(&mut self) -> Result<&[u8], TarError> {
        self.take_shown();
        if self.left == 0 {
            return Ok(&[]);
        }
        let bytes = self.source.fill()?;
        let count = usize::try_from(self.left)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        let chunk = bytes.get(..count).unwrap_or_default();
        if chunk.is_empty() {
            return Err(TarError::CutContent {
                entry: std::mem::take(&mut self.entry),
                size: self.size,
                present: self.size - self.left,
            });
        }
        self.shown = count;
        self.left -= count as u64;
        Ok(chunk)
    }

    fn take_shown(&mut self) {
        self.source.consume(self.shown);
        self.offset += self.shown as u64;
        self.shown = 0;
    }

    /// Passes over the rest of the entry's content and its padding. A file that ends within the
    /// padding lacks its end mark as well, and is reported for that.
    fn pass_content(&mut self) -> Result<(), TarError> {
        self.take_shown();
        let passed = self.source.skip(self.left)?;
        if passed < self.left {
            return Err(TarError::CutContent {
                entry: std::mem::take(&mut self.entry),
                size: self.size,
                present: self.size - self.left + passed,
            });
        }
        let padding = self.size.next_multiple_of(BLOCK as u64) - self.size;
        self.offset += passed + self.source.skip(padding)?;
        (self.size, self.left) = (0, 0);
        Ok(())
    }

    /// The next block; `None` where the source ends before it.
    fn block(&mut self) -> Result<Option<[u8; BLOCK]>, TarError> {
        let mut block = [0; BLOCK];
        let mut filled = 0;
        while let Some(room) = block.get_mut(filled..).filter(|room| !room.is_empty()) {
            let bytes = self.source.fill()?;
            let count = bytes.len().min(room.len());
            if count == 0 && filled == 0 {
                return Ok(None);
            }
            if count == 0 {
                return Err(TarError::CutHeader {
                    offset: self.offset,
                });
            }
            room.iter_mut()
                .zip(bytes)
                .for_each(|(room, byte)| *room = *byte);
            self.source.consume(count);
            filled += count;
        }
        self.offset += BLOCK as u64;
        Ok(Some(block))
    }

    /// Behind the first zero block at `offset`: a second one, and then nothing but zeros up to the
    /// end of the source, which a decoder's trailer is checked at.
    fn pass_end(&mut self, offset: u64) -> Result<(), TarError> {
        let second = self.block()?.ok_or(TarError::NoEnd { offset })?;
        if second.iter().any(|byte| *byte != 0) {
            return Err(TarError::LoneZeroBlock { offset });
        }
        let end = self.offset;
        while self.offset - end <= S::PADDING {
            let bytes = self.source.fill()?;
            let count = bytes.len();
            if !are_zeros(bytes)
                && let Some(position) = bytes.iter().position(|byte| *byte != 0)
            {
                return Err(self.trailing(position)?);
            }
            if count == 0 {
                return Ok(());
            }
            self.source.consume(count);
            self.offset += count as u64;
        }
        Err(TarError::Padding { offset: end })
    }

    /// What stands `position` bytes further on, after the end.
    fn trailing(&mut self, position: usize) -> Result<TarError, TarError> {
        let whole_blocks = position - position % BLOCK;
        let offset = self.offset + position as u64;
        self.source.consume(whole_blocks);
        self.offset += whole_blocks as u64;
        Ok(match self.block() {
            Ok(Some(block)) if header::is_header(&block) => TarError::SecondArchive {
                offset: self.offset - BLOCK as u64,
            },
            Err(TarError::Source(error)) => TarError::Source(error),
            _ => TarError::Trailing { offset },
        })
    }

    /// The content of a header that is about the next entry, without its padding.
    fn special_content(
        &mut self,
        special: Special,
        header: &Header<'_>,
        offset: u64,
    ) -> Result<Vec<u8>, TarError> {
        let size = header.size()?;
        if size > limits::SPECIAL_HEADER {
            return Err(TarError::SpecialSize {
                what: special.as_str(),
                offset,
                size,
            });
        }
        special.as_str().clone_into(&mut self.entry);
        (self.size, self.left) = (size, size);
        let mut content = Vec::new();
        loop {
            match self.chunk()? {
                [] => break,
                chunk => content.extend_from_slice(chunk),
            }
        }
        self.pass_content()?;
        Ok(content)
    }

    fn entry(
        &self,
        header: &Header<'_>,
        extensions: &Extensions,
        offset: u64,
    ) -> Result<Entry, TarError> {
        let own = extensions.resolve()?;
        let raw = Raw {
            typeflag: header.typeflag(),
            name: own.name.map_or_else(|| header.name(), Cow::Borrowed),
            field: header.name(),
            link: own.link.unwrap_or_else(|| header.link()),
            size: own.size.map_or_else(|| header.size(), Ok)?,
            offset,
        };
        raw.checked(self.offset)
    }
}

/// Bytes that are the same as their neighbours, and the first a zero: one comparison of memory,
/// which is fast in a debug build too.
fn are_zeros(bytes: &[u8]) -> bool {
    bytes
        .split_first()
        .is_none_or(|(first, rest)| *first == 0 && bytes.get(..rest.len()) == Some(rest))
}
