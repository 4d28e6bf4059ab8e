//! A compressed file that is opened by what was remembered of it: the same to whoever asks, or
//! not at all.

use std::os::unix::fs::FileExt as _;

use proptest::sample::{Index, select};

use super::super::remembered;
use super::*;
use crate::digest::{Algorithm, Digest};

/// Magic and version, and the stamp.
const FRONT: usize = 16 + Stamp::BYTES;

/// A compressed file, and what is remembered of it.
fn indexed(tar: &[u8]) -> (File, Archive, Bytes) {
    let file = stored(&encode(Codec::Zstd, tar));
    let whole = Archive::from_file(file.try_clone().unwrap(), Path::new("b")).unwrap();
    let known = whole.remember().expect("an index").into();
    (file, whole, known)
}

/// The same with other entries, or another head.
fn resealed(front: &[u8], entries: &[u8]) -> Bytes {
    let bytes = [front, entries].concat();
    let seal = Digest::of(Algorithm::Sha256, &bytes);
    [&bytes, seal.as_str().as_bytes()].concat().into()
}

fn text(text: &str) -> Vec<u8> {
    let len = u32::try_from(text.len()).unwrap();
    [&len.to_le_bytes()[..], text.as_bytes()].concat()
}

/// A file's record: what comes behind offset and size is `kept`.
fn record(tag: u8, name: &str, offset: u64, size: u64, kept: &[u8]) -> Vec<u8> {
    let place = [offset.to_le_bytes(), size.to_le_bytes()].concat();
    [&[tag][..], &text(name), &place, kept].concat()
}

/// Every answer of an archive that doesn't cost a pass.
fn answers(archive: &Archive, asked: &[String]) -> Vec<String> {
    let listed = archive.names().map(str::to_owned);
    let all = listed.chain(asked.iter().cloned());
    let answer = |name: String| {
        let found = archive.find(&name);
        let place = found.as_ref().ok().copied().flatten().map(|entry| {
            let place = archive.index.place(entry);
            (place, archive.name(entry).to_owned(), archive.head(entry))
        });
        let rivals = archive.rivals(&name);
        format!("{name}: {found:?} {place:?} {rivals:?}")
    };
    all.map(answer).collect()
}

#[test]
fn what_is_remembered_answers_like_what_was_read() {
    let tar = [
        &bundle()[..bundle().len() - 1024],
        &link_header("soft", b'2', "./blobs/large"),
        &link_header("hard", b'1', "twice"),
        &link_header("away", b'2', "../x"),
        &file("twice", b"third"),
    ];
    for codec in CODECS {
        let file = stored(&encode(codec, &archive(&tar)));
        let whole = Archive::from_file(file.try_clone().unwrap(), Path::new("b")).unwrap();
        let Some(known) = whole.remember() else {
            assert_eq!(codec, Codec::Plain, "it is opened without being read");
            continue;
        };
        let again = Archive::recall(&file, &known.clone().into()).expect("the same file");
        let asked = ["soft", "hard", "away", "./twice", "none"].map(str::to_owned);
        assert_eq!(answers(&again, &asked), answers(&whole, &asked));
        assert_eq!(again.codec(), codec);
        for name in ["empty", "index.json", "hard", "soft"] {
            assert!(read(&again, name) == read(&whole, name), "{name}");
        }
        let wanted = ["twice", "blobs/large", "hard"];
        assert_eq!(visited(&again, &wanted), visited(&whole, &wanted));
        assert_eq!(again.remember(), Some(known));
        assert!(again.unchanged().unwrap());
    }
}

#[test]
fn documents_are_read_without_a_pass_as_often_as_they_are_asked_for() {
    let (file, _, known) = indexed(&archive(&[&file("a", b" {\"a\":1}")]));
    let again = Archive::recall(&file, &known).unwrap();
    for _ in 0..=limits::EXTRA_PASSES {
        assert_eq!(read(&again, "a"), b" {\"a\":1}");
    }
}

#[test]
fn a_directory_is_not_remembered() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("index.json"), "{}").unwrap();
    assert_eq!(Archive::open(directory.path()).unwrap().remember(), None);
}

