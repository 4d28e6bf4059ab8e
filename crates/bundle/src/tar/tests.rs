//! What the reader makes of archives, dialect by dialect and fault by fault.

use proptest::prelude::*;

use super::made::{
    self, Drip, END, archive, entry, file, header, link_header, long, pax, put, sealed, unsealed,
};
use super::*;
use crate::Verdict;
use crate::codec::DecodeError;
use crate::limits;

type Read = (Entry, Vec<u8>);

/// Every entry and its content, read `step` bytes at a time.
fn read_by(bytes: &[u8], step: usize) -> Result<Vec<Read>, TarError> {
    let mut reader = Reader::new(Drip { bytes, step });
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        let mut content = Vec::new();
        while let chunk @ [_, ..] = reader.chunk()? {
            content.extend_from_slice(chunk);
        }
        entries.push((entry, content));
    }
    Ok(entries)
}

fn read(bytes: &[u8]) -> Result<Vec<Read>, TarError> {
    read_by(bytes, usize::MAX)
}

fn names(bytes: &[u8]) -> Vec<String> {
    read(bytes)
        .expect("archive")
        .into_iter()
        .map(|(entry, _)| entry.name)
        .collect()
}

fn kinds(bytes: &[u8]) -> Vec<Kind> {
    read(bytes)
        .expect("archive")
        .into_iter()
        .map(|(entry, _)| entry.kind)
        .collect()
}

fn refusal(bytes: &[u8]) -> TarError {
    read(bytes).expect_err("a refusal")
}

/// A path of this many bytes.
fn deep(len: usize) -> String {
    let directories = (len - 1) / 10;
    "directory/".repeat(directories) + &"f".repeat(len - directories * 10)
}

#[test]
fn entries_have_names_kinds_and_places() {
    let bytes = archive(&[
        &entry("./blobs/", b'5', b""),
        &file("./blobs/a", b"content"),
        &file("empty", b""),
        &link_header("link", b'2', "../x/./y"),
        &link_header("hard", b'1', "./blobs/a"),
        &entry("contiguous", b'7', &[1; 513]),
    ]);
    for step in [1, 7, 511, 512, 4096, usize::MAX] {
        let entries = read_by(&bytes, step).expect("archive");
        let place = |name: &str, kind, size, offset| Entry {
            name: name.into(),
            kind,
            size,
            offset,
        };
        let symlink = Kind::Symlink {
            target: "../x/./y".into(),
        };
        let hard_link = Kind::HardLink {
            target: "./blobs/a".into(),
        };
        let expected = [
            (place("blobs", Kind::Directory, 0, 512), vec![]),
            (place("blobs/a", Kind::File, 7, 1024), b"content".to_vec()),
            (place("empty", Kind::File, 0, 2048), vec![]),
            (place("link", symlink, 0, 2560), vec![]),
            (place("hard", hard_link, 0, 3072), vec![]),
            (place("contiguous", Kind::File, 513, 3584), vec![1; 513]),
        ];
        assert_eq!(entries, expected, "{step} bytes at a time");
    }
}

#[test]
fn content_that_is_not_read_is_passed_over() {
    let bytes = archive(&[
        &file("a", &[1; 5000]),
        &file("b", &[2; 600]),
        &file("c", b"3"),
    ]);
    let mut reader = Reader::new(Drip {
        bytes: &bytes,
        step: 100,
    });
    assert_eq!(reader.next_entry().unwrap().unwrap().name, "a");
    assert_eq!(reader.next_entry().unwrap().unwrap().name, "b");
    assert_eq!(reader.chunk().unwrap(), [2; 100]);
    assert_eq!(reader.next_entry().unwrap().unwrap().name, "c");
    assert_eq!(reader.chunk().unwrap(), b"3");
    assert_eq!(reader.chunk().unwrap(), b"");
    assert_eq!(reader.next_entry().unwrap(), None);
}

