//! Remembered indexes of a compressed file. An input is the entries of one, and gets the head and
//! the seal that it should have, which mutated bytes would never hit on.

use std::ops::ControlFlow;
use std::path::Path;

use airdock_bundle::archive::{Archive, EntryId};
use airdock_bundle::limits;
use airdock_testkit::fixture::{self, sha256};

use super::opened;

/// Magic, version and the file's stamp.
const FRONT: usize = 16 + 56;
/// A digest as text.
const SEAL: usize = 71;

/// Takes up `input` as what is remembered of a file that has other entries, or the same.
pub fn run(input: &[u8]) {
    if input.len() > limits::REMEMBERED_FLOOR / 2 {
        return;
    }
    let file = opened::file(&fixture::gzip(&[0; 2 * airdock_bundle::tar::BLOCK]));
    let whole = Archive::from_file(file.try_clone().expect("a descriptor"), Path::new("bundle"));
    let known = whole.expect("an archive").remember().expect("an index");
    let sealed = sealed(&[&known[..FRONT], input].concat());
    let Some(archive) = Archive::recall(&file, &sealed.clone().into()) else {
        return;
    };
    assert_eq!(archive.remember(), Some(sealed), "another index");
    for name in archive.names() {
        let found = archive.find(name).expect("a file is no link");
        let entry = found.expect("a name that was listed");
        assert_eq!(archive.name(entry), name);
        assert_bounded(&archive, entry);
    }
}

/// What was kept is as long as it should be; what was not isn't in the file.
fn assert_bounded(archive: &Archive, entry: EntryId) {
    let size = archive.size(entry);
    if let Ok(head) = archive.head(entry) {
        assert_eq!(head.len() as u64, size.min(limits::HEAD as u64));
    }
    if let Ok(content) = archive.read(entry, limits::CONFIG) {
        assert_eq!(content.len() as u64, size);
    }
    let visited = archive.visit(&[entry], &mut |_, _| ControlFlow::Continue(()));
    assert!(visited.is_err(), "the file has no entry");
}

fn sealed(bytes: &[u8]) -> Vec<u8> {
    [bytes, sha256(bytes).as_bytes()].concat()
}

/// The entries that are remembered of archives.
pub(super) fn seeds(archives: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let remembered = |bytes: Vec<u8>| {
        let known = opened::archive(&fixture::gzip(&bytes)).ok()?.remember()?;
        Some(known[FRONT..known.len() - SEAL].to_vec())
    };
    archives.into_iter().filter_map(remembered).collect()
}
