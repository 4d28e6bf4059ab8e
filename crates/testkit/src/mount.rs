//! File systems that a test mounts, and that go with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::ffi::CString;
use rustix::fs::statvfs;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};

/// A mount of ours; dropping it takes it away, whoever still uses it.
#[derive(Debug)]
pub struct Mount {
    point: PathBuf,
}

impl Mount {
    /// A file system in memory that takes `bytes`, over a folder that is made if it isn't there.
    pub fn tmpfs(point: &Path, bytes: u64) -> io::Result<Self> {
        fs::create_dir_all(point)?;
        let size = CString::new(format!("size={bytes}"))?;
        mount(
            "tmpfs",
            point,
            "tmpfs",
            MountFlags::empty(),
            size.as_c_str(),
        )?;
        let point = point.to_owned();
        Ok(Self { point })
    }

    /// What stands at `from`, over the file or folder `point`.
    pub fn bind(from: &Path, point: &Path) -> io::Result<Self> {
        mount_bind(from, point)?;
        let point = point.to_owned();
        Ok(Self { point })
    }

    /// Where it is.
    pub fn point(&self) -> &Path {
        &self.point
    }

    /// Writes a file that leaves `left` bytes free, or as many less as a page has, or as others
    /// write meanwhile.
    pub fn fill(&self, left: u64) -> io::Result<Filler> {
        let filler = Filler {
            path: self.point.join("filler"),
        };
        let size = free(&self.point)?.saturating_sub(left);
        // Writing zeros takes room that a hole would not.
        let mut zeros = io::Read::take(io::repeat(0), size);
        match io::copy(&mut zeros, &mut fs::File::create(&filler.path)?) {
            Err(error) if error.kind() != io::ErrorKind::StorageFull => Err(error),
            _ => Ok(filler),
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Mounts are looked for again where a daemon's are ended.
        let _ = unmount(&self.point, UnmountFlags::DETACH);
    }
}

/// A file that takes room; dropping it gives the room back.
#[derive(Debug)]
pub struct Filler {
    path: PathBuf,
}

impl Drop for Filler {
    fn drop(&mut self) {
        // Gone with its file system is as good.
        let _ = fs::remove_file(&self.path);
    }
}

/// Bytes that are free where `path` is.
pub fn free(path: &Path) -> io::Result<u64> {
    let stat = statvfs(path)?;
    Ok(stat.f_bavail * stat.f_frsize)
}
