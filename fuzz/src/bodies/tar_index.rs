//! Archives as indexes of entries. Headers get the checksum that they should have, which mutated
//! ones would hardly ever hit on.

use airdock_bundle::archive::{Archive, ArchiveError, EntryId};
use airdock_bundle::codec::Codec;
use airdock_bundle::{limits, tar};
use airdock_testkit::fixture;

use super::opened;
use super::sound::contents_of;

/// Indexes `input` as it is and compressed, which must come to the same.
pub fn run(input: &[u8]) {
    let bytes = sealed(input);
    // Too little for a header is looked at for what else it is, unless it is compressed.
    if Codec::sniff(&bytes) != Codec::Plain || bytes.len() < tar::BLOCK {
        return;
    }
    let (plain, packed) = (
        opened::archive(&bytes),
        opened::archive(&fixture::gzip(&bytes)),
    );
    for archive in [&plain, &packed].into_iter().flatten() {
        assert_tidy(archive);
    }
    assert_eq!(seen(&plain), seen(&packed), "plain and compressed");
}

/// Every block that calls itself a header gets its checksum.
fn sealed(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for block in bytes.chunks_exact_mut(tar::BLOCK) {
        if block[257..262] == *b"ustar" {
            block[148..156].fill(b' ');
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
    }
    bytes
}

/// Names are in their normal form, lead to their entries, and none leaves the archive.
fn assert_tidy(archive: &Archive) {
    let names: Vec<&str> = archive.names().collect();
    assert!(names.len() <= limits::ENTRIES && names.is_sorted());
    for name in names {
        assert_eq!(tar::normalise(name.as_bytes()).as_deref(), Ok(name));
        let found = archive.find(name).expect("a file is no link");
        let entry = found.expect("a name that was listed");
        assert_eq!(archive.name(entry), name);
    }
}

/// Name, size and content of each file; of an archive that is refused, what that says of it.
fn seen(archive: &Result<Archive, ArchiveError>) -> Vec<String> {
    match archive {
        Err(error) => vec![format!("{:?}", error.verdict())],
        Ok(archive) => files(archive),
    }
}

fn files(archive: &Archive) -> Vec<String> {
    let found = |name| archive.find(name).ok().flatten();
    let entries: Vec<EntryId> = archive.names().filter_map(found).collect();
    let contents = contents_of(archive, &entries);
    let shown = contents.iter().map(|(entry, content)| {
        assert_eq!(archive.size(*entry), content.len() as u64);
        let head = archive.head(*entry).expect("the start of a file");
        assert!(content.starts_with(&head) && head.len() == content.len().min(limits::HEAD));
        format!("{} {}", archive.name(*entry), fixture::sha256(content))
    });
    shown.collect()
}
