//! Which bundles stand in a directory. The scan is the truth; events only say when to scan.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Endings of names under which copying tools keep what isn't whole yet.
const TEMPORARY_ENDINGS: [&str; 8] = [
    "~",
    ".crdownload",
    ".download",
    ".filepart",
    ".part",
    ".partial",
    ".swp",
    ".tmp",
];

/// In the middle of a name: what S3 clients and some browsers put there.
const TEMPORARY_MARK: &str = ".upload-";

/// Endings of files that are carried beside bundles and are none.
const COMPANION_ENDINGS: [&str; 11] = [
    ".asc",
    ".json",
    ".md",
    ".md5",
    ".minisig",
    ".sha256",
    ".sha256sum",
    ".sha512",
    ".sha512sum",
    ".sig",
    ".txt",
];

/// What makes a directory worth opening: a layout, or something that was meant to be one.
const LAYOUT_FILES: [&str; 4] = ["oci-layout", "index.json", "manifest.json", "version"];

/// Something in a source that may be a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where it stands.
    pub path: PathBuf,
    /// How it looks from outside.
    pub fingerprint: Fingerprint,
    /// A layout directory rather than an archive.
    pub is_directory: bool,
}

/// What says "unchanged" without reading: any write, replacement or rename changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Bytes.
    pub size: u64,
    /// Last write.
    pub modified: Timestamp,
    /// Last change of content or inode: can't be set by copying tools.
    pub changed: Timestamp,
}

impl Fingerprint {
    /// Of a file.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: timestamp(metadata.mtime(), metadata.mtime_nsec()),
            changed: timestamp(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Of a layout directory: of its documents, and of the directories that blobs are added to.
    pub fn of_directory(path: &Path) -> io::Result<Self> {
        let mut sum = Self::of(&fs::metadata(path)?);
        for part in ["oci-layout", "index.json", "blobs", "blobs/sha256"] {
            match fs::symlink_metadata(path.join(part)) {
                Ok(metadata) => sum.fold(&Self::of(&metadata)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(sum)
    }

    fn fold(&mut self, part: &Self) {
        self.size = self.size.wrapping_add(part.size);
        self.inode = self.inode.wrapping_mul(31).wrapping_add(part.inode);
        self.modified = self.modified.max(part.modified);
        self.changed = self.changed.max(part.changed);
    }
}

/// A time of a file system; one that no clock can show counts as the epoch.
fn timestamp(seconds: i64, nanoseconds: i64) -> Timestamp {
    let nanoseconds = i32::try_from(nanoseconds).unwrap_or(0);
    Timestamp::new(seconds, nanoseconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Lists a source, sorted by path. Names that can't be bundles are left out; nothing is opened.
pub fn scan(directory: &Path) -> io::Result<Vec<Candidate>> {
    let mut candidates = Vec::new();
    for entry in fs::read_dir(directory)? {
        candidates.extend(candidate(&entry?));
    }
    candidates.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(candidates)
}

/// An entry that vanished, or whose link leads nowhere, is none.
fn candidate(entry: &DirEntry) -> Option<Candidate> {
    let name = entry.file_name();
    if is_ignored(&name) || name.to_str().is_none() {
        return None;
    }
    let path = entry.path();
    let metadata = fs::metadata(&path).ok()?;
    let is_directory = metadata.is_dir();
    let fingerprint = if is_directory {
        looks_like_a_layout(&path).then(|| Fingerprint::of_directory(&path))?
    } else {
        metadata.is_file().then(|| Ok(Fingerprint::of(&metadata)))?
    };
    Some(Candidate {
        path,
        fingerprint: fingerprint.ok()?,
        is_directory,
    })
}

fn looks_like_a_layout(path: &Path) -> bool {
    LAYOUT_FILES.iter().any(|file| path.join(file).is_file())
}

/// Whether a name says that the file is unfinished, or something else than a bundle.
pub fn is_ignored(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_lowercase();
    name.starts_with('.')
        || name.contains(TEMPORARY_MARK)
        || ends_with_any(&name, &TEMPORARY_ENDINGS)
        || ends_with_any(&name, &COMPANION_ENDINGS)
}

fn ends_with_any(name: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_and_foreign_names_are_left_alone() {
        for name in [
            ".hidden.tar",
            ".x.tar.AbCdEf",
            "x.tar.tmp",
            "x.tar.part",
            "x.tar~",
            "x.tar.crdownload",
            "x.upload-1234",
            "x.tar.sha256",
            "README.md",
        ] {
            assert!(is_ignored(OsStr::new(name)), "{name}");
        }
        for name in ["x.tar", "x", "x:1.tar", "x.tar.zst", "part.tar", "X.TGZ"] {
            assert!(!is_ignored(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn a_scan_lists_files_and_layouts_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("b.tar"), b"x").unwrap();
        fs::write(at("a.tar.part"), b"x").unwrap();
        fs::create_dir(at("plain")).unwrap();
        fs::create_dir(at("layout")).unwrap();
        fs::write(at("layout/index.json"), b"{}").unwrap();
        std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
        std::os::unix::fs::symlink("b.tar", at("link.tar")).unwrap();

        let found = scan(directory.path()).unwrap();
        let names: Vec<_> = found
            .iter()
            .map(|c| c.path.file_name().unwrap().to_str().unwrap())
            .collect();
        assert_eq!(names, ["b.tar", "layout", "link.tar"]);
    }

    #[test]
    fn a_layout_directory_changes_with_its_index() {
        let directory = tempfile::tempdir().unwrap();
        let index = directory.path().join("index.json");
        fs::write(&index, b"{}").unwrap();
        let before = Fingerprint::of_directory(directory.path()).unwrap();
        fs::write(&index, b"{ }").unwrap();
        assert_ne!(Fingerprint::of_directory(directory.path()).unwrap(), before);
    }
}
