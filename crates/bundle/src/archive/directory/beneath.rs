//! Opening by name, beneath one directory and through no link.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

/// A directory that names are looked up in.
#[derive(Debug)]
pub(super) struct Beneath(File);

/// What is to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    File,
    Directory,
}

impl Wanted {
    /// Without `O_NONBLOCK`, opening a FIFO that took a file's place waits for a writer.
    fn flags(self) -> OFlags {
        let always = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match self {
            Self::File => always | OFlags::NOFOLLOW,
            Self::Directory => always | OFlags::NOFOLLOW | OFlags::DIRECTORY,
        }
    }
}

impl Beneath {
    pub(super) fn new(root: File) -> Self {
        Self(root)
    }

    /// Opens `name`, which is relative and normalised; the empty name is the directory itself.
    pub(super) fn open(&self, name: &str, wanted: Wanted) -> Result<File, Errno> {
        let name = if name.is_empty() { "." } else { name };
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(&self.0, name, wanted.flags(), Mode::empty(), resolve) {
            // Before Linux 5.6.
            Err(Errno::NOSYS) => self.open_stepwise(name, wanted),
            result => result.map(File::from),
        }
    }

    pub(super) fn stat(&self, name: &str) -> Result<Stat, Errno> {
        self.in_parent(name, |parent, base| {
            rustix::fs::statat(parent, base, AtFlags::SYMLINK_NOFOLLOW)
        })
    }

    /// The target of the link `name`, as written.
    pub(super) fn read_link(&self, name: &str) -> Result<CString, Errno> {
        self.in_parent(name, |parent, base| {
            rustix::fs::readlinkat(parent, base, Vec::new())
        })
    }

    /// Calls `action` with the directory that `name` stands in and its last component.
    fn in_parent<T>(
        &self,
        name: &str,
        action: impl FnOnce(&File, &str) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match name.rsplit_once('/') {
            Some((parent, base)) => action(&self.open(parent, Wanted::Directory)?, base),
            None => action(&self.0, name),
        }
    }

    /// Does what `openat2` would, a component at a time.
    fn open_stepwise(&self, name: &str, wanted: Wanted) -> Result<File, Errno> {
        let (parents, base) = name.rsplit_once('/').unwrap_or((".", name));
        let mut directory = step(&self.0, ".", Wanted::Directory)?;
        for component in parents.split('/') {
            directory = step(&directory, component, Wanted::Directory)?;
        }
        step(&directory, base, wanted).map(File::from)
    }
}

fn step(directory: impl AsFd, component: &str, wanted: Wanted) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(directory, component, wanted.flags(), Mode::empty())
}
