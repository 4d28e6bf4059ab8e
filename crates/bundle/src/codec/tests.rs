//! Decoding, codec by codec: all of a file, and nothing of a damaged one.

use std::io::{self, Read, Write as _};

use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;
use crate::Verdict;

const CODECS: [Codec; 5] = [
    Codec::Gzip,
    Codec::Zstd,
    Codec::Xz,
    Codec::Lz4,
    Codec::Bzip2,
];

/// One frame, with every check that the codec has.
pub(crate) fn encode(codec: Codec, content: &[u8]) -> Vec<u8> {
    match codec {
        Codec::Plain => content.to_vec(),
        Codec::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        }
        Codec::Zstd => {
            let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
            encoder.include_checksum(true).unwrap();
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        }
        Codec::Xz => {
            let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        }
        Codec::Lz4 => {
            let info = lz4_flex::frame::FrameInfo::new().content_checksum(true);
            let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        }
        Codec::Bzip2 => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        }
    }
}

fn decode_from(codec: Codec, reader: impl Read) -> Result<Vec<u8>, DecodeError> {
    let mut decoder = Decoder::new(codec, reader)?;
    let (mut content, mut buffer) = (Vec::new(), [0; 1000]);
    loop {
        match decoder.decode(&mut buffer)? {
            0 => return Ok(content),
            count => content.extend_from_slice(&buffer[..count]),
        }
    }
}

fn decode(codec: Codec, bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
    decode_from(codec, bytes)
}

fn skippable(content: &[u8]) -> Vec<u8> {
    let len = u32::try_from(content.len()).unwrap();
    [&[0x53, 0x2a, 0x4d, 0x18][..], &len.to_le_bytes(), content].concat()
}

/// Content that compresses to something, and is larger than one buffer.
fn content() -> Vec<u8> {
    (0..70_000u32)
        .flat_map(|number| (number / 7).to_le_bytes())
        .collect()
}

#[test]
fn content_comes_back_whole() {
    for codec in CODECS {
        for content in [Vec::new(), b"a".to_vec(), content(), vec![0; 3 << 20]] {
            let encoded = encode(codec, &content);
            assert_eq!(Codec::sniff(&encoded), codec);
            assert!(decode(codec, &encoded).unwrap() == content, "{codec}");
        }
    }
    assert_eq!(decode(Codec::Plain, b"as it is").unwrap(), b"as it is");
}

#[test]
fn every_frame_of_a_file_is_read() {
    for codec in CODECS {
        let frames: Vec<u8> = [&b"one "[..], b"", b"two ", &content()]
            .iter()
            .flat_map(|c| encode(codec, c))
            .collect();
        let expected = [&b"one two "[..], &content()].concat();
        assert!(decode(codec, &frames).unwrap() == expected, "{codec}");
    }
}

#[test]
fn frames_without_content_are_passed_over() {
    for codec in [Codec::Zstd, Codec::Lz4] {
        let bytes = [
            skippable(b""),
            skippable(&[1; 300_000]),
            encode(codec, b"one "),
            skippable(b"\0\0"),
            encode(codec, b"two"),
            skippable(b"index"),
        ]
        .concat();
        assert_eq!(decode(codec, &bytes).unwrap(), b"one two", "{codec}");
    }
    let error = decode(
        Codec::Gzip,
        &[encode(Codec::Gzip, b"a"), skippable(b"")].concat(),
    );
    assert!(
        matches!(error, Err(DecodeError::Trailing { .. })),
        "{error:?}"
    );
}

#[test]
fn the_content_tells_the_codec() {
    let lz4 = Codec::Lz4.magic();
    for (prefix, codec) in [
        (&b""[..], Codec::Plain),
        (b"oci-layout\0\0\0", Codec::Plain),
        (b"\x1f", Codec::Plain),
        (b"\x1f\x8b\x08\0", Codec::Gzip),
        (b"\x28\xb5\x2f\xfd\x04", Codec::Zstd),
        (b"\xfd7zXZ\0\0\x04", Codec::Xz),
        (b"\x04\x22\x4d\x18\x64", Codec::Lz4),
        (b"BZh91AY&SY", Codec::Bzip2),
        (
            &[&skippable(b"12345")[..], b"\x28\xb5\x2f\xfd"].concat(),
            Codec::Zstd,
        ),
        (&[&skippable(b"")[..], lz4].concat(), Codec::Lz4),
        (
            &[&skippable(b"123")[..], &skippable(&[0; 70]), lz4].concat(),
            Codec::Lz4,
        ),
        (&skippable(b"123"), Codec::Zstd),
    ] {
        assert_eq!(Codec::sniff(prefix), codec, "{}", prefix.escape_ascii());
    }
}

