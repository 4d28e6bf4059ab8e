//! Files that are no bundles, refused by what they are.

use super::*;
use crate::digest::{Algorithm, Digest};

#[test]
fn a_file_that_is_no_bundle_is_refused_by_what_it_is() {
    let digest = "0123456789abcdef".repeat(4);
    let utf16: Vec<u8> = "\u{feff}oci-layout"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for (bytes, reason) in [
        (
            &b"<!DOCTYPE html>\n<html><head><title>Login</title>"[..],
            "an HTML page",
        ),
        (b"\xef\xbb\xbf  <html lang=en>", "an HTML page"),
        (
            b"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code>",
            "an XML document",
        ),
        (
            b"{\"errors\":[{\"code\":\"UNAUTHORIZED\"}]}",
            "a JSON document",
        ),
        (b"\n[]", "a JSON document"),
        (b"apiVersion: v1\nkind: Pod\n", "a YAML document"),
        (b"---\nfoo: bar\n", "a YAML document"),
        (b"-----BEGIN PGP SIGNATURE-----\n", "a PEM file"),
        (
            format!("{digest}  bundle.tar\n").as_bytes(),
            "a checksum file",
        ),
        (
            format!("{digest} *bundle.tar\n").as_bytes(),
            "a checksum file",
        ),
        (format!("{digest}\n").as_bytes(), "a checksum file"),
        (
            format!("SHA256 (bundle.tar) = {digest}\n").as_bytes(),
            "a checksum file",
        ),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            "a Git LFS pointer",
        ),
        (b"Not Found\n", "a text file"),
        (&utf16, "UTF-16 text: a shell's `>` rewrote the archive"),
        (
            b"\xef\xbb\xbfoci-layout\0\0",
            "text with a UTF-8 byte order mark",
        ),
        (b"\x1f\xef\xbf\xbd\x08\0", "copied as UTF-8 text"),
        (b"(\xef\xbf\xbd/\xef\xbf\xbd\x04", "copied as UTF-8 text"),
        (b"PK\x03\x04\x14\0", "a zip file"),
        (b"7z\xbc\xaf\x27\x1c\0\x04", "a 7z file"),
        (b"\x1f\x9d\x90", "compressed with compress"),
        (b"LZIP\x01", "compressed with lzip"),
        (b"\x02\x21\x4c\x18", "lz4's legacy format"),
        (b"hsqs\0", "a squashfs image"),
        (b"\x7fELF\x02", "a program"),
    ] {
        for bytes in [bytes.to_vec(), [bytes, &[b'\n'; 600]].concat()] {
            let error = refusal(&bytes);
            assert!(error.to_string().contains(reason), "{reason}: {error}");
            assert_eq!(error.verdict(), Some(Verdict::Refused), "{error}");
        }
    }
}

#[test]
fn what_is_known_as_nothing_is_told_what_a_bundle_is() {
    let noise: Vec<u8> = (0..2000u32).map(|n| (n * n / 7).to_le_bytes()[0]).collect();
    let error = refusal(&noise);
    assert!(
        error
            .to_string()
            .contains("not a tar archive, nor anything else"),
        "{error}"
    );
}

#[test]
fn a_damaged_first_header_is_still_one_of_an_archive() {
    for codec in [Codec::Plain, Codec::Zstd] {
        let mut bytes = bundle();
        bytes[0] ^= 1;
        let error = refusal(&encode(codec, &bytes));
        assert!(
            error.to_string().contains("whose first header is damaged"),
            "{error}"
        );
    }
}

#[test]
fn a_foreign_file_inside_a_compressed_one_is_named_as_well() {
    for (inside, reason) in [
        (b"<html>".repeat(200), "an HTML page"),
        (
            encode(Codec::Gzip, &bundle()),
            "compressed twice (gzip inside)",
        ),
    ] {
        let error = refusal(&encode(Codec::Zstd, &inside));
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn an_empty_file_is_incomplete() {
    let error = refusal(b"");
    assert!(error.to_string().contains("zero bytes"), "{error}");
    assert_eq!(error.verdict(), Some(Verdict::Incomplete));
}

#[test]
fn rewritten_line_ends_are_named() {
    let noise: Vec<u8> = (0..40_000u32)
        .map(|n| {
            Digest::of(Algorithm::Sha256, &n.to_le_bytes())
                .hex()
                .bytes()
                .fold(0, |all: u8, digit| all.rotate_left(3) ^ digit)
        })
        .collect();
    let bytes = archive(&[&file("a", &noise), &file("b", &noise)]);
    for codec in [Codec::Plain, Codec::Gzip, Codec::Zstd, Codec::Xz] {
        let mangled: Vec<u8> = encode(codec, &bytes)
            .into_iter()
            .flat_map(|byte| {
                if byte == b'\n' {
                    vec![b'\r', b'\n']
                } else {
                    vec![byte]
                }
            })
            .collect();
        let error = refusal(&mangled);
        let expected = "were rewritten by a text-mode transfer: copy it again in binary mode";
        assert!(error.to_string().contains(expected), "{codec}: {error}");
        assert_eq!(error.verdict(), Some(Verdict::Refused));
    }
}

#[test]
fn a_damaged_stream_is_the_cause_of_a_damaged_archive() {
    let intact = encode(Codec::Gzip, &archive(&[&file("a", b"")]));
    let mut named = 0;
    for at in 10..intact.len() {
        let mut bytes = intact.clone();
        bytes[at] ^= 0x04;
        if let Err(error) = open(&bytes) {
            // In the archive alone, it would be a header's checksum.
            assert!(
                matches!(error, ArchiveError::Decode(_)),
                "byte {at}: {error}"
            );
            named += 1;
        }
    }
    assert!(named > intact.len() / 2);
}