#[test]
fn long_names_are_read_in_every_dialect() {
    let name = deep(250);
    let (prefix, base) = name.split_at(150);
    let mut ustar = unsealed(base, b'0', 0);
    put(&mut ustar, 345, prefix.trim_end_matches('/').as_bytes());
    let mut star = ustar;
    star[345 + 131..].fill(b'7');
    put(&mut star, 345, &[0; 131]);
    put(&mut star, 345, b"short/prefix");
    put(&mut star, 508, b"tar\0");
    let mut gnu = unsealed("gnu", b'0', 0);
    put(&mut gnu, 257, b"ustar  \0");
    put(&mut gnu, 345, b"14551174613");
    let v7 = sealed({
        let mut block = unsealed("v7", 0, 0);
        put(&mut block, 257, &[0; 8]);
        put(&mut block, 345, b"not a prefix");
        block
    });
    for (what, bytes, expected) in [
        ("ustar", archive(&[&sealed(ustar)]), name.as_str()),
        (
            "star",
            archive(&[&sealed(star)]),
            &format!("short/prefix/{base}"),
        ),
        (
            "pax",
            archive(&[&pax(&[("path", &name)]), &file("cut", b"")]),
            &name,
        ),
        (
            "gnu",
            archive(&[&long(b'L', &name), &file("cut", b"")]),
            &name,
        ),
        ("gnu times", archive(&[&sealed(gnu)]), "gnu"),
        ("v7", archive(&[&v7]), "v7"),
        (
            "full field",
            archive(&[&file(&"n".repeat(100), b"")]),
            &"n".repeat(100),
        ),
    ] {
        assert_eq!(names(&bytes), [expected], "{what}");
    }
}

#[test]
fn long_link_targets_are_read_in_both_dialects() {
    let target = deep(180);
    for before in [pax(&[("linkpath", &target)]), long(b'K', &target)] {
        let bytes = archive(&[&before, &link_header("l", b'2', "cut")]);
        assert_eq!(
            kinds(&bytes),
            [Kind::Symlink {
                target: target.clone()
            }]
        );
    }
    let both = archive(&[
        &long(b'K', &target),
        &long(b'L', &deep(120)),
        &link_header("cut", b'1', "cut"),
    ]);
    assert_eq!(names(&both), [deep(120)]);
    assert_eq!(kinds(&both), [Kind::HardLink { target }]);
}

#[test]
fn a_v7_directory_is_known_by_its_slash() {
    assert_eq!(kinds(&archive(&[&entry("d/", 0, b"")])), [Kind::Directory]);
    assert_eq!(
        kinds(&archive(&[&entry("d/", b'5', b"")])),
        [Kind::Directory]
    );
    assert_eq!(kinds(&archive(&[&entry("f", 0, b"")])), [Kind::File]);
}

#[test]
fn an_entry_is_a_directory_by_both_of_its_names_or_by_none() {
    let whole = deep(130);
    for (cut, name) in [("deep/", whole.as_str()), ("deep", "deep/er/")] {
        for before in [pax(&[("path", name)]), long(b'L', name)] {
            let error = refusal(&archive(&[&before, &entry(cut, 0, b"")]));
            let told = matches!(error, TarError::FileOrDirectory { .. });
            assert!(told, "{cut} {name}: {error}");
        }
    }
    let same = archive(&[&pax(&[("path", "a/b/")]), &entry("a/", 0, b"")]);
    assert_eq!(kinds(&same), [Kind::Directory]);
}

#[test]
fn the_size_may_stand_in_a_pax_record_or_in_base_256() {
    let content = made::padded(b"12345");
    let mut base256 = unsealed("a", b'0', 0);
    put(&mut base256, 124, b"\x80\0\0\0\0\0\0\0\0\0\0\x05");
    for (what, before, block) in [
        (
            "pax over ustar",
            pax(&[("size", "5")]),
            header("a", b'0', 0),
        ),
        ("base-256", vec![], sealed(base256)),
    ] {
        let entries = read(&archive(&[&before, &block, &content])).expect(what);
        assert_eq!(entries[0].1, b"12345", "{what}");
    }
}

#[test]
fn an_entry_over_8_gib_is_no_surprise() {
    let size = 9 << 30;
    let mut base256 = unsealed("a", b'0', 0);
    put(&mut base256, 124, b"\x80\0\0\0\0\0\0\x02\x40\0\0\0");
    for bytes in [
        [
            pax(&[("size", &size.to_string())]),
            header("a", b'0', 0).to_vec(),
        ]
        .concat(),
        sealed(base256).to_vec(),
    ] {
        let mut reader = Reader::new(Drip {
            bytes: &bytes,
            step: 512,
        });
        assert_eq!(reader.next_entry().unwrap().unwrap().size, size);
    }
}

