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

/// How deep below a source bundles may stand: every directory costs a watch, of which a user of
/// the system has a limited number.
const MAX_DEPTH: usize = 8;

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

/// What stands in a source.
#[derive(Debug, Default)]
pub struct Listing {
    /// What may be bundles, sorted by path.
    pub candidates: Vec<Candidate>,
    /// The directories below the source whose changes say something: those that were looked into,
    /// layouts, and what may become one while it is being copied.
    pub directories: Vec<PathBuf>,
    /// Those that can't be listed, and why: what stands in them is unknown.
    pub unlisted: Vec<(PathBuf, io::Error)>,
    /// What would be looked at if its name were UTF-8, as labels, the ledger and documents need it.
    pub unnamed: Vec<PathBuf>,
}

/// Lists a source, and all below it where that is wanted. Names that can't be bundles are left
/// out; nothing is opened.
pub fn scan(directory: &Path, recursive: bool) -> io::Result<Listing> {
    let mut listing = Listing::default();
    let depth = if recursive { MAX_DEPTH } else { 0 };
    listing.add(directory, depth)?;
    listing.candidates.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(listing)
}

impl Listing {
    fn add(&mut self, directory: &Path, depth: usize) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if entry.file_name().to_str().is_none() {
                self.unnamed.extend(unnamed(&entry));
                continue;
            }
            let below = may_hold_bundles(&entry).then(|| entry.path());
            match (candidate(&entry), below) {
                (None, Some(directory)) if depth > 0 => self.add_below(directory, depth - 1),
                (candidate, directory) => {
                    self.candidates.extend(candidate);
                    self.directories.extend(directory);
                }
            }
        }
        Ok(())
    }

    /// A directory that has vanished holds nothing; of one that can't be read nothing is known.
    fn add_below(&mut self, directory: PathBuf, depth: usize) {
        match self.add(&directory, depth) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.unlisted.push((directory, error)),
            Ok(()) => self.directories.push(directory),
        }
    }
}

/// Links aren't followed: they may lead in a circle. A layout that is still being copied may lack
/// its index, and what it holds must not be taken for bundles.
fn may_hold_bundles(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
    is_directory && !is_ignored(&name) && !is_part_of_a_layout(&name)
}

/// `blobs` of an OCI layout; a layer of an unpacked docker-archive, called by its digest.
fn is_part_of_a_layout(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name == b"blobs" || (name.len() == 64 && name.iter().all(u8::is_ascii_hexdigit))
}

/// The path of an entry whose name isn't text, unless nobody would look at it anyway.
fn unnamed(entry: &DirEntry) -> Option<PathBuf> {
    (!is_ignored(&entry.file_name())).then(|| entry.path())
}

/// An entry that vanished, or whose link leads nowhere, is none.
fn candidate(entry: &DirEntry) -> Option<Candidate> {
    let name = entry.file_name();
    if is_ignored(&name) {
        return None;
    }
    let path = entry.path();
    let metadata = fs::metadata(&path).ok()?;
    let is_directory = metadata.is_dir();
    let fingerprint = if is_directory {
        looks_like_a_layout(&path).then(|| Fingerprint::of_directory(&path))?
    } else {
        Ok(Fingerprint::of(&metadata))
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

        let found = scan(directory.path(), false).unwrap();
        assert_eq!(
            found.directories.len(),
            2,
            "what is copied into them is told"
        );
        let names: Vec<_> = found
            .candidates
            .iter()
            .map(|c| c.path.file_name().unwrap().to_str().unwrap())
            .collect();
        assert_eq!(names, ["b.tar", "layout", "link.tar"]);
    }

    #[test]
    fn what_has_no_name_in_utf_8_is_listed_apart() {
        use std::os::unix::ffi::OsStrExt;
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &[u8]| directory.path().join(OsStr::from_bytes(name));
        fs::write(at(b"x\xff.tar"), b"x").unwrap();
        fs::write(at(b"x\xff.tar.part"), b"x").unwrap();
        fs::create_dir(at(b"\xfe")).unwrap();
        fs::write(at(b"\xfe/y.tar"), b"x").unwrap();

        let found = scan(directory.path(), true).unwrap();
        assert_eq!(found.candidates, []);
        let mut unnamed = found.unnamed;
        unnamed.sort();
        assert_eq!(unnamed, [at(b"x\xff.tar"), at(b"\xfe")]);
    }

    #[test]
    fn a_recursive_scan_looks_into_what_may_hold_bundles() {
        let directory = tempfile::tempdir().unwrap();
        let deep = "1/2/3/4/5/6/7/8";
        let digest = "0123456789abcdef".repeat(4);
        for (folder, file) in [
            ("", "top.tar"),
            ("a/b", "below.tar"),
            (deep, "deep.tar"),
            (&format!("{deep}/9"), "too-deep.tar"),
            (".hidden", "x.tar"),
            ("a/arriving/blobs/sha256", "x"),
            (&digest, "layer.tar"),
            ("a/layout", "index.json"),
            ("a/layout/more", "x.tar"),
        ] {
            fs::create_dir_all(directory.path().join(folder)).unwrap();
            fs::write(directory.path().join(folder).join(file), b"{}").unwrap();
        }
        std::os::unix::fs::symlink(directory.path(), directory.path().join("a/circle")).unwrap();

        let found = scan(directory.path(), true).unwrap();
        let below = |path: &Path| path.strip_prefix(directory.path()).unwrap().to_owned();
        let paths: Vec<_> = found.candidates.iter().map(|c| below(&c.path)).collect();
        let deep = format!("{deep}/deep.tar");
        assert_eq!(
            paths,
            [&deep, "a/b/below.tar", "a/layout", "top.tar"].map(PathBuf::from)
        );
        let folders: Vec<_> = found.directories.iter().map(|d| below(d)).collect();
        assert!(folders.contains(&PathBuf::from("a/b")), "{folders:?}");
        assert_eq!(scan(directory.path(), false).unwrap().candidates.len(), 1);
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
