//! Bytes as a bundle that a node opens.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use airdock_bundle::Bundle;
use airdock_bundle::archive::{Archive, ArchiveError};
use airdock_bundle::codec::Codec;
use airdock_bundle::open::OpenError;
use airdock_bundle::platform::{Matcher, Platform};
use airdock_testkit::fixture;
use rustix::fs::MemfdFlags;

use super::sound::assert_sound;

/// The bytes as a file, in memory.
pub(super) fn file(bytes: &[u8]) -> File {
    let descriptor = rustix::fs::memfd_create(c"bundle", MemfdFlags::CLOEXEC);
    let mut file = File::from(descriptor.expect("memory for a file"));
    file.write_all(bytes).expect("memory for a file");
    file
}

/// The bytes as an archive.
pub(super) fn archive(bytes: &[u8]) -> Result<Archive, ArchiveError> {
    Archive::from_file(file(bytes), Path::new("bundle"))
}

fn open(bytes: &[u8]) -> Result<Bundle, OpenError> {
    let platform = Matcher::only(Platform::new("linux", "amd64", ""));
    let mut bundle = Bundle::open(archive(bytes)?, &platform)?;
    bundle.check(&mut |_| ())?;
    Ok(bundle)
}

/// Opens and checks a plain archive as it is and compressed: both must be sound, and the same to a
/// user.
pub(super) fn assert_sound_in_both_ways(tar: &[u8]) {
    // The name of the first entry may start like a compressed file.
    if Codec::sniff(tar) != Codec::Plain {
        return;
    }
    let (plain, packed) = (open(tar), open(&fixture::gzip(tar)));
    for bundle in [&plain, &packed].into_iter().flatten() {
        assert_sound(bundle);
    }
    assert_eq!(seen(&plain), seen(&packed), "plain and compressed");
}

/// All that is said of a bundle.
fn seen(opened: &Result<Bundle, OpenError>) -> Vec<String> {
    match opened {
        Err(error) => vec![format!("{:?} {error}", error.verdict())],
        Ok(bundle) => {
            let images = bundle.images().iter().map(|image| {
                let target = image.target.as_ref().map(|it| it.digest.to_string());
                format!("{target:?} {:?} {:?}", image.names, image.reason())
            });
            let all = format!("{} {:?}", bundle.id(), bundle.reason());
            std::iter::once(all).chain(images).collect()
        }
    }
}
