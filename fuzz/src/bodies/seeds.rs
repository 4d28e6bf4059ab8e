//! The sample bundles of `tests/corpus` as inputs of each target.

mod entries;
mod script;

use std::fs;
use std::io;

use airdock_bundle::codec::Codec;
use airdock_testkit::{corpus, fixture};

/// Names that samples don't have.
const MORE_NAMES: [&str; 12] = [
    "alpine",
    "localhost/a",
    "[fd00::1]:5000/a/b:1",
    "index.docker.io/a",
    "EXAMPLE.com/a__b/c-d.e:V1",
    "a:1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "linux/arm/v7",
    "windows/x86_64",
    "./blobs//sha256/../a",
    "a\u{202e}\u{1b}[31m\u{200b}b",
];

pub(super) fn names() -> io::Result<Vec<Vec<u8>>> {
    let rows = corpus::rows()?;
    let names = rows.iter().flat_map(|row| &row.names).map(String::as_str);
    let names = names.chain(MORE_NAMES);
    Ok(names.map(|name| name.as_bytes().to_vec()).collect())
}

/// Every plain sample, without the padding behind its end.
pub(super) fn archives() -> io::Result<Vec<Vec<u8>>> {
    /// What ends an archive.
    const END: usize = 1024;
    let mut archives = files(Codec::Plain)?;
    for bytes in &mut archives {
        let content = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0);
        bytes.truncate(content.next_multiple_of(END / 2) + END);
    }
    Ok(archives)
}

/// Every compressed sample, and a text in each codec whose program is here. The first byte is how
/// they are dripped.
pub(super) fn streams() -> io::Result<Vec<Vec<u8>>> {
    let mut streams = Vec::new();
    for codec in [Codec::Gzip, Codec::Zstd, Codec::Xz] {
        streams.extend(files(codec)?);
    }
    let text = b"the same words again, the same words again, and others".repeat(9);
    for program in ["lz4", "bzip2", "xz", "zstd", "gzip"] {
        streams.extend(fixture::through(program, &["-c"], &text));
    }
    for stream in &mut streams {
        stream.insert(0, b'@');
    }
    Ok(streams)
}

/// The content of the samples that are files of this codec.
fn files(codec: Codec) -> io::Result<Vec<Vec<u8>>> {
    let paths = corpus::rows()?.into_iter().map(|row| row.path());
    let files = paths.filter(|path| path.is_file()).map(fs::read);
    let of_codec = |bytes: &Vec<u8>| Codec::sniff(bytes) == codec;
    files
        .filter(|read| read.as_ref().map_or(true, of_codec))
        .collect()
}

/// The image layouts among the plain samples, as scripts.
pub(super) fn layouts() -> io::Result<Vec<Vec<u8>>> {
    let samples = files(Codec::Plain)?;
    Ok(samples
        .iter()
        .filter_map(|it| script::layout(entries::of(it)))
        .collect())
}

/// The docker-archives among the plain samples, as scripts.
pub(super) fn saved() -> io::Result<Vec<Vec<u8>>> {
    let samples = files(Codec::Plain)?;
    Ok(samples
        .iter()
        .filter_map(|it| script::saved(entries::of(it)))
        .collect())
}
