//! Bundles that are directories.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::*;

/// A directory with these files.
fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn layout() -> tempfile::TempDir {
    folder(&[
        ("index.json", b"{}"),
        ("blobs/sha256/ab", &[7; 300_000]),
        ("empty", b""),
        ("._index.json", b"attributes of a Mac"),
    ])
}

#[test]
fn a_directory_reads_like_an_archive() {
    let folder = layout();
    let archive = Archive::open(folder.path()).unwrap();
    assert!(archive.is_directory());
    assert_eq!(archive.codec(), Codec::Plain);
    assert_eq!(
        archive.names().collect::<Vec<_>>(),
        ["blobs/sha256/ab", "empty", "index.json"]
    );
    assert_eq!(read(&archive, "./index.json"), b"{}");
    assert_eq!(
        archive.head(found(&archive, "blobs/sha256/ab")).unwrap(),
        &[7; limits::HEAD][..]
    );
    let seen = visited(&archive, &["empty", "blobs/sha256/ab"]);
    assert!(seen.contains(&("empty".to_owned(), vec![])));
    assert!(seen.contains(&("blobs/sha256/ab".to_owned(), vec![7; 300_000])));
    let region = archive
        .region(found(&archive, "blobs/sha256/ab"))
        .unwrap()
        .unwrap();
    assert_eq!((region.offset, region.len), (0, 300_000));
    assert!(archive.unchanged().unwrap());
}

#[test]
fn an_empty_directory_has_no_names() {
    let folder = folder(&[]);
    assert_eq!(Archive::open(folder.path()).unwrap().names().count(), 0);
}

#[test]
fn links_stay_inside_the_directory() {
    let (outside, folder) = (folder(&[("secret", b"secret")]), layout());
    let secret = outside.path().join("secret");
    let path = |name: &str| folder.path().join(name);
    symlink("blobs/sha256/ab", path("inside")).unwrap();
    symlink("blobs", path("dir")).unwrap();
    symlink(&secret, path("absolute")).unwrap();
    symlink(outside.path(), path("out")).unwrap();
    symlink("../".repeat(20) + secret.to_str().unwrap(), path("up")).unwrap();
    symlink("/proc/self/root/etc/passwd", path("magic")).unwrap();
    let archive = Archive::open(folder.path()).unwrap();
    for name in ["inside", "dir/sha256/ab"] {
        assert_eq!(archive.name(found(&archive, name)), "blobs/sha256/ab");
    }
    for name in ["absolute", "out/secret", "up", "magic"] {
        let error = archive.find(name).unwrap_err();
        assert!(
            error.to_string().contains("is not in the bundle"),
            "{error}"
        );
    }
}

#[test]
fn a_bundle_may_itself_be_reached_through_a_link() {
    let (folder, elsewhere) = (layout(), tempfile::tempdir().unwrap());
    let link = elsewhere.path().join("current");
    symlink(folder.path(), &link).unwrap();
    assert_eq!(read(&Archive::open(&link).unwrap(), "index.json"), b"{}");
}

#[test]
fn what_is_no_file_matters_when_it_is_needed() {
    let folder = layout();
    let fifo = folder.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let archive = Archive::open(folder.path()).unwrap();
    let error = archive.find("fifo").unwrap_err();
    assert_eq!(error.to_string(), "\"fifo\" is a FIFO, not a file");
    assert_eq!(error.verdict(), Some(Verdict::Refused));
    assert_eq!(archive.find("blobs").unwrap(), None);
}

/// Replaces `index.json` by something else after the directory was opened.
fn after(replace: impl Fn(PathBuf)) -> Result<Bytes, ArchiveError> {
    let folder = layout();
    let archive = Archive::open(folder.path()).unwrap();
    let entry = found(&archive, "index.json");
    let path = folder.path().join("index.json");
    fs::rename(&path, folder.path().join("old")).unwrap();
    replace(path);
    assert!(!archive.unchanged().unwrap());
    archive.read(entry, u64::MAX)
}

#[test]
fn what_takes_a_files_place_is_not_read() {
    for result in [
        after(|_| {}),
        after(|path| fs::write(path, "[]").unwrap()),
        after(|path| symlink("old", path).unwrap()),
        after(|path| symlink("/etc/passwd", path).unwrap()),
        after(|path| fs::create_dir(path).unwrap()),
        after(|path| {
            rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
        }),
    ] {
        let error = result.unwrap_err();
        assert_eq!(
            error.to_string(),
            "entry \"index.json\" changed while the bundle was read: look again when it is at rest"
        );
        assert_eq!(error.verdict(), Some(Verdict::Incomplete));
    }
}

#[test]
fn a_directory_on_the_way_that_becomes_a_link_is_not_followed() {
    let (folder, outside) = (layout(), layout());
    let archive = Archive::open(folder.path()).unwrap();
    let entry = found(&archive, "blobs/sha256/ab");
    fs::rename(folder.path().join("blobs"), folder.path().join("old")).unwrap();
    symlink(outside.path().join("blobs"), folder.path().join("blobs")).unwrap();
    assert!(!archive.unchanged().unwrap());
    let error = archive.read(entry, u64::MAX).unwrap_err();
    assert!(matches!(error, ArchiveError::Changed { .. }), "{error}");
}

#[test]
fn a_tree_too_deep_is_refused() {
    let deepest = "d/".repeat(limits::DIRECTORY_DEPTH);
    let fits = folder(&[(&format!("{deepest}f"), b"")]);
    assert_eq!(Archive::open(fits.path()).unwrap().names().count(), 1);
    let too_deep = folder(&[(&format!("{deepest}d/f"), b"")]);
    let error = Archive::open(too_deep.path()).unwrap_err();
    assert!(
        error.to_string().contains("is over 16 levels deep"),
        "{error}"
    );
    assert_eq!(error.verdict(), Some(Verdict::Refused));
}