#[test]
fn another_file_or_another_version_of_it_is_not_what_is_remembered() {
    let (file, whole, known) = indexed(&bundle());
    let other = stored(&encode(Codec::Zstd, &bundle()));
    assert!(Archive::recall(&other, &known).is_none(), "another file");
    assert!(Archive::recall(&file, &known).is_some());
    // The same bytes in the same place, at another time.
    let mut byte = [0];
    file.read_exact_at(&mut byte, 0).unwrap();
    file.write_all_at(&byte, 0).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert!(Archive::recall(&file, &known).is_none(), "another version");
    assert_eq!(whole.remember(), None, "it isn't what was read any more");
}

#[test]
fn a_plain_file_is_never_recalled() {
    let file = stored(&bundle());
    let stamp = Stamp::of(&rustix::fs::fstat(&file).unwrap());
    let front = [&b"airdock-index 1\n"[..], &stamp.to_bytes()].concat();
    let known = resealed(&front, &[]);
    assert!(remembered::read(&known, &stamp).is_some());
    assert!(Archive::recall(&file, &known).is_none());
}

#[test]
fn an_index_that_is_cut_or_flipped_anywhere_counts_as_absent() {
    let (file, _, known) = indexed(&archive(&[&file("a", b"{}"), &file("b", b"1")]));
    for at in 0..known.len() {
        assert!(Archive::recall(&file, &known.slice(..at)).is_none(), "{at}");
        let mut flipped = known.to_vec();
        flipped[at] ^= 1 << (at % 8);
        assert!(Archive::recall(&file, &flipped.into()).is_none(), "{at}");
    }
    let longer = [&known[..], b"\0"].concat();
    assert!(Archive::recall(&file, &longer.into()).is_none());
}

#[test]
fn an_index_of_another_format_counts_as_absent() {
    let (file, _, known) = indexed(&bundle());
    let (front, entries) = known[..known.len() - 71].split_at(FRONT);
    assert_eq!(resealed(front, entries), known);
    let newer = [b"airdock-index 2\n", &front[16..]].concat();
    assert!(Archive::recall(&file, &resealed(&newer, entries)).is_none());
}

#[test]
fn what_no_archive_could_have_led_to_counts_as_absent() {
    let (file, _, known) = indexed(&archive(&[&file("a", b"1")]));
    let front = &known[..FRONT];
    let one = record(1, "a", 512, 1, b"1");
    let recall = |entries: &[u8]| Archive::recall(&file, &resealed(front, entries));
    assert!(recall(&one).is_some());
    let large = vec![b'{'; limits::DOCUMENT_KEPT + 1];
    let long = "n".repeat(limits::ENTRY_NAME + 1);
    for (what, entries) in [
        ("an unknown tag", record(5, "b", 2000, 0, b"")),
        ("content that is absent", record(1, "b", 2000, 2, b"1")),
        ("a place before the last", record(0, "b", 0, 9, b"")),
        ("a place inside the last", record(0, "b", 512, 9, b"")),
        (
            "a place beyond all files",
            record(0, "b", 2000, u64::MAX, b""),
        ),
        (
            "a document of any size",
            record(2, "b", 2000, u64::MAX, b""),
        ),
        ("a name that leaves", record(0, "../b", 2000, 9, b"")),
        ("a name in other words", record(0, "./b", 2000, 9, b"")),
        ("a name that is passed over", record(0, "._b", 2000, 9, b"")),
        ("a name that is too long", record(0, &long, 2000, 9, b"")),
        ("a name that isn't there", vec![0, 9, 0, 0, 0, b'b']),
        (
            "a name that is no text",
            [&[0, 1, 0, 0, 0, 0xff][..], &[0; 16]].concat(),
        ),
        ("a link to nothing", [&[3][..], &text("b")].concat()),
        (
            "two lists",
            [
                record(0, "index.json", 2000, 9, b""),
                record(0, "index.json", 4000, 9, b""),
            ]
            .concat(),
        ),
        (
            "a document that is too large",
            record(2, "b", 2000, large.len() as u64, &large),
        ),
    ] {
        assert!(recall(&[&one[..], &entries].concat()).is_none(), "{what}");
    }
}

