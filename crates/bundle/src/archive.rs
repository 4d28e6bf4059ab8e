//! An opened bundle: which entry stands where, and its content.
//!
//! A bundle is a tar archive (plain or compressed) or a directory. Nothing is ever extracted:
//! entries are found by name in an index that is built when the archive is opened, and links are
//! followed within that index, never by the file system.

mod directory;
mod error;
mod foreign;
mod index;
mod plain;
mod remembered;
mod stamp;
mod stream;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use rustix::fs::{FileType, Mode, OFlags};

use self::directory::Directory;
pub use self::error::{ArchiveError, Extent};
pub use self::foreign::Foreign;
use self::index::Index;
use self::plain::Plain;
use self::stamp::Stamp;
use self::stream::Stream;
pub(crate) use self::stream::is_kept;
use crate::codec::Codec;
use crate::limits;

/// A regular entry of one archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(u32);

/// Where an entry's content can be read at random.
#[derive(Clone, Debug)]
pub struct Region {
    pub file: Arc<File>,
    /// Bytes from the start of the file.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
}

/// What receives an entry's content, piece by piece; `Break` ends the visit.
pub type Visitor<'a> = dyn FnMut(EntryId, &[u8]) -> ControlFlow<()> + 'a;

/// An opened bundle, indexed by entry name. What was opened stays open: a file that is renamed or
/// replaced meanwhile is still read as it was.
#[derive(Debug)]
pub struct Archive {
    index: Index,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Plain(Plain, Stamp),
    Stream(Stream, Stamp),
    Directory(Directory),
}

