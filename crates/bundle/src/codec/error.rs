//! Why a stream was not decoded.

use std::io;

use super::Codec;
use crate::Verdict;
use crate::limits;

/// Why a stream was not decoded. Offsets are bytes from the start of the compressed file.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    #[error("cannot read: {0}")]
    Io(#[source] io::Error),
    #[error("still arriving, or cut: the file ends at byte {offset}, inside the {codec} stream")]
    Cut { codec: Codec, offset: u64 },
    #[error(
        "the {codec} stream is damaged, at byte {offset} or behind it ({detail}): copy the file again"
    )]
    Corrupt {
        codec: Codec,
        offset: u64,
        detail: String,
    },
    #[error("foreign bytes after the {codec} stream, at byte {offset}: copy the file again")]
    Trailing { codec: Codec, offset: u64 },
    #[error(
        "the zstd stream needs a window of {window} bytes, over the limit of {} (made with `zstd --long=31` or the like): recompress with --long=27 or less",
        1u64 << limits::ZSTD_WINDOW_LOG
    )]
    Window { window: u64 },
    #[error(
        "the xz stream needs over {} bytes of memory to decode: recompress with `xz -9` or less",
        limits::XZ_MEMORY
    )]
    Memory,
    #[error(
        "a decompression bomb: the first {consumed} bytes of the {codec} stream hold {produced}, over {} times as many",
        limits::RATIO
    )]
    Bomb {
        codec: Codec,
        produced: u64,
        consumed: u64,
    },
}

impl DecodeError {
    /// What the error says about the file; `None` where it only says that we could not look.
    pub fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Io(_) => None,
            Self::Cut { .. } => Some(Verdict::Incomplete),
            _ => Some(Verdict::Refused),
        }
    }
}
