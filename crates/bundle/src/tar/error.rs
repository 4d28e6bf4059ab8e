//! Why an archive was not read.

use crate::Verdict;
use crate::codec::DecodeError;
use crate::escape::escaped;
use crate::limits;

/// Why an archive was not read. Offsets are bytes from the start of the (decoded) archive.
#[derive(Debug, thiserror::Error)]
pub enum TarError {
    #[error(transparent)]
    Source(#[from] DecodeError),
    /// The first header is none: the file is something else. Its first block, for a better name.
    #[error("this is not a tar archive")]
    NotTar { block: Box<[u8; super::BLOCK]> },
    #[error("damaged: the tar header at byte {offset} has a wrong checksum: copy the file again")]
    Checksum { offset: u64 },
    #[error(
        "damaged: the {field} in the tar header at byte {offset} is not a number: save the images again"
    )]
    Number { field: &'static str, offset: u64 },
    #[error("still arriving, or cut: the file ends inside the tar header at byte {offset}")]
    CutHeader { offset: u64 },
    #[error(
        "still arriving, or cut: entry \"{}\" announces {size} bytes, and {present} are there",
        escaped(entry)
    )]
    CutContent {
        entry: String,
        size: u64,
        present: u64,
    },
    #[error(
        "still arriving, or cut between two entries: the end-of-archive mark is missing after byte {offset}"
    )]
    NoEnd { offset: u64 },
    #[error(
        "damaged: a single zero block at byte {offset}, and more behind it (the end of an archive has two): copy the file again"
    )]
    LoneZeroBlock { offset: u64 },
    #[error(
        "a second archive starts at byte {offset}, after the end of the first, and most tools would never see it: unpack both and pack one"
    )]
    SecondArchive { offset: u64 },
    #[error(
        "over {} NULs follow the end of the archive at byte {offset}: save the images again",
        limits::PADDING
    )]
    Padding { offset: u64 },
    #[error("foreign bytes after the end of the archive, at byte {offset}: save the images again")]
    Trailing { offset: u64 },
    #[error(
        "entry \"{}\" is a sparse file: pack again without --sparse (-S)",
        escaped(entry)
    )]
    Sparse { entry: String },
    #[error(
        "entry \"{}\" is {what}, which no image bundle holds: pack again without it",
        escaped(entry)
    )]
    Special { entry: String, what: &'static str },
    #[error(
        "entry \"{}\" is a file by one of its names and a directory by the other, and tools pick differently: save the images again",
        escaped(entry)
    )]
    FileOrDirectory { entry: String },
    #[error("entry \"{}\" has the unknown type {}: save the images again", escaped(entry), typeflag.escape_ascii())]
    UnknownType { entry: String, typeflag: u8 },
    #[error(
        "entry \"{}\" is {what} and announces {size} bytes of content, which tools read differently: save the images again",
        escaped(entry)
    )]
    UnexpectedContent {
        entry: String,
        what: &'static str,
        size: u64,
    },
    #[error(
        "the {what} at byte {offset} takes {size} bytes, over the limit of {}",
        limits::SPECIAL_HEADER
    )]
    SpecialSize {
        what: &'static str,
        offset: u64,
        size: u64,
    },
    #[error("the PAX header at byte {offset} {fault}")]
    Pax { offset: u64, fault: PaxFault },
    #[error(
        "the header at byte {offset} names its entry twice (PAX and GNU), and tools pick differently: save the images again"
    )]
    NamedTwice { offset: u64 },
    #[error("the header at byte {offset} is about a next entry, and none follows")]
    NoEntryFollows { offset: u64 },
    #[error("the {what} \"{}\" (header at byte {offset}) {fault}", escaped(name))]
    Name {
        what: &'static str,
        name: String,
        offset: u64,
        fault: NameFault,
    },
}

impl TarError {
    /// What the error says about the bundle; `None` where it only says that we could not look.
    pub fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Source(error) => error.verdict(),
            Self::CutHeader { .. } | Self::CutContent { .. } | Self::NoEnd { .. } => {
                Some(Verdict::Incomplete)
            }
            _ => Some(Verdict::Refused),
        }
    }
}

/// What is wrong with the name of an entry, or with a link's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    #[error("is empty")]
    Empty,
    #[error("is absolute")]
    Absolute,
    #[error("holds a \"..\" component")]
    Parent,
    #[error("holds a NUL byte")]
    Nul,
    #[error("is not UTF-8")]
    NotUtf8,
    #[error("is {len} bytes long, over the limit of {}", limits::ENTRY_NAME)]
    TooLong { len: usize },
}

/// What is wrong with a PAX extended header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PaxFault {
    #[error("has a record whose length is wrong")]
    Length,
    #[error("has a record that is not KEY=VALUE")]
    NoKey,
    #[error("has an empty name or link target")]
    Empty,
    #[error("has a size that is not a number")]
    Size,
    #[error("describes a sparse file: pack again without --sparse (-S)")]
    Sparse,
    #[error("is global and sets the name or size of every entry")]
    Global,
    #[error("follows another one for the same entry")]
    Repeated,
}
