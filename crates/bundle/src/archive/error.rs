//! Why a bundle, or an entry of it, was not read.

use std::io;
use std::path::{Path, PathBuf};

use super::Foreign;
use crate::Verdict;
use crate::codec::{Codec, DecodeError};
use crate::escape::escaped;
use crate::limits;
use crate::tar::TarError;

/// Why a bundle, or an entry of it, was not read. Messages name the entry; the path of the bundle
/// only where the failure is about the path, because a verdict is always shown beside its bundle.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("cannot {action} {}: {source}", escaped(&path.to_string_lossy()))]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{} is {what}, neither a file nor a directory", escaped(&path.to_string_lossy()))]
    NotAFile { path: PathBuf, what: &'static str },
    #[error(
        "the file is empty (zero bytes): it is still arriving, or the disk was full where it was written"
    )]
    ZeroBytes,
    #[error("this is {0}")]
    Foreign(Foreign),
    #[error(
        "the line ends of this {codec} file were rewritten by a text-mode transfer: copy it again in binary mode"
    )]
    LineEnds { codec: Codec },
    #[error(transparent)]
    Decode(DecodeError),
    #[error(transparent)]
    Tar(TarError),
    #[error(
        "the {codec} stream is whole, and the archive in it {extent}: what wrote it failed or was stopped (a pipe such as `docker save … | {codec}` hides that); save the images again"
    )]
    CutInside { codec: Codec, extent: Extent },
    #[error("over {} entries: split the bundle", limits::ENTRIES)]
    TooManyEntries,
    #[error(
        "the names of the entries take over {} bytes: split the bundle",
        limits::ENTRY_NAMES
    )]
    NamesTooLong,
    #[error(
        "\"{}\" stands twice in the archive, and tools disagree which one counts: pack it again with one",
        escaped(entry)
    )]
    Repeated { entry: String },
    #[error(
        "directory \"{}\" is over {} levels deep: this is no image bundle",
        escaped(directory),
        limits::DIRECTORY_DEPTH
    )]
    TooDeep { directory: String },
    #[error(
        "\"{}\" has a name that is not UTF-8: this is no image bundle",
        escaped(entry)
    )]
    NotUtf8 { entry: String },
    #[error(
        "entry \"{}\" links to \"{}\", which is not in the bundle: save the image again",
        escaped(link),
        escaped(target)
    )]
    Dangling { link: String, target: String },
    #[error(
        "entry \"{}\" is a link that leads back to itself: save the image again",
        escaped(link)
    )]
    Loop { link: String },
    #[error("\"{}\" is {what}, not a file", escaped(entry))]
    NotRegular { entry: String, what: &'static str },
    #[error(
        "entry \"{}\" takes {size} bytes, over the limit of {limit}",
        escaped(entry)
    )]
    TooLarge {
        entry: String,
        size: u64,
        limit: u64,
    },
    #[error(
        "entry \"{}\" ends before its {size} bytes: the bundle was cut while it was read",
        escaped(entry)
    )]
    Shrunk { entry: String, size: u64 },
    #[error(
        "entry \"{}\" changed while the bundle was read: look again when it is at rest",
        escaped(entry)
    )]
    Changed { entry: String },
    #[error("the bundle changed while it was read: look again when it is at rest")]
    Unsettled,
    #[error(
        "too many large documents in a compressed bundle (\"{}\" is one): decompress it",
        escaped(entry)
    )]
    TooManyPasses { entry: String },
}

/// How far an archive goes that ends too early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Extent {
    #[error("is empty")]
    Nothing,
    #[error("ends after byte {0}")]
    Byte(u64),
    #[error(
        "ends after {present} of the {size} bytes of entry \"{}\"",
        escaped(entry)
    )]
    Entry {
        entry: String,
        size: u64,
        present: u64,
    },
}

impl Extent {
    /// Of an archive that ends too early; `None` where something else is wrong with it.
    pub(super) fn of(error: &TarError) -> Option<Self> {
        Some(match error {
            TarError::NoEnd { offset: 0 } => Self::Nothing,
            TarError::NoEnd { offset } | TarError::CutHeader { offset } => Self::Byte(*offset),
            TarError::CutContent {
                entry,
                size,
                present,
            } => Self::Entry {
                entry: entry.clone(),
                size: *size,
                present: *present,
            },
            _ => return None,
        })
    }
}

impl ArchiveError {
    /// What the error says about the bundle; `None` where it only says that we could not look.
    pub fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Io { .. } | Self::NotAFile { .. } => None,
            Self::Decode(error) => error.verdict(),
            Self::Tar(error) => error.verdict(),
            Self::CutInside { .. }
            | Self::ZeroBytes
            | Self::Shrunk { .. }
            | Self::Changed { .. }
            | Self::Unsettled => Some(Verdict::Incomplete),
            _ => Some(Verdict::Refused),
        }
    }

    pub(super) fn io(action: &'static str, path: &Path, error: impl Into<io::Error>) -> Self {
        Self::Io {
            action,
            path: path.into(),
            source: error.into(),
        }
    }

    /// A failed read of the bundle's own file, which needs no name.
    pub(crate) fn read(error: io::Error) -> Self {
        Self::Decode(DecodeError::Io(error))
    }
}

impl From<TarError> for ArchiveError {
    /// A decoder's failure is its own, not the archive's inside it.
    fn from(error: TarError) -> Self {
        match error {
            TarError::Source(error) => Self::Decode(error),
            error => Self::Tar(error),
        }
    }
}

impl From<DecodeError> for ArchiveError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}
