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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_is_followed_on_any_kernel() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("a/b")).unwrap();
        fs::write(path("a/b/file"), "content").unwrap();
        symlink("a", path("link")).unwrap();
        symlink("file", path("a/b/same")).unwrap();
        symlink("/", path("a/root")).unwrap();
        symlink("/proc/self/fd/0", path("magic")).unwrap();
        let root = Beneath::new(File::open(folder.path()).unwrap());
        for (name, wanted, result) in [
            (".", Wanted::Directory, Ok(())),
            ("a/b", Wanted::Directory, Ok(())),
            ("a/b/file", Wanted::File, Ok(())),
            ("a/b/file", Wanted::Directory, Err(Errno::NOTDIR)),
            ("a/b/file/x", Wanted::File, Err(Errno::NOTDIR)),
            ("a/b/none", Wanted::File, Err(Errno::NOENT)),
            ("a/b/same", Wanted::File, Err(Errno::LOOP)),
            ("magic", Wanted::File, Err(Errno::LOOP)),
            ("link/b/file", Wanted::File, Err(Errno::LOOP)),
            ("a/root/etc/passwd", Wanted::File, Err(Errno::LOOP)),
        ] {
            assert_eq!(root.open(name, wanted).map(drop), result, "{name}");
            let stepwise = root.open_stepwise(name, wanted).map(drop);
            assert_eq!(stepwise.is_ok(), result.is_ok(), "{name}: {stepwise:?}");
        }
    }
}
