//! Archives made by hand, for tests: every field as the test wants it, right or wrong.

/// A header in the `ustar` dialect, its checksum right.
pub(crate) fn header(name: &str, typeflag: u8, size: u64) -> [u8; 512] {
    sealed(unsealed(name, typeflag, size))
}

/// A header for a link.
pub(crate) fn link_header(name: &str, typeflag: u8, target: &str) -> [u8; 512] {
    let mut block = unsealed(name, typeflag, 0);
    put(&mut block, 157, target.as_bytes());
    sealed(block)
}

/// A header before its checksum, to be changed.
pub(crate) fn unsealed(name: &str, typeflag: u8, size: u64) -> [u8; 512] {
    let mut block = [0; 512];
    put(&mut block, 0, name.as_bytes());
    put(&mut block, 100, b"0000644\0");
    put(&mut block, 124, format!("{size:011o}\0").as_bytes());
    put(&mut block, 136, b"00000000000\0");
    block[156] = typeflag;
    put(&mut block, 257, b"ustar\x0000");
    block
}

pub(crate) fn put(block: &mut [u8; 512], at: usize, bytes: &[u8]) {
    block[at..at + bytes.len()].copy_from_slice(bytes);
}

/// The block with the checksum that it should have.
pub(crate) fn sealed(mut block: [u8; 512]) -> [u8; 512] {
    put(&mut block, 148, b"        ");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    put(&mut block, 148, format!("{sum:06o}\0 ").as_bytes());
    block
}

/// Content, padded to whole blocks.
pub(crate) fn padded(content: &[u8]) -> Vec<u8> {
    let mut padded = content.to_vec();
    padded.resize(content.len().next_multiple_of(512), 0);
    padded
}

/// A header and its content.
pub(crate) fn entry(name: &str, typeflag: u8, content: &[u8]) -> Vec<u8> {
    [
        &header(name, typeflag, content.len() as u64)[..],
        &padded(content),
    ]
    .concat()
}

/// A file.
pub(crate) fn file(name: &str, content: &[u8]) -> Vec<u8> {
    entry(name, b'0', content)
}

/// A PAX record, with the length that it should have.
pub(crate) fn record(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let digits = |len: usize| (rest.len() + len).to_string().len();
    let len = rest.len() + digits(digits(1));
    format!("{len}{rest}").into_bytes()
}

/// A PAX header with these records.
pub(crate) fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let content: Vec<u8> = records
        .iter()
        .flat_map(|(key, value)| record(key, value))
        .collect();
    entry("PaxHeaders/x", b'x', &content)
}

/// A GNU header for a long name (`L`) or link target (`K`).
pub(crate) fn long(typeflag: u8, text: &str) -> Vec<u8> {
    entry("././@LongLink", typeflag, format!("{text}\0").as_bytes())
}

/// The end-of-archive mark.
pub(crate) const END: [u8; 1024] = [0; 1024];

/// An archive of these pieces, with its end.
pub(crate) fn archive(pieces: &[&[u8]]) -> Vec<u8> {
    [&pieces.concat()[..], &END].concat()
}

/// A source that shows at most `step` bytes at a time, so that everything straddles.
pub(crate) struct Drip<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) step: usize,
}

impl super::Source for Drip<'_> {
    fn fill(&mut self) -> Result<&[u8], crate::codec::DecodeError> {
        Ok(&self.bytes[..self.step.min(self.bytes.len())])
    }

    fn consume(&mut self, count: usize) {
        self.bytes = &self.bytes[count..];
    }

    fn skip(&mut self, count: u64) -> Result<u64, crate::codec::DecodeError> {
        let count = usize::try_from(count)
            .unwrap_or(usize::MAX)
            .min(self.bytes.len());
        self.consume(count);
        Ok(count as u64)
    }
}