#[test]
fn the_codec_is_found_behind_any_number_of_skippable_frames() {
    for (codec, leading) in [(Codec::Lz4, 1), (Codec::Lz4, 40), (Codec::Zstd, 3)] {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&skippable(&[7; 9000]).repeat(leading))
            .unwrap();
        file.write_all(&encode(codec, b"content")).unwrap();
        assert_eq!(Codec::detect(&file).unwrap(), codec);
    }
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&skippable(b"").repeat(limits::LEADING_SKIPPABLE_FRAMES + 1))
        .unwrap();
    assert_eq!(Codec::detect(&file).unwrap(), Codec::Zstd);
}

#[test]
fn padding_may_follow_and_nothing_else() {
    for codec in CODECS {
        let encoded = encode(codec, b"content");
        for padding in [1, 3, 8, 600_000] {
            let padded = [&encoded[..], &vec![0; padding]].concat();
            assert_eq!(
                decode(codec, &padded).unwrap(),
                b"content",
                "{codec}, {padding}"
            );
            let offset = (encoded.len() + padding) as u64;
            let error = decode(codec, &[&padded[..], b"x\0"].concat()).unwrap_err();
            assert!(
                matches!(error, DecodeError::Trailing { offset: at, .. } if at == offset),
                "{codec}: {error}"
            );
        }
        for foreign in [&b"x"[..], b"garbage behind it", &encode(other(codec), b"")] {
            let error = decode(codec, &[&encoded[..], foreign].concat()).unwrap_err();
            assert!(
                matches!(error, DecodeError::Trailing { .. }),
                "{codec}: {error}"
            );
            assert_eq!(error.verdict(), Some(Verdict::Refused));
        }
    }
}

fn other(codec: Codec) -> Codec {
    if codec == Codec::Gzip {
        Codec::Xz
    } else {
        Codec::Gzip
    }
}

#[test]
fn a_cut_file_is_incomplete_wherever_it_was_cut() {
    for codec in CODECS {
        let bytes = [encode(codec, b"one frame"), encode(codec, &[7; 300])].concat();
        let between = encode(codec, b"one frame").len();
        for len in 0..bytes.len() {
            let result = decode(codec, &bytes[..len]);
            if len == between {
                assert_eq!(result.unwrap(), b"one frame", "{codec}");
                continue;
            }
            let error = result.expect_err("a cut file");
            assert_eq!(
                error.verdict(),
                Some(Verdict::Incomplete),
                "{codec} at {len}: {error}"
            );
        }
    }
}

#[test]
fn a_cut_skippable_frame_is_incomplete() {
    let whole = [encode(Codec::Zstd, b"content"), skippable(b"1234")].concat();
    let frame = whole.len() - skippable(b"1234").len();
    for len in frame + 1..whole.len() {
        let error = decode(Codec::Zstd, &whole[..len]).unwrap_err();
        assert_eq!(
            error.verdict(),
            Some(Verdict::Incomplete),
            "at {len}: {error}"
        );
    }
    let only = decode(Codec::Zstd, &skippable(b"1234")).unwrap_err();
    assert_eq!(only.verdict(), Some(Verdict::Incomplete), "{only}");
}

#[test]
fn a_flipped_bit_is_found_or_harmless() {
    let content = b"some content that is compressed, compressed, and compressed again";
    for codec in CODECS {
        let encoded = encode(codec, content);
        for bit in 0..encoded.len() * 8 {
            let mut flipped = encoded.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            match decode(codec, &flipped) {
                Ok(decoded) => assert_eq!(decoded, content, "{codec}, bit {bit}"),
                Err(error) => assert!(error.verdict().is_some(), "{codec}, bit {bit}: {error}"),
            }
        }
    }
}

#[test]
fn a_wrong_checksum_is_refused() {
    for (codec, from_end) in [
        (Codec::Gzip, 8),
        (Codec::Gzip, 4),
        (Codec::Zstd, 4),
        (Codec::Lz4, 4),
        (Codec::Xz, 8),
    ] {
        let mut encoded = encode(codec, b"content");
        let at = encoded.len() - from_end;
        encoded[at] ^= 0x10;
        let error = decode(codec, &encoded).unwrap_err();
        assert!(
            matches!(error, DecodeError::Corrupt { .. }),
            "{codec}: {error}"
        );
        assert!(
            error
                .to_string()
                .starts_with(&format!("the {codec} stream is damaged, at byte"))
        );
    }
}

#[test]
fn a_failed_read_says_nothing_about_the_file() {
    struct Failing<'a>(&'a [u8]);
    impl Read for Failing<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::from_raw_os_error(5)),
                count => Ok(count),
            }
        }
    }
    for codec in CODECS.into_iter().chain([Codec::Plain]) {
        let encoded = encode(codec, &content());
        for len in [0, 3, 9, encoded.len() / 2, encoded.len()] {
            let error = decode_from(codec, Failing(&encoded[..len])).unwrap_err();
            assert_eq!(error.verdict(), None, "{codec} at {len}: {error}");
            assert!(error.to_string().contains("os error 5"), "{error}");
        }
    }
}

