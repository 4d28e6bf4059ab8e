//! An entry as its headers describe it, before anything is believed.

use std::borrow::Cow;

use super::{Entry, Kind, NameFault, TarError, name};

/// What the headers of an entry say.
pub(super) struct Raw<'a> {
    pub(super) typeflag: u8,
    pub(super) name: Cow<'a, [u8]>,
    /// What the header's own field says of the name, which a longer one may have replaced.
    pub(super) field: Cow<'a, [u8]>,
    pub(super) link: &'a [u8],
    pub(super) size: u64,
    /// Where the entry's own header stands, for messages.
    pub(super) offset: u64,
}

impl Raw<'_> {
    /// The entry, if it is one that a bundle may hold. Its content starts at `content`.
    pub(super) fn checked(&self, content: u64) -> Result<Entry, TarError> {
        let name = name::normalise(&self.name)
            .map_err(|fault| self.misnamed("entry name", &self.name, fault))?;
        let kind = self.kind(&name)?;
        self.without_content(&kind, &name)?;
        Ok(Entry {
            name,
            kind,
            size: self.size,
            offset: content,
        })
    }

    /// What the entry is. V7 archives mark directories by a slash alone.
    fn kind(&self, name: &str) -> Result<Kind, TarError> {
        let entry = || name.to_owned();
        let special = |what| {
            Err(TarError::Special {
                entry: entry(),
                what,
            })
        };
        let is_directory = |name: &[u8]| name.ends_with(b"/");
        match self.typeflag {
            // Python's tarfile goes by the field, even where it was cut at a slash.
            0 if is_directory(&self.name) != is_directory(&self.field) => {
                Err(TarError::FileOrDirectory { entry: entry() })
            }
            0 if is_directory(&self.name) => Ok(Kind::Directory),
            0 | b'0' | b'7' if name.is_empty() => {
                Err(self.misnamed("entry name", &self.name, NameFault::Empty))
            }
            0 | b'0' | b'7' => Ok(Kind::File),
            b'1' => Ok(Kind::HardLink {
                target: self.target()?,
            }),
            b'2' => Ok(Kind::Symlink {
                target: self.target()?,
            }),
            b'3' => special("a character device"),
            b'4' => special("a block device"),
            b'5' => Ok(Kind::Directory),
            b'6' => special("a FIFO"),
            b'D' => special("a GNU incremental-backup directory"),
            b'M' => special("the continuation of another GNU volume"),
            b'V' => special("a GNU volume label"),
            b'S' => Err(TarError::Sparse { entry: entry() }),
            typeflag => Err(TarError::UnknownType {
                entry: entry(),
                typeflag,
            }),
        }
    }

    fn target(&self) -> Result<String, TarError> {
        let misnamed = |fault| self.misnamed("link target", self.link, fault);
        match name::checked(self.link).map_err(misnamed)? {
            "" => Err(misnamed(NameFault::Empty)),
            target => Ok(target.to_owned()),
        }
    }

    /// Only files have content: some readers pass over what a link or directory announces, others
    /// take the next header right behind it.
    fn without_content(&self, kind: &Kind, name: &str) -> Result<(), TarError> {
        let what = match kind {
            Kind::File => return Ok(()),
            Kind::Directory => "a directory",
            Kind::Symlink { .. } => "a symbolic link",
            Kind::HardLink { .. } => "a hard link",
        };
        match self.size {
            0 => Ok(()),
            size => Err(TarError::UnexpectedContent {
                entry: name.to_owned(),
                what,
                size,
            }),
        }
    }

    fn misnamed(&self, what: &'static str, raw: &[u8], fault: NameFault) -> TarError {
        TarError::Name {
            what,
            name: name::shown(raw),
            offset: self.offset,
            fault,
        }
    }
}
