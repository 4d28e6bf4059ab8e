//! What a file is that is no bundle.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use super::ArchiveError;
use crate::codec::{Codec, DecodeError};
use crate::limits;
use crate::tar::TarError;

/// A file that was taken for a bundle, by what it is. Displays what that is, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    #[error("an HTML page, such as a server's login or error page: download the bundle itself")]
    Html,
    #[error("an XML document, such as a server's error: download the bundle itself")]
    Xml,
    #[error(
        "a JSON document: a bundle is a tar archive or a directory that holds one, among others"
    )]
    Json,
    #[error("a YAML document: a bundle is a tar archive with images inside")]
    Yaml,
    #[error("a PEM file (a key, certificate or signature): keep it elsewhere")]
    Pem,
    #[error("a checksum file: keep it elsewhere")]
    ChecksumFile,
    #[error("a Git LFS pointer: fetch the file itself with `git lfs pull`")]
    LfsPointer,
    #[error("a text file: keep it elsewhere")]
    Text,
    #[error("UTF-16 text: a shell's `>` rewrote the archive, use `docker save -o FILE` instead")]
    Utf16,
    #[error(
        "text with a UTF-8 byte order mark: a shell's `>` rewrote the archive, use `docker save -o FILE` instead"
    )]
    Utf8Mark,
    #[error(
        "an archive that was copied as UTF-8 text, which destroys it: copy it again in binary mode"
    )]
    ReplacedUtf8,
    #[error("a tar archive whose first header is damaged: copy the file again")]
    DamagedTar,
    #[error("a zip file: unpack it, and use the tar archive inside")]
    Zip,
    #[error("a 7z file: unpack it, and use the tar archive inside")]
    SevenZip,
    /// Compressed with a program whose format is not read.
    #[error("a file compressed with {0}: recompress it with gzip or zstd")]
    Compression(&'static str),
    /// A package or disk image.
    #[error("{0}: save the image with `docker save`, `podman save` or `skopeo copy`")]
    Container(&'static str),
    #[error("compressed twice ({0} inside): decompress it once")]
    CompressedTwice(Codec),
    #[error(
        "not a tar archive, nor anything else that is known: create it with `docker save`, `podman save` or `skopeo copy`"
    )]
    Unknown,
}

impl Foreign {
    /// What a file is whose first bytes are `prefix`, and which is no tar archive.
    fn recognise(prefix: &[u8]) -> Self {
        signature(prefix)
            .or_else(|| text(prefix))
            .unwrap_or(Self::Unknown)
    }
}

/// Magic numbers: where they stand, their bytes, what has them.
const SIGNATURES: [(usize, &[u8], Foreign); 23] = [
    (0, b"\xff\xfe", Foreign::Utf16),
    (0, b"\xfe\xff", Foreign::Utf16),
    // gzip, zstd, xz and lz4, with the bytes that are not ASCII replaced by U+FFFD.
    (0, b"\x1f\xef\xbf\xbd", Foreign::ReplacedUtf8),
    (0, b"\x28\xef\xbf\xbd/\xef\xbf\xbd", Foreign::ReplacedUtf8),
    (0, b"\xef\xbf\xbd7zXZ", Foreign::ReplacedUtf8),
    (257, b"ustar", Foreign::DamagedTar),
    (0, b"PK\x03\x04", Foreign::Zip),
    (0, b"PK\x05\x06", Foreign::Zip),
    (0, b"7z\xbc\xaf\x27\x1c", Foreign::SevenZip),
    (0, b"\x1f\x9d", Foreign::Compression("compress")),
    (0, b"LZIP", Foreign::Compression("lzip")),
    (0, b"\x89LZO\0", Foreign::Compression("lzop")),
    (0, b"\x5d\0\0", Foreign::Compression("lzma")),
    (
        0,
        b"\x02\x21\x4c\x18",
        Foreign::Compression("lz4's legacy format (lz4 -l)"),
    ),
    (0, b"Rar!\x1a\x07", Foreign::Compression("rar")),
    (0, b"hsqs", Foreign::Container("a squashfs image")),
    (0, b"QFI\xfb", Foreign::Container("a qcow2 disk image")),
    (0, b"\x7fELF", Foreign::Container("a program")),
    (0, b"\xed\xab\xee\xdb", Foreign::Container("an RPM package")),
    (
        0,
        b"!<arch>\n",
        Foreign::Container("a Debian package or ar archive"),
    ),
    (0, b"070701", Foreign::Container("a cpio archive")),
    (
        32,
        b"\x01\0\0\0\0\0\0\0SIF_MAGIC",
        Foreign::Container("a SIF image"),
    ),
    (0, b"\xef\xbb\xbf", Foreign::Utf8Mark),
];