#[test]
fn comments_times_and_attributes_are_left_aside() {
    let bytes = archive(&[
        &entry(
            "pax_global_header",
            b'g',
            &made::record("comment", "0123456789abcdef"),
        ),
        &pax(&[
            ("mtime", "1.5"),
            ("SCHILY.xattr.user.a", "b\nc"),
            ("LIBARCHIVE.xattr.d", "e"),
        ]),
        &file("a", b""),
    ]);
    assert_eq!(names(&bytes), ["a"]);
}

#[test]
fn an_archive_of_nothing_but_its_end_is_empty() {
    for len in [1024, 1536, 10240] {
        assert_eq!(names(&vec![0; len]), Vec::<String>::new());
    }
    assert_eq!(names(&[0; 1030]), Vec::<String>::new());
}

#[test]
fn what_tools_read_differently_is_refused() {
    let five = |typeflag| {
        let mut block = unsealed("n", typeflag, 5);
        put(&mut block, 157, b"target");
        [&sealed(block)[..], &made::padded(b"12345")].concat()
    };
    let global = |key, value| entry("g", b'g', &made::record(key, value));
    let a = file("a", b"");
    for (pieces, reason) in [
        (
            vec![five(b'1')],
            "\"n\" is a hard link and announces 5 bytes",
        ),
        (
            vec![five(b'2')],
            "\"n\" is a symbolic link and announces 5 bytes",
        ),
        (
            vec![five(b'5')],
            "\"n\" is a directory and announces 5 bytes",
        ),
        (
            vec![global("path", "b"), a.clone()],
            "is global and sets the name or size",
        ),
        (
            vec![global("size", "0"), a.clone()],
            "is global and sets the name or size",
        ),
        (
            vec![pax(&[("path", "b")]), long(b'L', "c"), a.clone()],
            "names its entry twice",
        ),
        (
            vec![pax(&[("linkpath", "b")]), long(b'K', "c"), a.clone()],
            "names its entry twice",
        ),
        (
            vec![pax(&[]), pax(&[]), a.clone()],
            "follows another one for the same entry",
        ),
        (
            vec![long(b'L', "b"), long(b'L', "c"), a.clone()],
            "follows another one",
        ),
        (vec![a.clone(), pax(&[("path", "b")])], "none follows"),
        (vec![a.clone(), long(b'L', "b")], "none follows"),
        (
            vec![a.clone(), vec![0; 512], a],
            "a single zero block at byte 512",
        ),
    ] {
        let error = refusal(&archive(&[&pieces.concat()]));
        assert!(error.to_string().contains(reason), "{reason}: {error}");
        assert_eq!(error.verdict(), Some(Verdict::Refused), "{error}");
    }
}

#[test]
fn entries_that_no_bundle_holds_are_refused_by_what_they_are() {
    for (typeflag, reason) in [
        (b'3', "\"n\" is a character device"),
        (b'4', "\"n\" is a block device"),
        (b'6', "\"n\" is a FIFO"),
        (b'D', "\"n\" is a GNU incremental-backup directory"),
        (b'M', "\"n\" is the continuation of another GNU volume"),
        (b'V', "\"n\" is a GNU volume label"),
        (b'S', "\"n\" is a sparse file"),
        (b'X', "\"n\" has the unknown type X"),
        (0xff, r"\xff"),
    ] {
        let error = refusal(&archive(&[&entry("n", typeflag, b"")]));
        assert!(error.to_string().contains(reason), "{reason}: {error}");
    }
    for key in ["GNU.sparse.map", "GNU.sparse.major", "SCHILY.realsize"] {
        let error = refusal(&archive(&[&pax(&[(key, "1")]), &file("n", b"")]));
        assert!(error.to_string().contains("sparse"), "{error}");
    }
}

