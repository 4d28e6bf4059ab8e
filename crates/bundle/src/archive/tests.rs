//! What an opened bundle shows, and how one that cannot be used is refused.

mod directories;
mod foreign;
mod remembered;
mod streams;

use std::io::Write as _;

use airdock_testkit::fixture::Layer;
use proptest::prelude::*;

use super::*;
use crate::Verdict;
use crate::codec::tests::encode;
use crate::tar::made::{archive, entry, file, link_header, pax};

const CODECS: [Codec; 6] = [
    Codec::Plain,
    Codec::Gzip,
    Codec::Zstd,
    Codec::Xz,
    Codec::Lz4,
    Codec::Bzip2,
];

/// A file that nothing else sees.
fn stored(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

fn open(bytes: &[u8]) -> Result<Archive, ArchiveError> {
    Archive::from_file(stored(bytes), Path::new("bundle.tar"))
}

fn opened(bytes: &[u8]) -> Archive {
    open(bytes).expect("a bundle")
}

fn refusal(bytes: &[u8]) -> ArchiveError {
    open(bytes).expect_err("a refusal")
}

fn found(archive: &Archive, name: &str) -> EntryId {
    archive.find(name).expect(name).expect(name)
}

fn read(archive: &Archive, name: &str) -> Vec<u8> {
    archive
        .read(found(archive, name), u64::MAX)
        .expect(name)
        .to_vec()
}

/// What a visit of `names` gives, entry by entry.
fn visited(archive: &Archive, names: &[&str]) -> Vec<(String, Vec<u8>)> {
    let entries: Vec<EntryId> = names.iter().map(|name| found(archive, name)).collect();
    let mut seen: Vec<(String, Vec<u8>)> = Vec::new();
    archive
        .visit(&entries, &mut |entry, piece| {
            assert!(piece.len() <= limits::VISIT_CHUNK);
            let name = archive.name(entry).to_owned();
            match seen.last_mut() {
                Some((last, content)) if *last == name => content.extend_from_slice(piece),
                _ => seen.push((name, piece.to_vec())),
            }
            ControlFlow::Continue(())
        })
        .expect("a visit");
    seen
}

/// Everything that tests look for: small and large, empty and repeated.
fn bundle() -> Vec<u8> {
    archive(&[
        &entry("./blobs/", b'5', b""),
        &file("./blobs/large", &large()),
        &file("empty", b""),
        &file("._index.json", b"attributes"),
        &file("index.json", b" \n {\"schemaVersion\":2}"),
        &file("twice", b"first"),
        &file("twice", b"second"),
    ])
}

fn large() -> Vec<u8> {
    (0..200_000u32).flat_map(u32::to_le_bytes).collect()
}

#[test]
fn a_bundle_reads_the_same_in_every_codec() {
    for codec in CODECS {
        let archive = opened(&encode(codec, &bundle()));
        assert_eq!(archive.codec(), codec);
        assert!(!archive.is_directory());
        assert_eq!(
            archive.names().collect::<Vec<_>>(),
            ["blobs/large", "empty", "index.json", "twice"]
        );
        assert_eq!(read(&archive, "twice"), b"second", "{codec}");
        assert_eq!(read(&archive, "empty"), b"", "{codec}");
        assert_eq!(
            read(&archive, "index.json"),
            b" \n {\"schemaVersion\":2}",
            "{codec}"
        );
        assert!(read(&archive, "blobs/large") == large(), "{codec}");
        let head = archive.head(found(&archive, "blobs/large")).unwrap();
        assert_eq!(head, large()[..limits::HEAD], "{codec}");
        assert_eq!(
            archive.head(found(&archive, "index.json")).unwrap().len(),
            22,
            "{codec}"
        );
        assert_eq!(archive.size(found(&archive, "blobs/large")), 800_000);
        assert!(archive.unchanged().unwrap());
    }
}

/// Bytes that no codec makes fewer of.
fn noise() -> Vec<u8> {
    Layer::noise(1, 1_000_000).blob().content.clone()
}

/// One that is read ahead.
#[test]
fn a_long_compressed_bundle_is_read_to_its_end_and_no_further() {
    let tar = archive(&[&file("noise", &noise()), &file("index.json", b"{}")]);
    for codec in CODECS.into_iter().filter(|codec| *codec != Codec::Plain) {
        let encoded = encode(codec, &tar);
        assert!(encoded.len() > 3 * limits::INPUT_BUFFER, "{codec}");
        let archive = opened(&encoded);
        assert!(read(&archive, "noise") == noise(), "{codec}");
        let both = visited(&archive, &["noise", "index.json"]);
        assert!(both[0].1 == noise() && both[1].1 == b"{}", "{codec}");
        let entry = found(&archive, "noise");
        let mut pieces = 0;
        let stop = &mut |_: EntryId, _: &[u8]| {
            pieces += 1;
            ControlFlow::Break(())
        };
        archive.visit(&[entry], stop).unwrap();
        assert_eq!(pieces, 1, "{codec}");
        let cut = refusal(&encoded[..encoded.len() / 4 * 3]);
        assert_eq!(cut.verdict(), Some(Verdict::Incomplete), "{codec}: {cut}");
    }
}

#[test]
fn a_visit_gives_what_was_asked_in_the_order_of_the_bundle() {
    for codec in CODECS {
        let archive = opened(&encode(codec, &bundle()));
        let seen = visited(&archive, &["twice", "empty", "blobs/large", "twice"]);
        let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["blobs/large", "empty", "twice"], "{codec}");
        assert!(seen[0].1 == large(), "{codec}");
        assert_eq!(
            (seen[1].1.as_slice(), seen[2].1.as_slice()),
            (&b""[..], &b"second"[..])
        );
        assert_eq!(visited(&archive, &[]), []);
    }
}

