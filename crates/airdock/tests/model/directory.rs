//! The watched directory on disk: bundles are written beside it and renamed into it, or copied
//! into it bit by bit.

use std::fs::{self, File, FileTimes};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use airdock_testkit::fixture::{Tree, blob_path, gzip};
use airdock_testkit::wait;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::image::{Contents, bundle, digests};

/// Paths of archives, and of layout directories.
pub(crate) const ARCHIVES: [&str; 5] = ["a.tar", "b.tar", "c", "d.tgz", "e:1.tar"];
pub(crate) const LAYOUTS: [&str; 2] = ["layout-1", "layout-2"];

pub(crate) fn is_layout(path: &str) -> bool {
    LAYOUTS.contains(&path)
}

/// How a bundle is spoiled.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Damage {
    /// A layer of this name's image isn't there.
    MissingLayer(&'static str),
    /// A byte of a layer of this name's image is another.
    Flipped(&'static str),
    /// The second half isn't there.
    Cut,
}

#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    beside: PathBuf,
}

impl Directory {
    pub(crate) fn new(dir: &Path) -> io::Result<Self> {
        let (path, beside) = (dir.join("bundles"), dir.join("beside"));
        for made in [&path, &beside] {
            fs::create_dir_all(made)?;
        }
        Ok(Self { path, beside })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts a bundle at a path, in one step or bit by bit.
    pub(crate) fn put(
        &mut self,
        path: &str,
        contents: &Contents,
        damage: Option<Damage>,
        slowly: bool,
    ) -> io::Result<()> {
        self.tick()?;
        let tree = spoiled(contents, damage);
        if is_layout(path) {
            let beside = self.beside.join("layout");
            tree.write_dir(&beside)?;
            return self.swap_in(&beside, path);
        }
        let packed = if path.ends_with(".tgz") {
            gzip(&tree.tar())
        } else {
            tree.tar()
        };
        let cut = matches!(damage, Some(Damage::Cut));
        let end = if cut { packed.len() / 2 } else { packed.len() };
        self.write(path, &packed[..end], slowly)
    }

    fn write(&self, path: &str, bytes: &[u8], slowly: bool) -> io::Result<()> {
        if slowly {
            let mut file = File::create(self.path.join(path))?;
            for part in bytes.chunks(bytes.len() / 3 + 1) {
                file.write_all(part)?;
                file.flush()?;
            }
            return Ok(());
        }
        let beside = self.beside.join("archive");
        fs::write(&beside, bytes)?;
        fs::rename(beside, self.path.join(path))
    }

    /// A directory takes the place of another at once.
    fn swap_in(&self, beside: &Path, path: &str) -> io::Result<()> {
        let target = self.path.join(path);
        if target.exists() {
            renameat_with(CWD, beside, CWD, &target, RenameFlags::EXCHANGE)?;
            return fs::remove_dir_all(beside);
        }
        fs::rename(beside, target)
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.tick()?;
        let from = self.path.join(from);
        if is_layout(to) {
            return self.swap_in(&from, to);
        }
        fs::rename(from, self.path.join(to))
    }

    pub(crate) fn copy(&mut self, from: &str, to: &str, slowly: bool) -> io::Result<()> {
        self.tick()?;
        let from = self.path.join(from);
        if is_layout(to) {
            let beside = self.beside.join("layout");
            copy_directory(&from, &beside)?;
            return self.swap_in(&beside, to);
        }
        self.write(to, &fs::read(from)?, slowly)
    }

    /// What goes is out of sight at once: a directory isn't seen half removed.
    pub(crate) fn remove(&mut self, path: &str) -> io::Result<()> {
        self.tick()?;
        let removed = self.beside.join("removed");
        fs::rename(self.path.join(path), &removed)?;
        if is_layout(path) {
            return fs::remove_dir_all(removed);
        }
        fs::remove_file(removed)
    }

    /// Both times, as `touch` does: the kernel tells of one alone as if somebody had written.
    pub(crate) fn touch(&mut self, path: &str) -> io::Result<()> {
        self.tick()?;
        let mut target = self.path.join(path);
        if is_layout(path) {
            target.push("index.json");
        }
        let now = SystemTime::now();
        let times = FileTimes::new().set_accessed(now).set_modified(now);
        File::open(target)?.set_times(times)
    }

    /// Waits until the file system's clock has gone on: what is done next is later than what was
    /// done before, to the eyes of `stat`.
    fn tick(&self) -> io::Result<()> {
        let begun = self.clock()?;
        wait::until("the clock", wait::DEADLINE, || {
            (self.clock().ok()? > begun).then_some(())
        })
    }

    /// Change time of what is done now.
    fn clock(&self) -> io::Result<(i64, i64)> {
        let probe = self.beside.join("clock");
        fs::write(&probe, "")?;
        let metadata = fs::metadata(&probe)?;
        Ok((metadata.ctime(), metadata.ctime_nsec()))
    }
}

fn spoiled(contents: &Contents, damage: Option<Damage>) -> Tree {
    let tree = bundle(contents).oci();
    let layer = |name| blob_path(&digests(contents[name]).layer);
    match damage {
        Some(Damage::MissingLayer(name)) => tree.without(&layer(name)),
        Some(Damage::Flipped(name)) => tree.flipped(&layer(name), 700),
        Some(Damage::Cut) | None => tree,
    }
}

fn copy_directory(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_directory(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