#[test]
fn names_are_refused_with_their_place() {
    let a = file("a", b"");
    for (pieces, reason) in [
        (
            vec![file("/etc/passwd", b"")],
            "entry name \"/etc/passwd\" (header at byte 0) is absolute",
        ),
        (
            vec![a.clone(), file("a/../../b", b"")],
            "\"a/../../b\" (header at byte 512) holds a \"..\"",
        ),
        (
            vec![pax(&[("path", "x\0y")]), a.clone()],
            r#""x\u{0}y" (header at byte 1024) holds a NUL"#,
        ),
        (
            vec![entry("L", b'L', b"x\0y\0"), a.clone()],
            "holds a NUL byte",
        ),
        (vec![file("./", b"")], "is empty"),
        (
            vec![entry("l", b'2', b"")],
            "link target \"\" (header at byte 0) is empty",
        ),
        (
            vec![pax(&[("path", &deep(4097))]), a],
            "is 4097 bytes long, over the limit of 4096",
        ),
        (
            vec![
                pax(&[("linkpath", &deep(5000))]),
                link_header("l", b'1', "x").to_vec(),
            ],
            "5000 bytes long",
        ),
    ] {
        let error = refusal(&archive(&[&pieces.concat()]));
        assert!(error.to_string().contains(reason), "{reason}: {error}");
    }
    let mut latin1 = unsealed("", b'0', 0);
    put(&mut latin1, 0, b"gr\xf6sse");
    let error = refusal(&archive(&[&sealed(latin1)]));
    assert!(error.to_string().contains("is not UTF-8"), "{error}");
}

#[test]
fn special_headers_are_limited_before_they_are_read() {
    for typeflag in *b"xgLK" {
        let bytes = header("x", typeflag, limits::SPECIAL_HEADER + 1);
        let error = refusal(&bytes);
        assert!(
            error.to_string().contains("over the limit of 1048576"),
            "{error}"
        );
        assert_eq!(error.verdict(), Some(Verdict::Refused));
    }
}

#[test]
fn a_damaged_header_is_refused_with_its_place() {
    let a = file("a", b"12345");
    let damaged = |at: usize, byte: u8| {
        let mut block = header("b", b'0', 0);
        block[at] = byte;
        archive(&[&a, &block])
    };
    for at in [0, 50, 148, 156, 511] {
        let error = refusal(&damaged(at, b'x'));
        assert!(
            error
                .to_string()
                .contains("header at byte 1024 has a wrong checksum"),
            "{error}"
        );
    }
    let mut size = unsealed("b", b'0', 0);
    put(&mut size, 124, b"12x45");
    let error = refusal(&archive(&[&a, &sealed(size)]));
    assert!(
        error
            .to_string()
            .contains("the size in the tar header at byte 1024"),
        "{error}"
    );
    assert!(matches!(refusal(&[b'x'; 2048]), TarError::NotTar { .. }));
}

#[test]
fn an_old_checksum_of_signed_bytes_is_right() {
    let mut block = unsealed("gr\u{f6}sse", b'0', 0);
    put(&mut block, 148, b"        ");
    let sum: i32 = block.iter().map(|byte| i32::from(byte.cast_signed())).sum();
    put(&mut block, 148, format!("{sum:06o}\0 ").as_bytes());
    assert_eq!(names(&archive(&[&block])), ["gr\u{f6}sse"]);
}

/// A source behind whose archive few zeros may follow.
struct Short<'a>(Drip<'a>);

impl Source for Short<'_> {
    const PADDING: u64 = 2000;

    fn fill(&mut self) -> Result<&[u8], DecodeError> {
        self.0.fill()
    }

    fn consume(&mut self, count: usize) {
        self.0.consume(count);
    }

    fn skip(&mut self, count: u64) -> Result<u64, DecodeError> {
        self.0.skip(count)
    }
}

#[test]
fn zeros_behind_the_end_are_passed_over_as_far_as_their_source_allows() {
    for (padding, refused) in [(0, false), (2000, false), (2001, true), (9000, true)] {
        let bytes = archive(&[&file("a", b"1"), &vec![0; padding]]);
        let bytes = &bytes[..];
        let mut reader = Reader::new(Short(Drip { bytes, step: 1 }));
        reader.next_entry().unwrap();
        let end = reader.next_entry();
        let is_refused = matches!(end, Err(TarError::Padding { offset: 2048 }));
        assert_eq!(is_refused, refused, "{padding}: {end:?}");
    }
}

