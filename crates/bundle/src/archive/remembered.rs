//! What indexing a compressed file came to, as bytes: with them the same file is opened another
//! time without being read.
//!
//! ```text
//! magic and version                      16 bytes
//! stamp of the file                      56 bytes
//! for each entry that counts:
//!   tag                                  1 byte
//!   length of the name, name             4 bytes, …
//!   of a file: offset and size           8 bytes each
//!     then what is kept of its content, as much as tag and size say
//!   of a link: length of the target, target
//! digest of all that, as text            71 bytes
//! ```
//!
//! Numbers are little-endian. JSON would take three times as much for the starts of layers, and
//! copy the documents. Nothing in it is a position in it: entries go the way that those of an
//! archive go, through the builder of the index and its limits, so that there is no index, and
//! nothing kept, that an archive could not have led to.

mod cursor;

use bytes::Bytes;

use self::cursor::Cursor;
use super::EntryId;
use super::index::{Builder, Index, Recorded, is_ignored};
use super::stamp::Stamp;
use super::stream::Kept;
use crate::digest::{Algorithm, Digest};
use crate::limits;
use crate::tar::{self, Entry, Kind};

/// Another format has another number, and is not understood by this one.
const MAGIC: &[u8; 16] = b"airdock-index 1\n";
/// Bytes of a digest as text.
const SEAL: usize = "sha256:".len() + 64;

/// A file of which nothing is kept.
const FILE: u8 = 0;
/// A file with its start.
const HEAD: u8 = 1;
/// A file with its content.
const DOCUMENT: u8 = 2;
const SYMLINK: u8 = 3;
const HARD_LINK: u8 = 4;

/// The bytes; `None` if they are more than may be remembered of a file of this size.
pub(super) fn write(stamp: &Stamp, index: &Index, kept: &Kept) -> Option<Vec<u8>> {
    let limit = at_most(stamp);
    let mut bytes = MAGIC.to_vec();
    bytes.extend(stamp.to_bytes());
    for (id, name, recorded) in index.entries() {
        match recorded {
            Recorded::File { offset, size } => {
                let (tag, content) = content(kept, id, size);
                bytes.push(tag);
                put_text(&mut bytes, name)?;
                bytes.extend(offset.to_le_bytes());
                bytes.extend(size.to_le_bytes());
                bytes.extend(content);
            }
            Recorded::Link {
                target,
                is_symbolic,
            } => {
                bytes.push(if is_symbolic { SYMLINK } else { HARD_LINK });
                put_text(&mut bytes, name)?;
                put_text(&mut bytes, target)?;
            }
            // No archive has anything else.
            Recorded::Other => return None,
        }
        if bytes.len() + SEAL > limit {
            return None;
        }
    }
    let seal = seal(&bytes);
    bytes.extend(seal.as_str().as_bytes());
    Some(bytes)
}

/// What the bytes say of the file with this stamp; `None` if they are about another file or
/// another version of it, are damaged, or say what cannot be.
pub(super) fn read(bytes: &Bytes, stamp: &Stamp) -> Option<(Index, Kept)> {
    if bytes.len() > at_most(stamp) {
        return None;
    }
    let sealed = bytes.slice(..bytes.len().checked_sub(SEAL)?);
    if bytes.get(sealed.len()..)? != seal(&sealed).as_str().as_bytes() {
        return None;
    }
    let mut cursor = Cursor::new(sealed);
    let is_ours = cursor.take(MAGIC.len())? == MAGIC[..];
    if !is_ours || cursor.take(Stamp::BYTES)? != stamp.to_bytes()[..] {
        return None;
    }
    let mut replay = Replay::default();
    while !cursor.is_at_end() {
        replay.entry(&mut cursor)?;
    }
    Some((replay.builder.finish(), replay.kept))
}

/// Bytes that may be remembered of a file.
fn at_most(stamp: &Stamp) -> usize {
    let share = stamp.size() / limits::REMEMBERED_SHARE;
    let share = usize::try_from(share).unwrap_or(usize::MAX);
    share.clamp(limits::REMEMBERED_FLOOR, limits::REMEMBERED)
}

fn seal(bytes: &[u8]) -> Digest {
    Digest::of(Algorithm::Sha256, bytes)
}

fn content(kept: &Kept, id: EntryId, size: u64) -> (u8, Bytes) {
    if let Some(document) = kept.document(id) {
        return (DOCUMENT, document);
    }
    match kept.head(id, head_len(size)) {
        Some(head) => (HEAD, head),
        None => (FILE, Bytes::new()),
    }
}

/// How much of an entry's start is kept.
fn head_len(size: u64) -> usize {
    usize::try_from(size).map_or(limits::HEAD, |size| size.min(limits::HEAD))
}

fn put_text(bytes: &mut Vec<u8>, text: &str) -> Option<()> {
    bytes.extend(u32::try_from(text.len()).ok()?.to_le_bytes());
    bytes.extend(text.as_bytes());
    Some(())
}

/// An index that is built again.
#[derive(Default)]
struct Replay {
    builder: Builder,
    kept: Kept,
    /// Where the content of the last file ends.
    end: u64,
}

impl Replay {
    fn entry(&mut self, cursor: &mut Cursor) -> Option<()> {
        let tag = cursor.byte()?;
        let name = cursor.text()?;
        if tar::normalise(name.as_bytes()).ok()? != name || is_ignored(&name) {
            return None;
        }
        match tag {
            FILE | HEAD | DOCUMENT => self.file(tag, name, cursor),
            SYMLINK | HARD_LINK => self.link(tag, name, cursor),
            _ => None,
        }
    }

    fn file(&mut self, tag: u8, name: String, cursor: &mut Cursor) -> Option<()> {
        let (offset, size) = (cursor.number()?, cursor.number()?);
        let is_behind = offset >= self.end;
        self.end = offset.checked_add(size).filter(|_| is_behind)?;
        let file = Entry {
            name,
            kind: Kind::File,
            size,
            offset,
        };
        let id = self.builder.add(&file).ok().flatten()?;
        match tag {
            DOCUMENT => {
                let content = cursor.take(usize::try_from(size).ok()?)?;
                self.kept.take_document(id, content)
            }
            HEAD => self.kept.take_head(id, &cursor.take(head_len(size))?),
            _ => Some(()),
        }
    }

    fn link(&mut self, tag: u8, name: String, cursor: &mut Cursor) -> Option<()> {
        let target = cursor.text()?;
        let kind = match tag {
            SYMLINK => Kind::Symlink { target },
            _ => Kind::HardLink { target },
        };
        let link = Entry {
            name,
            kind,
            size: 0,
            offset: 0,
        };
        self.builder.add(&link).ok().map(drop)
    }
}
