//! What is kept of a compressed bundle, and what costs another pass.

use super::*;

fn document(number: usize, len: usize) -> Vec<u8> {
    format!("{{\"number\":{number},\"fill\":\"{}\"}}", "x".repeat(len)).into_bytes()
}

#[test]
fn a_large_document_costs_a_pass_and_a_few_may() {
    let large = document(1, limits::DOCUMENT_KEPT);
    let archive = opened(&encode(Codec::Zstd, &archive(&[&file("large", &large)])));
    let entry = found(&archive, "large");
    for _ in 0..limits::EXTRA_PASSES {
        assert!(archive.read(entry, limits::CONFIG).unwrap() == large);
    }
    let error = archive.read(entry, limits::CONFIG).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("too many large documents in a compressed bundle"),
        "{error}"
    );
    assert_eq!(error.verdict(), Some(Verdict::Refused));
    assert_eq!(archive.head(entry).unwrap(), large[..limits::HEAD]);
}

#[test]
fn small_documents_are_kept_until_their_budget_is_spent() {
    let fits = limits::DOCUMENTS_KEPT / (limits::DOCUMENT_KEPT / 2);
    let pieces: Vec<u8> = (0..fits + limits::EXTRA_PASSES as usize)
        .flat_map(|number| {
            file(
                &number.to_string(),
                &document(number, limits::DOCUMENT_KEPT / 2 - 30),
            )
        })
        .collect();
    let archive = opened(&encode(Codec::Lz4, &archive(&[&pieces])));
    for number in 0..fits + limits::EXTRA_PASSES as usize {
        let content = read(&archive, &number.to_string());
        assert!(content.starts_with(format!("{{\"number\":{number},").as_bytes()));
    }
}

#[test]
fn only_what_starts_like_a_document_is_kept_whole() {
    for (content, passes) in [
        (&b"  \r\n\t[1]"[..], false),
        (b"{}", false),
        (&[b'x'; 600], true),
    ] {
        let archive = opened(&encode(Codec::Gzip, &archive(&[&file("a", content)])));
        let entry = found(&archive, "a");
        let results: Vec<bool> = (0..=limits::EXTRA_PASSES)
            .map(|_| {
                archive
                    .read(entry, u64::MAX)
                    .is_ok_and(|read| read == content)
            })
            .collect();
        assert_eq!(results.iter().all(|ok| *ok), !passes);
    }
}

#[test]
fn a_stream_that_changed_meanwhile_is_noticed() {
    let file = stored(&encode(
        Codec::Gzip,
        &archive(&[&file("a", b"1"), &file("b", &[b'2'; 600])]),
    ));
    let archive = Archive::from_file(file.try_clone().unwrap(), Path::new("b")).unwrap();
    let other = encode(
        Codec::Gzip,
        &crate::tar::made::archive(&[&crate::tar::made::file("c", b"3")]),
    );
    file.set_len(0).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &other, 0).unwrap();
    let error = archive.read(found(&archive, "b"), u64::MAX).unwrap_err();
    assert_eq!(
        error.to_string(),
        "entry \"b\" changed while the bundle was read: look again when it is at rest"
    );
    assert_eq!(error.verdict(), Some(Verdict::Incomplete));
}

#[test]
fn an_archive_that_was_cut_before_it_was_compressed_is_told_from_a_cut_stream() {
    let whole = archive(&[&file("a", &[b'1'; 600])]);
    for (len, extent) in [
        (0, "is empty"),
        (100, "ends after byte 0"),
        (700, "ends after 188 of the 600 bytes of entry \"a\""),
        (1536, "ends after byte 1536"),
        (2048, "ends after byte 1536"),
    ] {
        for codec in [Codec::Gzip, Codec::Zstd] {
            let packed = stored(&encode(codec, &whole[..len]));
            let error = Archive::from_file(packed, Path::new("b")).unwrap_err();
            let said = format!("the {codec} stream is whole, and the archive in it {extent}:");
            assert!(error.to_string().starts_with(&said), "{error}");
            assert_eq!(error.verdict(), Some(Verdict::Incomplete));
        }
    }
}