#[test]
fn nothing_but_zeros_may_follow_the_end() {
    let one = archive(&[&file("a", b"1")]);
    for padding in [0, 1, 511, 512, 9000] {
        assert_eq!(names(&[&one[..], &vec![0; padding]].concat()), ["a"]);
    }
    let second = [&one[..], &[0; 2048], &one[..]].concat();
    let error = refusal(&second);
    let expected = format!("a second archive starts at byte {}", one.len() + 2048);
    assert!(error.to_string().contains(&expected), "{error}");
    for (padding, junk) in [(0, &b"x"[..]), (700, b"junk"), (0, &[b'x'; 5000])] {
        let error = refusal(&[&one[..], &vec![0; padding], junk].concat());
        let expected = format!(
            "after the end of the archive, at byte {}",
            one.len() + padding
        );
        assert!(error.to_string().contains(&expected), "{error}");
    }
}

#[test]
fn a_cut_archive_is_incomplete_wherever_it_was_cut() {
    let bytes = archive(&[
        &pax(&[("path", &deep(120))]),
        &file("a", &[7; 700]),
        &long(b'L', &deep(120)),
        &file("b", b""),
    ]);
    for len in 0..bytes.len() {
        let error = refusal(&bytes[..len]);
        assert_eq!(
            error.verdict(),
            Some(Verdict::Incomplete),
            "at {len}: {error}"
        );
    }
}

#[test]
fn a_flipped_bit_is_never_a_panic() {
    let bytes = archive(&[&pax(&[("path", "p"), ("size", "3")]), &file("a", b"abc")]);
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let _ = read(&flipped);
    }
}

/// How the writer of the property test stores what does not fit a plain header.
#[derive(Debug, Clone, Copy)]
enum Dialect {
    Pax,
    Gnu,
}

fn written(dialect: Dialect, name: &str, content: &[u8]) -> Vec<u8> {
    match dialect {
        Dialect::Pax => {
            let size = content.len().to_string();
            [pax(&[("path", name), ("size", &size)]), file("x", content)].concat()
        }
        Dialect::Gnu if name.len() > 100 => [long(b'L', name), file("x", content)].concat(),
        Dialect::Gnu => file(name, content),
    }
}

fn any_entry() -> impl Strategy<Value = (Dialect, String, Vec<u8>)> {
    let dialect = prop_oneof![Just(Dialect::Pax), Just(Dialect::Gnu)];
    let name = proptest::collection::vec("[a-zA-Z0-9_ü:=][a-zA-Z0-9_ü.:= ]{0,40}", 1..8);
    let content = proptest::collection::vec(any::<u8>(), 0..3000);
    (
        dialect,
        name.prop_map(|components| components.join("/")),
        content,
    )
}

proptest! {
    #[test]
    fn what_was_written_is_read(
        entries in proptest::collection::vec(any_entry(), 0..12),
        step in 1usize..5000,
    ) {
        let mut bytes = Vec::new();
        let mut expected = Vec::new();
        for (dialect, name, content) in entries {
            bytes.extend(written(dialect, &name, &content));
            let padded = content.len().next_multiple_of(512);
            let offset = (bytes.len() - padded) as u64;
            let size = content.len() as u64;
            expected.push((Entry { name, kind: Kind::File, size, offset }, content));
        }
        bytes.extend(END);
        prop_assert_eq!(read_by(&bytes, step).expect("archive"), expected);
    }

    #[test]
    fn whatever_the_bytes_are_reading_ends(bytes in proptest::collection::vec(any::<u8>(), 0..4096)) {
        let _ = read(&bytes);
    }

    #[test]
    fn whatever_stands_in_a_header_reading_ends(
        at in 0usize..505,
        put_in in proptest::collection::vec(any::<u8>(), 1..8),
        content in proptest::collection::vec(any::<u8>(), 0..1024),
    ) {
        let mut block = unsealed("name", b'x', content.len() as u64);
        put(&mut block, at, &put_in[..put_in.len().min(512 - at)]);
        let _ = read(&[&sealed(block)[..], &made::padded(&content), &file("a", b"b"), &END].concat());
    }
}