#[test]
fn a_visit_ends_where_the_visitor_wants() {
    for codec in CODECS {
        let archive = opened(&encode(codec, &bundle()));
        for first in ["blobs/large", "empty"] {
            let entries = [found(&archive, first), found(&archive, "twice")];
            let mut pieces = 0;
            archive
                .visit(&entries, &mut |_, _| {
                    pieces += 1;
                    ControlFlow::Break(())
                })
                .unwrap();
            assert_eq!(pieces, 1, "{codec}");
        }
    }
}

#[test]
fn an_archive_may_be_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&opened(&bundle()));
}

#[test]
fn a_plain_bundle_and_no_other_can_be_read_at_random() {
    for codec in CODECS {
        let archive = opened(&encode(codec, &bundle()));
        let region = archive.region(found(&archive, "twice")).unwrap();
        assert_eq!(region.is_some(), codec == Codec::Plain, "{codec}");
        if let Some(region) = region {
            assert_eq!(plain::whole(&region, "twice").unwrap(), &b"second"[..]);
        }
    }
}

#[test]
fn names_are_found_however_they_are_written() {
    let archive = opened(&bundle());
    for name in [
        "./blobs/large",
        "blobs//large",
        "x/../blobs/./large",
        "blobs/large/",
    ] {
        assert!(archive.find(name).unwrap().is_some(), "{name}");
    }
    for name in [
        "",
        "blobs",
        "../blobs/large",
        "/blobs/large",
        "BLOBS/large",
        "._index.json",
    ] {
        assert_eq!(archive.find(name).unwrap(), None, "{name}");
    }
}

#[test]
fn links_are_followed_inside_the_bundle() {
    let archive = opened(&archive(&[
        &file("a/b/layer.tar", b"layer"),
        &link_header("a/b/same", b'2', "layer.tar"),
        &link_header("c/up", b'2', "../a/./b/../b/same"),
        &link_header("c/hop", b'2', "up"),
        &link_header("hard", b'1', "./c/hop"),
        &link_header("d", b'2', "a"),
        &link_header("e", b'2', "d/b"),
        &link_header("before", b'1', "after"),
        &file("after", b"later"),
    ]));
    for (name, target) in [
        ("a/b/same", "a/b/layer.tar"),
        ("c/up", "a/b/layer.tar"),
        ("c/hop", "a/b/layer.tar"),
        ("hard", "a/b/layer.tar"),
        ("d/b/layer.tar", "a/b/layer.tar"),
        ("e/layer.tar", "a/b/layer.tar"),
        ("before", "after"),
    ] {
        assert_eq!(archive.name(found(&archive, name)), target, "{name}");
    }
    assert_eq!(
        archive.names().collect::<Vec<_>>(),
        ["a/b/layer.tar", "after"]
    );
}