impl Archive {
    /// Opens a file or a directory, and indexes it: a compressed file is read to its end, of a
    /// plain one only the headers.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        // Without O_NONBLOCK, opening a FIFO waits for a writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(descriptor) => Self::from_file(File::from(descriptor), path),
            // A socket, or a device without a driver.
            Err(rustix::io::Errno::NXIO) => Err(ArchiveError::NotAFile {
                path: path.into(),
                what: "a socket or a device",
            }),
            Err(error) => Err(ArchiveError::io("open", path, error)),
        }
    }

    /// Takes an opened descriptor of a file or a directory; `shown` is the path for messages.
    pub fn from_file(file: File, shown: &Path) -> Result<Self, ArchiveError> {
        let stat =
            rustix::fs::fstat(&file).map_err(|error| ArchiveError::io("look at", shown, error))?;
        let what = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => return Self::from_regular(file, Stamp::of(&stat)),
            FileType::Directory => return Self::from_directory(file, shown),
            FileType::Fifo => "a FIFO",
            FileType::Socket => "a socket",
            FileType::CharacterDevice | FileType::BlockDevice => "a device",
            _ => "something else",
        };
        Err(ArchiveError::NotAFile {
            path: shown.into(),
            what,
        })
    }

    fn from_regular(file: File, stamp: Stamp) -> Result<Self, ArchiveError> {
        if stamp.size() == 0 {
            return Err(ArchiveError::ZeroBytes);
        }
        let file = Arc::new(file);
        let codec = Codec::detect(&file).map_err(ArchiveError::read)?;
        let opened = match codec {
            Codec::Plain => Plain::index(Arc::clone(&file), stamp.size())
                .map(|(index, plain)| (index, Body::Plain(plain, stamp))),
            codec => Stream::index(Arc::clone(&file), codec)
                .map(|(index, stream)| (index, Body::Stream(stream, stamp))),
        };
        let (index, body) = opened.map_err(|error| foreign::explain(error, &file))?;
        Ok(Self { index, body })
    }

    /// Opens a compressed file without reading it, by what [`remember`](Self::remember) gave when
    /// it was opened before. `None` if that is about another file, or another version of it, or
    /// cannot be right: then the file is to be read.
    pub fn recall(file: &File, remembered: &Bytes) -> Option<Self> {
        let stamp = Stamp::of(&rustix::fs::fstat(file).ok()?);
        let (index, kept) = remembered::read(remembered, &stamp)?;
        let codec = Codec::detect(file).ok()?;
        if codec == Codec::Plain {
            return None;
        }
        let file = Arc::new(file.try_clone().ok()?);
        let body = Body::Stream(Stream::indexed(file, codec, kept), stamp);
        Some(Self { index, body })
    }

    /// What [`recall`](Self::recall) needs to open the same file again. `None` if the file has
    /// changed meanwhile, if too much would have to be remembered, and of what is opened without
    /// being read anyway.
    pub fn remember(&self) -> Option<Vec<u8>> {
        let Body::Stream(stream, stamp) = &self.body else {
            return None;
        };
        let is_unchanged = self.unchanged().unwrap_or(false);
        is_unchanged
            .then(|| remembered::write(stamp, &self.index, stream.kept()))
            .flatten()
    }

    fn from_directory(file: File, shown: &Path) -> Result<Self, ArchiveError> {
        let (index, directory) = Directory::open(file, shown)?;
        Ok(Self {
            index,
            body: Body::Directory(directory),
        })
    }

    /// How the file is compressed; plain for a directory.
    pub fn codec(&self) -> Codec {
        match &self.body {
            Body::Stream(stream, _) => stream.codec(),
            Body::Plain(..) | Body::Directory(_) => Codec::Plain,
        }
    }

    pub fn is_directory(&self) -> bool {
        matches!(self.body, Body::Directory(_))
    }

    /// The file that `name` stands for: `.` and `..` are resolved, links followed. `None` if there
    /// is no entry of that name; an error if there is a link, and what it points at is missing or
    /// no file.
    pub fn find(&self, name: &str) -> Result<Option<EntryId>, ArchiveError> {
        self.index.find(name)
    }

    /// Files that other tools may take for `name`: where several entries have one name, some count
    /// the first. An error where that is a link.
    pub fn rivals(&self, name: &str) -> Result<Vec<EntryId>, ArchiveError> {
        self.index.rivals(name)
    }

    /// The names of all files, normalised and sorted. Links are not among them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.index.names()
    }

    /// The name under which the entry itself stands, whatever links led to it.
    pub fn name(&self, entry: EntryId) -> &str {
        self.index.name(entry)
    }

    /// Bytes of content.
    pub fn size(&self, entry: EntryId) -> u64 {
        self.index.size(entry)
    }

    /// The first bytes of the content, at most [`limits::HEAD`].
    pub fn head(&self, entry: EntryId) -> Result<Bytes, ArchiveError> {
        let len = self.size(entry).min(limits::HEAD as u64);
        match &self.body {
            Body::Plain(plain, _) => plain.read(&self.index, entry, len),
            Body::Stream(stream, _) => stream.head(&self.index, entry),
            Body::Directory(directory) => directory.read(&self.index, entry, len),
        }
    }

    /// The whole content of a document, which may take `limit` bytes.
    pub fn read(&self, entry: EntryId, limit: u64) -> Result<Bytes, ArchiveError> {
        let len = self.size(entry);
        if len > limit {
            let entry = self.name(entry).to_owned();
            return Err(ArchiveError::TooLarge {
                entry,
                size: len,
                limit,
            });
        }
        match &self.body {
            Body::Plain(plain, _) => plain.read(&self.index, entry, len),
            Body::Stream(stream, _) => stream.read(&self.index, entry),
            Body::Directory(directory) => directory.read(&self.index, entry, len),
        }
    }

    /// Where the entry's content can be read at random; `None` in a compressed bundle, whose
    /// content only [`visit`](Self::visit) gives.
    pub fn region(&self, entry: EntryId) -> Result<Option<Region>, ArchiveError> {
        match &self.body {
            Body::Plain(plain, _) => Ok(Some(plain.region(&self.index, entry))),
            Body::Stream(..) => Ok(None),
            Body::Directory(directory) => directory.region(&self.index, entry).map(Some),
        }
    }

    /// Gives the content of `entries` in one pass, in the order in which they stand in the bundle,
    /// whatever the order asked for: in pieces of at most [`limits::VISIT_CHUNK`] bytes, an empty
    /// entry as one empty piece. Ends when all were given.
    pub fn visit(
        &self,
        entries: &[EntryId],
        visitor: &mut Visitor<'_>,
    ) -> Result<(), ArchiveError> {
        let mut wanted = entries.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        match &self.body {
            Body::Stream(stream, _) => stream.visit(&self.index, &wanted, visitor),
            Body::Plain(..) | Body::Directory(_) => self.visit_regions(&wanted, visitor),
        }
    }

    fn visit_regions(
        &self,
        wanted: &[EntryId],
        visitor: &mut Visitor<'_>,
    ) -> Result<(), ArchiveError> {
        let mut buffer = vec![0; limits::VISIT_CHUNK];
        for entry in wanted {
            let Some(region) = self.region(*entry)? else {
                continue;
            };
            let name = self.name(*entry);
            let mut pass_on = |piece: &[u8]| visitor(*entry, piece);
            if plain::pieces(&region, name, &mut buffer, &mut pass_on)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Whether the file, or every file of the directory, is still what it was when the archive was
    /// opened: content read in between was that of one version.
    pub fn unchanged(&self) -> io::Result<bool> {
        match &self.body {
            Body::Plain(plain, stamp) => stamp.holds(plain.file()),
            Body::Stream(stream, stamp) => stamp.holds(stream.file()),
            Body::Directory(directory) => directory.unchanged(&self.index),
        }
    }
}
