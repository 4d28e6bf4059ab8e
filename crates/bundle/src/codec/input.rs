//! The compressed side of a decoder.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::DecodeError;
use crate::limits;

/// Reads a file from its start with a position of its own, so that several readers may share one
/// descriptor.
#[derive(Debug)]
pub struct FileReader {
    file: Arc<File>,
    offset: u64,
}

impl FileReader {
    /// Tells the kernel to read ahead, as the whole file will be wanted in order.
    pub fn new(file: Arc<File>) -> Self {
        // A hint: file systems that cannot take it still read.
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Sequential);
        Self { file, offset: 0 }
    }
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

/// Buffered bytes of a reader, and how many were taken.
pub(super) struct Input<R> {
    reader: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Bytes taken so far.
    offset: u64,
    at_end: bool,
    failed: bool,
}

impl<R: Read> Input<R> {
    pub(super) fn new(reader: R) -> Self {
        let buffer = vec![0; limits::INPUT_BUFFER].into_boxed_slice();
        Self {
            reader,
            buffer,
            start: 0,
            end: 0,
            offset: 0,
            at_end: false,
            failed: false,
        }
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether a read has found the end of the file.
    pub(super) fn found_end(&self) -> bool {
        self.at_end
    }

    /// Whether a read has failed, which decoders report as if the stream were at fault.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// At least `count` of the bytes that come next, where the file has as many. `count` is small.
    pub(super) fn peek(&mut self, count: usize) -> Result<&[u8], DecodeError> {
        while self.end - self.start < count && !self.at_end {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            self.read_more().map_err(DecodeError::Io)?;
        }
        Ok(self.buffered())
    }

    /// Passes over `count` bytes. Returns whether there were as many.
    pub(super) fn skip(&mut self, mut count: u64) -> Result<bool, DecodeError> {
        while count > 0 {
            let there = self.fill_buf().map_err(DecodeError::Io)?.len();
            if there == 0 {
                return Ok(false);
            }
            let step = usize::try_from(count).unwrap_or(usize::MAX).min(there);
            self.consume(step);
            count -= step as u64;
        }
        Ok(true)
    }

    fn buffered(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    fn read_more(&mut self) -> io::Result<()> {
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        loop {
            match self.reader.read(room) {
                Ok(count) => {
                    self.end += count;
                    self.at_end = count == 0;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failed = true;
                    return Err(error);
                }
            }
        }
    }
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: Read> BufRead for Input<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.read_more()?;
        }
        Ok(self.buffered())
    }

    fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }
}

impl<R> std::fmt::Debug for Input<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input")
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}
