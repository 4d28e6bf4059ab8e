//! One 512-byte header block.

use std::borrow::Cow;
use std::ops::Range;

use super::{BLOCK, TarError};

/// Fields of a header block, by their bytes.
const NAME: Range<usize> = 0..100;
const SIZE: Range<usize> = 124..136;
const CHECKSUM: Range<usize> = 148..156;
const TYPEFLAG: usize = 156;
const LINKNAME: Range<usize> = 157..257;
const MAGIC: Range<usize> = 257..263;
const PREFIX: Range<usize> = 345..500;
/// star's prefix is shorter, because it keeps times behind it, and marks its headers at the end.
const STAR_PREFIX: Range<usize> = 345..476;
const STAR_MAGIC: Range<usize> = 508..512;

/// A header block whose checksum is right.
pub(super) struct Header<'a> {
    block: &'a [u8; BLOCK],
    offset: u64,
}

impl<'a> Header<'a> {
    /// Reads the block that stands at `offset`.
    pub(super) fn parse(block: &'a [u8; BLOCK], offset: u64) -> Result<Self, TarError> {
        let header = Self { block, offset };
        match octal(header.field(CHECKSUM)) {
            Some(stated) if has_checksum(block, stated) => Ok(header),
            _ if offset == 0 => Err(TarError::NotTar {
                block: Box::new(*block),
            }),
            _ => Err(TarError::Checksum { offset }),
        }
    }

    pub(super) fn typeflag(&self) -> u8 {
        self.block.get(TYPEFLAG).copied().unwrap_or_default()
    }

    pub(super) fn size(&self) -> Result<u64, TarError> {
        let field = self.field(SIZE);
        let size = if is_base256(field) {
            base256(field)
        } else {
            octal(field)
        };
        size.ok_or(TarError::Number {
            field: "size",
            offset: self.offset,
        })
    }

    /// The name, with the prefix that `ustar` headers keep apart.
    pub(super) fn name(&self) -> Cow<'a, [u8]> {
        let name = text(self.field(NAME));
        match text(self.prefix()) {
            [] => Cow::Borrowed(name),
            prefix => Cow::Owned([prefix, name].join(&b'/')),
        }
    }

    pub(super) fn link(&self) -> &'a [u8] {
        text(self.field(LINKNAME))
    }

    /// GNU headers (`ustar` and two spaces) keep times where POSIX ones have the prefix.
    fn prefix(&self) -> &'a [u8] {
        if self.field(MAGIC) != b"ustar\0" {
            &[]
        } else if self.field(STAR_MAGIC) == b"tar\0" {
            self.field(STAR_PREFIX)
        } else {
            self.field(PREFIX)
        }
    }

    fn field(&self, range: Range<usize>) -> &'a [u8] {
        self.block.get(range).unwrap_or_default()
    }
}

/// Whether the block's bytes add up to `stated`, its own checksum counted as spaces. Some old
/// programs added signed bytes.
pub(super) fn has_checksum(block: &[u8; BLOCK], stated: u64) -> bool {
    let (mut unsigned, mut signed) = (0u64, 0i64);
    for (at, byte) in block.iter().enumerate() {
        let byte = if CHECKSUM.contains(&at) { b' ' } else { *byte };
        unsigned += u64::from(byte);
        signed += i64::from(byte.cast_signed());
    }
    unsigned == stated || u64::try_from(signed).is_ok_and(|signed| signed == stated)
}

/// Whether the block is one that could start an archive.
pub(super) fn is_header(block: &[u8; BLOCK]) -> bool {
    let stated = block.get(CHECKSUM).and_then(octal);
    stated.is_some_and(|stated| has_checksum(block, stated))
}

/// A field's bytes up to its first NUL.
fn text(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// An octal number, with spaces or NULs before and behind it. A field of nothing else is 0.
fn octal(field: &[u8]) -> Option<u64> {
    let is_fill = |byte: &u8| matches!(byte, b' ' | 0);
    let start = field
        .iter()
        .position(|byte| !is_fill(byte))
        .unwrap_or(field.len());
    let end = field
        .iter()
        .rposition(|byte| !is_fill(byte))
        .map_or(start, |last| last + 1);
    field
        .get(start..end)?
        .iter()
        .try_fold(0u64, |number, digit| match digit {
            b'0'..=b'7' => number.checked_mul(8)?.checked_add(u64::from(digit - b'0')),
            _ => None,
        })
}

/// GNU's and star's numbers over 8 GiB: the first bit set, the rest big-endian.
fn is_base256(field: &[u8]) -> bool {
    field.first().is_some_and(|first| first & 0x80 != 0)
}

/// `None` for negative numbers and those over 63 bits, which no file has.
fn base256(field: &[u8]) -> Option<u64> {
    let (first, rest) = field.split_first()?;
    if first & 0x40 != 0 {
        return None;
    }
    let number = rest
        .iter()
        .try_fold(u64::from(first & 0x3f), |number, byte| {
            Some(number.checked_mul(256)? | u64::from(*byte))
        });
    number.filter(|number| i64::try_from(*number).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octal_numbers_may_be_filled_with_spaces_or_nuls() {
        for (field, number) in [
            (&b"00000000017\0"[..], Some(15)),
            (b"     17 \0", Some(15)),
            (b"77777777777\0", Some((8 << 30) - 1)),
            (b"777777777777", Some((64 << 30) - 1)),
            (b"\0\0\0\0", Some(0)),
            (b"", Some(0)),
            (b"18\0", None),
            (b"1 7", None),
            (b"-7", None),
            (b"0x7", None),
        ] {
            assert_eq!(octal(field), number, "{}", field.escape_ascii());
        }
    }

    #[test]
    fn base256_numbers_are_positive_and_fit() {
        for (field, number) in [
            (&b"\x80\0\0\0\0\0\0\x02\0\0\0\0"[..], Some(8 << 30)),
            (b"\x80\0\0\0\0\0\0\0\0\0\0\x01", Some(1)),
            (
                b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff",
                Some(i64::MAX.cast_unsigned()),
            ),
            (b"\x80\0\0\0\x80\0\0\0\0\0\0\0", None),
            (b"\x80\0\0\x01\0\0\0\0\0\0\0\0", None),
            (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", None),
        ] {
            assert_eq!(base256(field), number, "{}", field.escape_ascii());
        }
    }
}