#[test]
fn the_limits_of_an_archive_hold_for_what_is_remembered() {
    let tar = archive(&[&file("x", &[0; 512])]);
    let (file, _, known) = indexed(&tar);
    // What may be remembered depends on the size of the file.
    file.set_len(1 << 30).unwrap();
    let stamp = Stamp::of(&rustix::fs::fstat(&file).unwrap());
    let front = [&known[..16], &stamp.to_bytes()].concat();
    let recall =
        |entries: Vec<Vec<u8>>| Archive::recall(&file, &resealed(&front, &entries.concat()));
    let many = |count: usize| {
        (0..count)
            .map(|at| record(0, "a", at as u64, 0, b""))
            .collect()
    };
    assert!(recall(many(limits::ENTRIES)).is_some());
    assert!(recall(many(limits::ENTRIES + 1)).is_none());
    let document = vec![b'{'; limits::DOCUMENT_KEPT];
    let documents = |count: usize| {
        let place = |at: usize| (at * document.len()) as u64;
        let one = |at| record(2, "a", place(at), document.len() as u64, &document);
        (0..count).map(one).collect()
    };
    let fit = limits::DOCUMENTS_KEPT / limits::DOCUMENT_KEPT;
    assert!(recall(documents(fit)).is_some());
    assert!(recall(documents(fit + 1)).is_none());
}

#[test]
fn of_a_small_bundle_not_much_is_remembered() {
    let files = |count: usize| -> Vec<u8> {
        (0..count)
            .flat_map(|number| file(&format!("{number:03}"), &[b'x'; 512]))
            .collect()
    };
    let opened = |count: usize| opened(&encode(Codec::Zstd, &archive(&[&files(count)])));
    assert!(opened(400).remember().is_some());
    assert_eq!(opened(600).remember(), None);
}

/// Damage that shows in no stamp: whoever reads by what is remembered is told.
#[test]
fn what_is_read_by_a_wrong_index_is_no_content() {
    let (file, _, known) = indexed(&archive(&[&file("a", &[b'1'; 600]), &file("b", b"2")]));
    let front = &known[..FRONT];
    for entries in [
        record(0, "a", 512, 599, b""),
        record(0, "a", 1024, 600, b""),
        record(0, "a", 1 << 40, 600, b""),
    ] {
        let again = Archive::recall(&file, &resealed(front, &entries)).unwrap();
        let error = again.read(found(&again, "a"), u64::MAX).unwrap_err();
        assert!(matches!(error, ArchiveError::Changed { .. }), "{error}");
    }
}

/// Files, documents and links under a few names, so that they repeat and lead to each other.
fn any_entries() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let name = || select(&["a", "b", "a/b", "c/d", "c"][..]);
    let content = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..1500),
        prop::collection::vec(any::<u8>(), 0..1500).prop_map(|rest| [b"{", &rest[..]].concat()),
    ];
    let entry = prop_oneof![
        4 => (name(), content).prop_map(|(name, content)| file(name, &content)),
        1 => (name(), name()).prop_map(|(name, to)| link_header(name, b'2', to).to_vec()),
        1 => (name(), name()).prop_map(|(name, to)| link_header(name, b'1', to).to_vec()),
        1 => name().prop_map(|name| entry(name, b'5', b"")),
    ];
    prop::collection::vec(entry, 0..12)
}

proptest! {
    #[test]
    fn whatever_is_remembered_is_recalled(entries in any_entries(), wanted in any::<Vec<Index>>()) {
        let (file, whole, known) = indexed(&archive(&[&entries.concat()]));
        let again = Archive::recall(&file, &known).expect("the same file");
        let asked = ["a", "b", "a/b", "c/d", "c", "c/a"].map(str::to_owned);
        prop_assert_eq!(answers(&again, &asked), answers(&whole, &asked));
        let names: Vec<&str> = whole.names().collect();
        for name in &names {
            prop_assert_eq!(read(&again, name), read(&whole, name));
        }
        if !names.is_empty() {
            let wanted: Vec<&str> = wanted.iter().map(|at| *at.get(&names)).collect();
            prop_assert_eq!(visited(&again, &wanted), visited(&whole, &wanted));
        }
    }

    #[test]
    fn arbitrary_bytes_are_never_a_panic(entries in any::<Vec<u8>>()) {
        let (file, _, known) = indexed(&archive(&[&file("a", b"{}")]));
        let _ = Archive::recall(&file, &entries.clone().into());
        if let Some(archive) = Archive::recall(&file, &resealed(&known[..FRONT], &entries)) {
            let names = archive.names().map(|name| archive.find(name).is_ok());
            prop_assert!(names.count() <= entries.len());
        }
    }
}
