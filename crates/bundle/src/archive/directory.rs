//! Bundles that are directories.
//!
//! The directory is opened once, and everything in it beneath that descriptor: no path is followed
//! through a link, and nothing is opened but regular files, whatever happens to the tree meanwhile.

mod beneath;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use rustix::fs::{AtFlags, Dir, FileType, Stat};
use rustix::io::Errno;

use self::beneath::{Beneath, Wanted};
use super::index::{Builder, Index, is_ignored};
use super::plain;
use super::stamp::Stamp;
use super::{ArchiveError, EntryId, Region};
use crate::limits;

/// A directory, and what its files were when it was listed.
#[derive(Debug)]
pub(super) struct Directory {
    root: Beneath,
    /// For messages.
    shown: PathBuf,
    stamps: HashMap<EntryId, Stamp>,
}

impl Directory {
    /// Lists the directory that `root` is.
    pub(super) fn open(root: File, shown: &Path) -> Result<(Index, Self), ArchiveError> {
        let root = Beneath::new(root);
        let mut listing = Listing {
            root: &root,
            shown,
            builder: Builder::default(),
            stamps: HashMap::new(),
            pending: vec![String::new()],
        };
        listing.walk()?;
        let Listing {
            builder, stamps, ..
        } = listing;
        Ok((
            builder.finish(),
            Self {
                root,
                shown: shown.into(),
                stamps,
            },
        ))
    }

    pub(super) fn region(&self, index: &Index, entry: EntryId) -> Result<Region, ArchiveError> {
        let name = index.name(entry);
        let changed = || ArchiveError::Changed {
            entry: name.to_owned(),
        };
        let file = match self.root.open(name, Wanted::File) {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::NXIO) => return Err(changed()),
            Err(error) => return Err(ArchiveError::io("open", &self.shown.join(name), error)),
        };
        let stat = rustix::fs::fstat(&file)
            .map_err(|error| ArchiveError::io("look at", &self.shown.join(name), error))?;
        if self.stamps.get(&entry) != Some(&Stamp::of(&stat)) {
            return Err(changed());
        }
        Ok(Region {
            file: Arc::new(file),
            offset: 0,
            len: index.size(entry),
        })
    }

    /// The first `len` bytes of an entry.
    pub(super) fn read(
        &self,
        index: &Index,
        entry: EntryId,
        len: u64,
    ) -> Result<Bytes, ArchiveError> {
        let region = Region {
            len,
            ..self.region(index, entry)?
        };
        plain::whole(&region, index.name(entry))
    }

    /// Whether every file is still what it was when it was listed.
    pub(super) fn unchanged(&self, index: &Index) -> io::Result<bool> {
        for (entry, stamp) in &self.stamps {
            match self.root.stat(index.name(*entry)) {
                Ok(stat) if Stamp::of(&stat) == *stamp => {}
                Ok(_) | Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}

/// A directory tree while it is listed.
struct Listing<'a> {
    root: &'a Beneath,
    shown: &'a Path,
    builder: Builder,
    stamps: HashMap<EntryId, Stamp>,
    /// Directories not yet listed, by their names beneath the root.
    pending: Vec<String>,
}

impl Listing<'_> {
    fn walk(&mut self) -> Result<(), ArchiveError> {
        while let Some(directory) = self.pending.pop() {
            if directory.split('/').count() > limits::DIRECTORY_DEPTH {
                return Err(ArchiveError::TooDeep { directory });
            }
            self.list(&directory)?;
        }
        Ok(())
    }

    fn list(&mut self, directory: &str) -> Result<(), ArchiveError> {
        let failed = |error| ArchiveError::io("list", &self.shown.join(directory), error);
        let opened = self
            .root
            .open(directory, Wanted::Directory)
            .map_err(failed)?;
        for entry in Dir::read_from(&opened).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let Ok(base) = name.to_str() else {
                let entry = name.to_string_lossy().into_owned();
                return Err(ArchiveError::NotUtf8 { entry });
            };
            if !matches!(base, "." | "..") && !is_ignored(base) {
                self.look_at(&opened, directory, base)?;
            }
        }
        Ok(())
    }

    /// Takes what stands under `base` in the opened `directory`.
    fn look_at(&mut self, opened: &File, directory: &str, base: &str) -> Result<(), ArchiveError> {
        let path = match directory {
            "" => base.to_owned(),
            directory => format!("{directory}/{base}"),
        };
        match rustix::fs::statat(opened, base, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => self.add(path, &stat),
            Err(Errno::NOENT) => Err(ArchiveError::Changed { entry: path }),
            Err(error) => Err(ArchiveError::io("look at", &self.shown.join(path), error)),
        }
    }

    fn add(&mut self, path: String, stat: &Stat) -> Result<(), ArchiveError> {
        self.builder.count()?;
        let stamp = Stamp::of(stat);
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => self.pending.push(path),
            FileType::RegularFile => {
                let entry = self.builder.add_file(&path, 0, stamp.size())?;
                self.stamps.insert(entry, stamp);
            }
            FileType::Symlink => self.add_link(&path)?,
            FileType::Fifo => self.builder.add_other(&path, "a FIFO")?,
            FileType::Socket => self.builder.add_other(&path, "a socket")?,
            _ => self.builder.add_other(&path, "a device")?,
        }
        Ok(())
    }

    /// Links are followed within the index, as those of an archive are.
    fn add_link(&mut self, path: &str) -> Result<(), ArchiveError> {
        let target = self
            .root
            .read_link(path)
            .map_err(|error| ArchiveError::io("read the link", &self.shown.join(path), error))?;
        let target = target
            .into_string()
            .map_err(|_| ArchiveError::NotUtf8 { entry: path.into() })?;
        self.builder.add_link(path, &target, true)
    }
}
