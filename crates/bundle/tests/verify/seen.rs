//! A verified bundle as a user sees it.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use airdock_bundle::archive::Archive;
use airdock_bundle::open::Bundle;
use airdock_bundle::platform::{Matcher, Platform};
use airdock_bundle::verify::{Survey, Verified};
use airdock_testkit::fixture::{Tree, gzip};

/// A name of ours that needs no normalisation.
pub(crate) const NAME: &str = "example.com/app:1";

/// All that is said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Of the bundle; `unchecked` where that isn't known.
    pub(crate) verdict: String,
    pub(crate) reason: String,
    /// Of all images and of what is none: kind and sentence.
    pub(crate) findings: Vec<String>,
    pub(crate) notices: Vec<String>,
    /// Findings that are only counted.
    pub(crate) unlisted: usize,
    pub(crate) blobs: usize,
    pub(crate) hashed: u64,
    pub(crate) unpacked: u64,
}

impl Seen {
    pub(crate) fn of(verified: &Verified) -> Self {
        let checked = || verified.images().map(|(_, checked)| checked);
        let findings = checked().flat_map(|it| &it.findings);
        let findings = findings.chain(verified.others());
        let notices = checked().flat_map(|it| &it.notices);
        let verdict = verified.verdict();
        Self {
            verdict: verdict.map_or("unchecked".to_owned(), |it| it.to_string()),
            reason: verified.reason().unwrap_or_default(),
            findings: findings.map(|it| format!("{} {it}", it.what())).collect(),
            notices: notices.map(ToString::to_string).collect(),
            unlisted: verified.unlisted(),
            blobs: verified.blobs(),
            hashed: verified.hashed(),
            unpacked: verified.unpacked(),
        }
    }

    /// Stops the test unless this is the verdict, and each finding is a kind and words of it.
    #[track_caller]
    pub(crate) fn assert(&self, verdict: &str, findings: &[(&str, &str)]) {
        assert_eq!(self.verdict, verdict, "{self:?}");
        assert_eq!(self.findings.len(), findings.len(), "{self:?}");
        assert_eq!(self.unlisted, 0, "{self:?}");
        for (found, (what, words)) in self.findings.iter().zip(findings) {
            let is_it = found.starts_with(&format!("{what} ")) && found.contains(words);
            assert!(is_it, "{what} {words:?} is not {found:?}");
        }
        assert_eq!(self.reason.is_empty(), verdict == "ok", "{self:?}");
    }
}

/// Verifies a tree on an amd64 node: as an archive, as a compressed one and as a directory, which
/// must come to the same.
#[track_caller]
pub(crate) fn see(tree: &Tree) -> Seen {
    let dir = tempfile::tempdir().unwrap();
    tree.write_dir(dir.path()).unwrap();
    let [plain, packed, directory] = [
        file(&tree.tar()),
        file(&gzip(&tree.tar())),
        File::open(dir.path()).unwrap(),
    ]
    .map(|file| Seen::of(&verify(file)));
    assert_eq!(plain, packed, "compressed");
    assert_eq!(plain, directory, "a directory");
    plain
}

/// Verifies a tree whose names are too long for the archives of these tests.
pub(crate) fn see_directory(tree: &Tree) -> Seen {
    let dir = tempfile::tempdir().unwrap();
    tree.write_dir(dir.path()).unwrap();
    Seen::of(&verify(File::open(dir.path()).unwrap()))
}

/// Verifies one archive on an amd64 node.
pub(crate) fn verified(tree: &Tree) -> Verified {
    verify(file(&tree.tar()))
}

/// What there is to verify in a file or a directory, on an amd64 node.
pub(crate) fn survey(file: File) -> Survey {
    let archive = Archive::from_file(file, Path::new("bundle")).unwrap();
    let platform = Platform::parse("linux/amd64").unwrap();
    let bundle = Bundle::open(archive, &Matcher::only(platform)).unwrap();
    Survey::of(bundle).unwrap()
}

fn verify(file: File) -> Verified {
    let survey = survey(file);
    let (expected, read) = (survey.bytes(), AtomicU64::new(0));
    let verified = survey.verify(&|bytes| {
        read.fetch_add(bytes, Ordering::Relaxed);
    });
    assert_eq!(read.into_inner(), expected, "progress");
    verified.unwrap()
}

pub(crate) fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}