/// Extracted, a hard link keeps the content that was there, and a symbolic one shows the last.
#[test]
fn a_hard_link_means_what_stood_before_it() {
    let archive = opened(&archive(&[
        &file("a", b"first"),
        &link_header("hard", b'1', "a"),
        &link_header("soft", b'2', "a"),
        &file("a", b"second"),
        &link_header("harder", b'1', "./hard"),
    ]));
    for (name, content) in [
        ("a", "second"),
        ("hard", "first"),
        ("harder", "first"),
        ("soft", "second"),
    ] {
        assert_eq!(read(&archive, name), content.as_bytes(), "{name}");
    }
    assert_eq!(archive.names().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn rivals_are_all_entries_that_a_tool_may_take() {
    let many: Vec<Vec<u8>> = (0..=limits::RIVALS).map(|_| file("many", b"")).collect();
    let archive = opened(&archive(&[
        &file("one", b"1"),
        &file("two", b"first"),
        &file("./two", b"last"),
        &link_header("to/two", b'2', "../two"),
        &link_header("mixed", b'2', "one"),
        &file("mixed", b"3"),
        &many.concat(),
    ]));
    for (name, rivals) in [("one", 0), ("two", 1), ("to/two", 1), ("absent", 0)] {
        assert_eq!(archive.rivals(name).unwrap().len(), rivals, "{name}");
    }
    for name in ["mixed", "many"] {
        let error = archive.rivals(name).unwrap_err();
        assert!(matches!(error, ArchiveError::Repeated { .. }), "{error}");
    }
}

#[test]
fn a_link_that_leads_nowhere_matters_when_it_is_needed() {
    let archive = opened(&archive(&[
        &file("a", b""),
        &link_header("dir/dangling", b'2', "../missing"),
        &link_header("hop", b'2', "dir/dangling"),
        &link_header("out", b'2', "../../etc/passwd"),
        &link_header("absolute", b'2', "/etc/passwd"),
        &link_header("self", b'2', "self"),
        &link_header("x", b'2', "y"),
        &link_header("y", b'1', "x"),
        &link_header("grow", b'2', "grow/grow"),
    ]));
    for (name, reason) in [
        (
            "dir/dangling",
            "\"dir/dangling\" links to \"missing\", which is not in the bundle",
        ),
        ("hop", "\"dir/dangling\" links to \"missing\", which is not"),
        ("out", "\"out\" links to \"../../etc/passwd\""),
        ("absolute", "\"absolute\" links to \"/etc/passwd\""),
        ("self", "\"self\" is a link that leads back to itself"),
        ("x", "is a link that leads back to itself"),
        ("grow", "is a link that leads back to itself"),
    ] {
        let error = archive.find(name).unwrap_err();
        assert!(error.to_string().contains(reason), "{name}: {error}");
        assert_eq!(error.verdict(), Some(Verdict::Refused));
    }
    assert!(archive.find("a").unwrap().is_some());
}

#[test]
fn a_control_file_stands_once() {
    for name in ["index.json", "oci-layout", "manifest.json"] {
        let dotted = format!("./{name}");
        for again in [file(&dotted, b"{}"), link_header(name, b'2', "x").to_vec()] {
            let error = refusal(&archive(&[&file(name, b"{}"), &again]));
            let expected = format!("\"{name}\" stands twice in the archive");
            assert!(error.to_string().contains(&expected), "{error}");
            assert_eq!(error.verdict(), Some(Verdict::Refused));
        }
    }
    opened(&archive(&[
        &file("index.json", b"{}"),
        &file("a/index.json", b"{}"),
    ]));
}

#[test]
fn a_document_over_its_limit_is_refused_unread() {
    for codec in CODECS {
        let archive = opened(&encode(codec, &bundle()));
        let error = archive
            .read(found(&archive, "blobs/large"), 799_999)
            .unwrap_err();
        let expected = "entry \"blobs/large\" takes 800000 bytes, over the limit of 799999";
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.verdict(), Some(Verdict::Refused));
    }
}

#[test]
fn a_bundle_cut_anywhere_is_never_ok() {
    let small = archive(&[&pax(&[("path", "a")]), &file("x", b"123"), &file("b", b"")]);
    for codec in CODECS {
        let bytes = encode(codec, &small);
        for len in 0..bytes.len() {
            let error = refusal(&bytes[..len]);
            assert_eq!(
                error.verdict(),
                Some(Verdict::Incomplete),
                "{codec} at {len}: {error}"
            );
        }
    }
}

#[test]
fn a_bundle_with_a_flipped_bit_is_never_a_panic() {
    let small = archive(&[&file("a", b"123"), &link_header("b", b'2', "a")]);
    for codec in CODECS {
        let bytes = encode(codec, &small);
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            if let Err(error) = open(&flipped) {
                assert!(error.verdict().is_some(), "{codec}, byte {at}: {error}");
            }
        }
    }
}

