//! The archive inside a compressed file, as a source for the tar reader.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use crate::codec::{Ahead, Codec, DecodeError, Decoder, FileReader};
use crate::limits;
use crate::tar::Source;

/// A decoder's output, buffered.
pub(super) struct Decoded {
    decoder: Decoder<Compressed>,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Decoded {
    pub(super) fn new(file: &Arc<File>, codec: Codec) -> Result<Self, DecodeError> {
        let decoder = Decoder::new(codec, Compressed::of(file))?;
        let buffer = vec![0; limits::OUTPUT_BUFFER].into_boxed_slice();
        Ok(Self {
            decoder,
            buffer,
            start: 0,
            end: 0,
        })
    }
}

impl Source for Decoded {
    const PADDING: u64 = limits::PADDING;

    fn fill(&mut self) -> Result<&[u8], DecodeError> {
        if self.start == self.end {
            (self.start, self.end) = (0, self.decoder.decode(&mut self.buffer)?);
        }
        Ok(self.buffer.get(self.start..self.end).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.start = self.end.min(self.start + count);
    }

    fn skip(&mut self, count: u64) -> Result<u64, DecodeError> {
        let mut left = count;
        while left > 0 {
            let there = self.fill()?.len();
            if there == 0 {
                break;
            }
            let step = usize::try_from(left).unwrap_or(usize::MAX).min(there);
            self.consume(step);
            left -= step as u64;
        }
        Ok(count - left)
    }
}

/// The file's bytes. Those of a short one are read when they are wanted: a thread would cost more
/// than it saves.
enum Compressed {
    Short(FileReader),
    Long(Ahead),
}

impl Compressed {
    fn of(file: &Arc<File>) -> Self {
        let reader = || FileReader::new(Arc::clone(file));
        let is_long = |len| len > limits::INPUT_BUFFER as u64;
        let len = file.metadata().map_or(0, |metadata| metadata.len());
        let ahead = is_long(len).then(|| Ahead::of(reader())).flatten();
        ahead.map_or_else(|| Self::Short(reader()), Self::Long)
    }
}

impl Read for Compressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Short(reader) => reader.read(buffer),
            Self::Long(ahead) => ahead.read(buffer),
        }
    }
}