#[test]
fn an_interrupted_read_is_tried_again() {
    struct Interrupted<'a>(&'a [u8], bool);
    impl Read for Interrupted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let few = buffer.len().min(5);
            self.0.read(&mut buffer[..few])
        }
    }
    for codec in CODECS.into_iter().chain([Codec::Plain]) {
        let encoded = encode(codec, b"content");
        assert_eq!(
            decode_from(codec, Interrupted(&encoded, false)).unwrap(),
            b"content",
            "{codec}"
        );
    }
}

/// A zstd frame's header (RFC 8878, 3.1.1): descriptor, then window or size.
fn zstd_header(rest: &[u8]) -> Vec<u8> {
    [&[0x28, 0xb5, 0x2f, 0xfd][..], rest].concat()
}

#[test]
fn a_window_over_the_limit_is_refused_by_the_flag_that_made_it() {
    for (rest, window) in [
        (&[0, 21 << 3][..], 1u64 << 31),
        (&[0, 17 << 3 | 1], (1 << 27) + (1 << 24)),
        (&[0xa0, 0, 0, 0, 0x10], 1 << 28),
        (&[0xe3, 1, 2, 3, 4, 0, 0, 0, 0, 1, 0, 0, 0], 1 << 32),
    ] {
        let error = decode(Codec::Zstd, &zstd_header(rest)).unwrap_err();
        assert!(
            matches!(error, DecodeError::Window { window: found } if found == window),
            "{error}"
        );
        let text = error.to_string();
        assert!(
            text.contains("--long=31") && text.contains("--long=27 or less"),
            "{text}"
        );
    }
    for rest in [
        &[0, 17 << 3][..],
        &[0xa0, 0, 0, 0, 8],
        &[0x60, 0xff, 0xff],
        &[0x20, 9],
    ] {
        let error = decode(Codec::Zstd, &zstd_header(rest)).unwrap_err();
        assert!(matches!(error, DecodeError::Cut { .. }), "{error}");
    }
}

#[test]
fn a_second_frame_has_its_window_checked_as_well() {
    let bytes = [encode(Codec::Zstd, b"small"), zstd_header(&[0, 21 << 3])].concat();
    let error = decode(Codec::Zstd, &bytes).unwrap_err();
    assert!(matches!(error, DecodeError::Window { .. }), "{error}");
}

#[test]
fn xz_may_not_take_more_memory_than_its_largest_preset() {
    use liblzma::stream::{Check, Filters, LzmaOptions, Stream};
    let encode_with = |dictionary: u32| {
        let mut options = LzmaOptions::new_preset(0).unwrap();
        options.dict_size(dictionary);
        let stream =
            Stream::new_stream_encoder(Filters::new().lzma2(&options), Check::Crc64).unwrap();
        let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
        encoder.write_all(b"content").unwrap();
        encoder.finish().unwrap()
    };
    assert_eq!(
        decode(Codec::Xz, &encode_with(64 << 20)).unwrap(),
        b"content"
    );
    let error = decode(Codec::Xz, &encode_with(256 << 20)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("recompress with `xz -9` or less"),
        "{error}"
    );
    assert_eq!(error.verdict(), Some(Verdict::Refused));
}

#[test]
fn the_legacy_and_dictionary_frames_of_lz4_are_refused() {
    let mut with_dictionary = encode(Codec::Lz4, b"content");
    with_dictionary[4] |= 1;
    let error = decode(Codec::Lz4, &with_dictionary).unwrap_err();
    assert!(error.verdict().is_some(), "{error}");
    assert_eq!(Codec::sniff(b"\x02\x21\x4c\x18"), Codec::Plain);
}

#[test]
fn a_bomb_is_stopped_where_no_honest_file_goes() {
    // 64 MiB of zeros in 2 KiB, again and again, as a reader that never ends.
    struct Endless(Vec<u8>, usize);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = (&self.0[self.1..]).read(buffer)?;
            self.1 = (self.1 + count) % self.0.len();
            Ok(count)
        }
    }
    let frame = encode(Codec::Zstd, &vec![0; 64 << 20]);
    let mut decoder = Decoder::new(Codec::Zstd, Endless(frame, 0)).unwrap();
    let mut buffer = vec![0; limits::OUTPUT_BUFFER];
    let error = loop {
        match decoder.decode(&mut buffer) {
            Ok(count) => assert!(count > 0),
            Err(error) => break error,
        }
    };
    let is_early = |produced| produced < limits::RATIO_FLOOR + (1 << 20);
    assert!(
        matches!(error, DecodeError::Bomb { produced, .. } if is_early(produced)),
        "{error}"
    );
    assert_eq!(error.verdict(), Some(Verdict::Refused));
}

proptest! {
    #[test]
    fn whatever_the_bytes_are_decoding_ends(
        codec in prop::sample::select(&CODECS[..]),
        bytes in proptest::collection::vec(any::<u8>(), 0..600),
    ) {
        let _ = decode(codec, &[codec.magic(), &bytes].concat());
    }
}