#[test]
fn more_entries_than_the_limit_are_refused() {
    let one = entry("d/", b'5', b"");
    let bytes = archive(&[&one.repeat(limits::ENTRIES)]);
    assert_eq!(opened(&bytes).names().count(), 0);
    let error = refusal(&archive(&[&one.repeat(limits::ENTRIES + 1)]));
    assert_eq!(error.to_string(), "over 100000 entries: split the bundle");
}

#[test]
fn names_that_take_too_much_together_are_refused() {
    let name = |number: usize| format!("{number:05}/{}", "n".repeat(limits::ENTRY_NAME - 6));
    let pieces: Vec<u8> = (0..=limits::ENTRY_NAMES / limits::ENTRY_NAME)
        .flat_map(|number| [pax(&[("path", &name(number))]), file("x", b"")].concat())
        .collect();
    let error = refusal(&archive(&[&pieces]));
    assert!(
        error
            .to_string()
            .contains("the names of the entries take over"),
        "{error}"
    );
}

#[test]
fn a_file_that_changes_is_noticed() {
    for codec in CODECS {
        let file = stored(&encode(codec, &bundle()));
        let archive = Archive::from_file(file.try_clone().unwrap(), Path::new("b")).unwrap();
        assert!(archive.unchanged().unwrap());
        (&file).write_all(b"x").unwrap();
        assert!(!archive.unchanged().unwrap(), "{codec}");
    }
}

#[test]
fn a_file_that_shrinks_is_incomplete() {
    let file = stored(&bundle());
    let archive = Archive::from_file(file.try_clone().unwrap(), Path::new("b")).unwrap();
    let entry = found(&archive, "blobs/large");
    file.set_len(100_000).unwrap();
    for error in [
        archive.read(entry, u64::MAX).unwrap_err(),
        archive
            .visit(&[entry], &mut |_, _| ControlFlow::Continue(()))
            .unwrap_err(),
    ] {
        assert!(
            error
                .to_string()
                .contains("\"blobs/large\" ends before its 800000 bytes"),
            "{error}"
        );
        assert_eq!(error.verdict(), Some(Verdict::Incomplete));
    }
}

#[test]
fn a_path_that_cannot_be_looked_at_has_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    rustix::fs::mknodat(rustix::fs::CWD, path("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    for (path, reason) in [
        (path("none"), "cannot open"),
        (path("fifo"), "is a FIFO, neither a file nor a directory"),
        (path("socket"), "is a socket or a device, neither"),
        ("/dev/null".into(), "is a device, neither"),
    ] {
        let error = Archive::open(&path).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        assert!(
            error.to_string().contains(&path.display().to_string()),
            "{error}"
        );
        assert_eq!(error.verdict(), None, "{error}");
    }
}

/// Entries of any size, from which any are asked for.
fn any_bundle() -> impl Strategy<Value = (Vec<usize>, Vec<prop::sample::Index>)> {
    let sizes = prop_oneof![0usize..2000, 0usize..700_000];
    (
        prop::collection::vec(sizes, 1..12),
        prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn what_was_packed_is_read_back((sizes, asked) in any_bundle()) {
        let content = |number: usize, size: usize| -> Vec<u8> {
            (0..size).map(|at| (at / 3 + number).to_le_bytes()[0]).collect()
        };
        let pieces: Vec<u8> = sizes
            .iter()
            .enumerate()
            .flat_map(|(number, size)| file(&format!("{number:02}"), &content(number, *size)))
            .collect();
        let mut asked: Vec<usize> = asked.iter().map(|index| index.index(sizes.len())).collect();
        let names: Vec<String> = asked.iter().map(|number| format!("{number:02}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        asked.sort_unstable();
        asked.dedup();
        for codec in [Codec::Plain, Codec::Lz4] {
            let archive = opened(&encode(codec, &archive(&[&pieces])));
            prop_assert_eq!(archive.names().count(), sizes.len());
            let seen = visited(&archive, &names);
            prop_assert_eq!(seen.len(), asked.len());
            for ((name, seen), number) in seen.iter().zip(&asked) {
                prop_assert_eq!(name, &format!("{number:02}"));
                prop_assert!(*seen == content(*number, sizes[*number]));
            }
        }
    }
}
