//! The outer file: as it is, or as zstd frames that can be read one by one.
//!
//! The table of frames at the end is zstd's own seekable format, in a frame that decoders skip:
//! <https://github.com/facebook/zstd/blob/dev/contrib/seekable_format/zstd_seekable_compression_format.md>

use std::io::{self, Write};

use zstd::stream::write::Encoder;

use super::{Compression, WriteError};
use crate::limits;

/// Of a skippable frame; the last digit is free, the seekable format takes `E`.
const SKIPPABLE: u32 = 0x184D_2A5E;
const SEEKABLE: u32 = 0x8F92_EAB1;
/// Bytes of the table's end: the count of frames, its flags, its magic.
const FOOTER: usize = 9;
/// Bytes of one frame's row.
const ROW: usize = 8;

/// Where a bundle is written to.
pub(super) enum Frames<W: Write> {
    Plain(W),
    Zstd(Box<Zstd<W>>),
}

pub(super) struct Zstd<W: Write> {
    state: State<W>,
    rows: Vec<Row>,
}

enum State<W: Write> {
    /// `None` after an error: nothing more is written then.
    Between(Option<Counted<W>>),
    Within {
        encoder: Encoder<'static, Counted<W>>,
        plain: u64,
    },
}

/// The sizes of one frame.
struct Row {
    compressed: u64,
    plain: u64,
}

/// Counts the bytes of the current frame.
struct Counted<W> {
    output: W,
    count: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.output.write(bytes)?;
        self.count += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

impl<W: Write> Frames<W> {
    pub(super) fn new(output: W, compression: Compression) -> Self {
        match compression {
            Compression::None => Self::Plain(output),
            Compression::Zstd => Self::Zstd(Box::new(Zstd {
                state: State::Between(Some(Counted { output, count: 0 })),
                rows: Vec::new(),
            })),
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        let written = match self {
            Self::Plain(output) => output.write_all(bytes),
            Self::Zstd(zstd) => zstd.write(bytes),
        };
        written.map_err(output)
    }

    /// Ends the current frame, so that what follows can be read without what came before.
    pub(super) fn cut(&mut self) -> Result<(), WriteError> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Zstd(zstd) => zstd.cut().map_err(output),
        }
    }

    pub(super) fn finish(self) -> Result<(), WriteError> {
        let finished = match self {
            Self::Plain(mut output) => output.flush(),
            Self::Zstd(zstd) => zstd.finish(),
        };
        finished.map_err(output)
    }
}

fn output(source: io::Error) -> WriteError {
    WriteError::Output { source }
}

impl<W: Write> Zstd<W> {
    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (encoder, plain) = self.within()?;
            let room = usize::try_from(limits::FRAME - *plain).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            encoder.write_all(now)?;
            *plain += now.len() as u64;
            let is_full = *plain >= limits::FRAME;
            if is_full {
                self.cut()?;
            }
            bytes = later;
        }
        Ok(())
    }

    fn within(&mut self) -> io::Result<(&mut Encoder<'static, Counted<W>>, &mut u64)> {
        if let State::Between(output) = &mut self.state {
            let output = output.take().ok_or_else(broken)?;
            let mut encoder = Encoder::new(output, limits::ZSTD_LEVEL)?;
            encoder.include_checksum(true)?;
            self.state = State::Within { encoder, plain: 0 };
        }
        match &mut self.state {
            State::Within { encoder, plain } => Ok((encoder, plain)),
            State::Between(_) => Err(broken()),
        }
    }

    fn cut(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.state, State::Between(None)) {
            State::Within { encoder, plain } => {
                let mut counted = encoder.finish()?;
                let compressed = std::mem::take(&mut counted.count);
                self.rows.push(Row { compressed, plain });
                self.state = State::Between(Some(counted));
            }
            between => self.state = between,
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.cut()?;
        let State::Between(Some(mut counted)) = self.state else {
            return Err(broken());
        };
        counted.write_all(&table(&self.rows)?)?;
        counted.flush()
    }
}

fn broken() -> io::Error {
    io::Error::other("an earlier write failed")
}

/// The seek table: sizes of each frame, without checksums, which the frames have themselves.
fn table(rows: &[Row]) -> io::Result<Vec<u8>> {
    let small = |size: u64| u32::try_from(size).map_err(io::Error::other);
    let len = small((rows.len() * ROW + FOOTER) as u64)?;
    let mut table = [SKIPPABLE.to_le_bytes(), len.to_le_bytes()].concat();
    for row in rows {
        table.extend(small(row.compressed)?.to_le_bytes());
        table.extend(small(row.plain)?.to_le_bytes());
    }
    table.extend(small(rows.len() as u64)?.to_le_bytes());
    table.push(0);
    table.extend(SEEKABLE.to_le_bytes());
    Ok(table)
}
