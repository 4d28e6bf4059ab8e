//! Decoders: the first byte says how the input is dripped, the rest is the file.

use std::io::{self, Read};

use airdock_bundle::codec::{Codec, DecodeError, Decoder};

/// Decoded bytes after which an input has shown enough.
const ENOUGH: usize = 256 << 10;

const CODECS: [Codec; 5] = [
    Codec::Gzip,
    Codec::Zstd,
    Codec::Xz,
    Codec::Lz4,
    Codec::Bzip2,
];

/// Decodes `input` in two rhythms, which must come to the same.
pub fn run(input: &[u8]) {
    let Some((rhythm, file)) = input.split_first() else {
        return;
    };
    let rhythm = usize::from(*rhythm);
    let codec = match Codec::sniff(file) {
        Codec::Plain => CODECS[rhythm % CODECS.len()],
        codec => codec,
    };
    let whole = decode(codec, file, file.len(), 1 << 16);
    let dripped = decode(codec, file, rhythm + 1, rhythm * 16 + 1);
    // A failure just behind what is enough shows in one rhythm only.
    let is_enough = |decoded: &Result<Vec<u8>, _>| matches!(decoded, Ok(it) if it.len() == ENOUGH);
    if !is_enough(&whole) && !is_enough(&dripped) {
        assert_eq!(shown(codec, &whole), shown(codec, &dripped), "{codec}");
    }
}

/// Reads `step` bytes at a time, and decodes `room` at a time.
fn decode(codec: Codec, file: &[u8], step: usize, room: usize) -> Result<Vec<u8>, DecodeError> {
    let mut decoder = Decoder::new(codec, Drip { file, step })?;
    let (mut output, mut decoded) = (vec![0; room], Vec::new());
    loop {
        let count = decoder.decode(&mut output)?;
        decoded.extend_from_slice(&output[..count]);
        if decoded.len() >= ENOUGH {
            decoded.truncate(ENOUGH);
            return Ok(decoded);
        }
        if count == 0 {
            assert_eq!(decoder.decode(&mut output)?, 0, "bytes behind the end");
            return Ok(decoded);
        }
    }
}

/// The content, or what the failure says of the file; where in it depends on the rhythm. Of a
/// bzip2 file that is both damaged and cut, the decoder may find either first.
fn shown(codec: Codec, decoded: &Result<Vec<u8>, DecodeError>) -> Result<&[u8], String> {
    match decoded {
        Ok(content) => Ok(content),
        Err(error) => {
            let text = error.to_string();
            assert!(!text.chars().any(char::is_control), "{text:?}");
            let verdict = error.verdict().filter(|_| codec != Codec::Bzip2);
            Err(format!("{verdict:?}"))
        }
    }
}

/// A reader that gives a little at a time.
struct Drip<'a> {
    file: &'a [u8],
    step: usize,
}

impl Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let step = self.step.min(buffer.len());
        self.file.read(&mut buffer[..step])
    }
}
