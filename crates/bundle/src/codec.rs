//! The compression of a file: told by its content, decoded to its last byte.

mod ahead;
mod decoder;
mod engine;
mod error;
mod input;
#[cfg(test)]
pub(crate) mod tests;
mod window;

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use serde::Serialize;

use crate::limits;

pub(crate) use ahead::Ahead;
pub use decoder::Decoder;
pub use error::DecodeError;
pub use input::FileReader;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Codec {
    /// Not at all.
    Plain,
    Gzip,
    Zstd,
    Xz,
    Lz4,
    Bzip2,
}

impl Codec {
    /// What the magic number at the start of `prefix` says; [`Plain`](Self::Plain) if it is none of
    /// them. Frames that decoders skip are looked past as far as `prefix` shows them.
    pub fn sniff(prefix: &[u8]) -> Self {
        let mut rest = prefix;
        while let Some(len) = skippable_frame(rest) {
            match usize::try_from(len).ok().and_then(|len| rest.get(len..)) {
                Some(behind) if !behind.is_empty() => rest = behind,
                // zstd made skippable frames first, and its tools write far more of them.
                _ => return Self::Zstd,
            }
        }
        Self::from_magic(rest)
    }

    /// What `file` is compressed with, however far the first real frame stands from its start.
    pub fn detect(file: &File) -> io::Result<Self> {
        let mut offset = 0u64;
        for _ in 0..limits::LEADING_SKIPPABLE_FRAMES {
            let mut bytes = [0; 8];
            let count = file.read_at(&mut bytes, offset)?;
            let bytes = bytes.get(..count).unwrap_or_default();
            match skippable_frame(bytes) {
                Some(len) => offset = offset.saturating_add(len),
                None if offset > 0 && bytes.is_empty() => return Ok(Self::Zstd),
                None => return Ok(Self::from_magic(bytes)),
            }
        }
        Ok(Self::Zstd)
    }

    /// The name used in messages, tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Lz4 => "lz4",
            Self::Bzip2 => "bzip2",
        }
    }

    /// The bytes that each frame starts with.
    fn magic(self) -> &'static [u8] {
        match self {
            Self::Plain => &[],
            Self::Gzip => &[0x1f, 0x8b],
            Self::Zstd => &[0x28, 0xb5, 0x2f, 0xfd],
            Self::Xz => &[0xfd, b'7', b'z', b'X', b'Z', 0],
            Self::Lz4 => &[0x04, 0x22, 0x4d, 0x18],
            Self::Bzip2 => b"BZh",
        }
    }

    fn from_magic(prefix: &[u8]) -> Self {
        [Self::Gzip, Self::Zstd, Self::Xz, Self::Lz4, Self::Bzip2]
            .into_iter()
            .find(|codec| prefix.starts_with(codec.magic()))
            .unwrap_or(Self::Plain)
    }

    /// Whether frames that carry no content may stand between this codec's frames.
    fn has_skippable_frames(self) -> bool {
        matches!(self, Self::Zstd | Self::Lz4)
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Bytes of the skippable frame that `bytes` start with, its 8-byte header included. zstd
/// (RFC 8878, 3.1.2) and lz4 share the magic numbers 0x184D2A50 to 0x184D2A5F.
pub(crate) fn skippable_frame(bytes: &[u8]) -> Option<u64> {
    match bytes {
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, ..] => {
            Some(8 + u64::from(u32::from_le_bytes([*a, *b, *c, *d])))
        }
        _ => None,
    }
}