fn signature(prefix: &[u8]) -> Option<Foreign> {
    SIGNATURES
        .into_iter()
        .find(|(offset, magic, _)| {
            prefix
                .get(*offset..)
                .is_some_and(|bytes| bytes.starts_with(magic))
        })
        // A page or a script may have a mark as well.
        .map(|(_, magic, foreign)| {
            prefix
                .strip_prefix(magic)
                .and_then(markup)
                .unwrap_or(foreign)
        })
}

/// What kind of text it is. A short piece without a line's end may be the name in a tar header.
fn text(prefix: &[u8]) -> Option<Foreign> {
    markup(prefix).or_else(|| {
        let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..);
        let has_line = prefix.contains(&b'\n') || prefix.len() >= limits::RECOGNISED_PREFIX;
        (has_line && prefix.iter().all(is_text)).then_some(Foreign::Text)
    })
}

fn markup(prefix: &[u8]) -> Option<Foreign> {
    let text = prefix.trim_ascii_start();
    let starts = |with: &str| {
        text.get(..with.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(with.as_bytes()))
    };
    let any = |all: &[&str]| all.iter().any(|with| starts(with));
    if any(&["<!doctype html", "<html", "<head", "<body", "<script"]) {
        Some(Foreign::Html)
    } else if starts("<?xml") {
        Some(Foreign::Xml)
    } else if any(&["{", "["]) {
        Some(Foreign::Json)
    } else if starts("-----BEGIN ") {
        Some(Foreign::Pem)
    } else if starts("version https://git-lfs") {
        Some(Foreign::LfsPointer)
    } else if is_checksum(text) {
        Some(Foreign::ChecksumFile)
    } else if any(&["---\n", "---\r\n", "apiVersion:", "kind:", "%YAML"]) {
        Some(Foreign::Yaml)
    } else {
        None
    }
}

/// `sha256sum` and its kin write digits, two spaces (or a space and a star) and a name; BSD's
/// write `SHA256 (NAME) = digits`. Some sites publish the digits alone.
fn is_checksum(text: &[u8]) -> bool {
    let digits = text
        .iter()
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    let behind = text.get(digits..).unwrap_or_default();
    let is_listed = matches!(digits, 32 | 40 | 64 | 96 | 128)
        && (behind.starts_with(b"\n")
            || behind.starts_with(b"\r\n")
            || behind.starts_with(b"  ")
            || behind.starts_with(b" *"));
    is_listed
        || [&b"SHA256 ("[..], b"SHA512 (", b"MD5 ("]
            .iter()
            .any(|bsd| text.starts_with(bsd))
}

/// Puts the real cause, where the file shows one, in the place of a failure to read it.
pub(super) fn explain(error: ArchiveError, file: &File) -> ArchiveError {
    match error {
        ArchiveError::Tar(TarError::NotTar { block }) => {
            let prefix = own_prefix(file).unwrap_or_else(|| block.to_vec());
            ArchiveError::Foreign(match Codec::sniff(&prefix) {
                Codec::Plain => Foreign::recognise(&prefix),
                codec => Foreign::CompressedTwice(codec),
            })
        }
        ArchiveError::Tar(TarError::CutHeader { offset: 0 }) => {
            match own_prefix(file).map(|prefix| Foreign::recognise(&prefix)) {
                // A header that was cut looks damaged.
                Some(Foreign::Unknown | Foreign::DamagedTar) | None => error,
                Some(foreign) => ArchiveError::Foreign(foreign),
            }
        }
        ArchiveError::Decode(DecodeError::Corrupt { .. } | DecodeError::Cut { .. })
        | ArchiveError::Tar(TarError::Checksum { .. } | TarError::LoneZeroBlock { .. }) => {
            match Codec::detect(file) {
                Ok(codec) if has_rewritten_line_ends(file) => ArchiveError::LineEnds { codec },
                _ => error,
            }
        }
        error => error,
    }
}

/// The first bytes of a file that is not compressed. Those of a compressed one say nothing about
/// the content inside.
fn own_prefix(file: &File) -> Option<Vec<u8>> {
    let mut prefix = vec![0; limits::RECOGNISED_PREFIX];
    let count = file.read_at(&mut prefix, 0).ok()?;
    prefix.truncate(count);
    (Codec::sniff(&prefix) == Codec::Plain).then_some(prefix)
}

/// Whether a transfer in text mode has put a carriage return before every line feed of `file`:
/// binary content has many that stand alone.
fn has_rewritten_line_ends(file: &File) -> bool {
    let mut sample = vec![0; limits::LINE_END_SAMPLE];
    let count = file.read_at(&mut sample, 0).unwrap_or(0);
    sample.truncate(count);
    let feeds = sample.iter().filter(|byte| **byte == b'\n').count();
    let pairs = sample.windows(2).filter(|pair| *pair == b"\r\n").count();
    feeds == pairs && feeds >= limits::LINE_END_EVIDENCE
}
