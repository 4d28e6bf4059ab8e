//! Tar headers: POSIX ustar, with a PAX header where content is to be aligned or is large.

use super::plan::{Body, Entry};
use crate::limits;

pub(super) const BLOCK: usize = 512;

/// Two zero blocks end an archive.
pub(super) const TRAILER: usize = 2 * BLOCK;

/// The largest size that ustar's eleven octal digits hold.
const USTAR_SIZE: u64 = 0o777_7777_7777;

/// A record that readers ignore, by the standard: it takes up room.
const FILLER: &str = " comment=";

/// Everything before the content of an entry that starts at `offset`.
pub(super) fn header(entry: &Entry<'_>, offset: u64) -> Vec<u8> {
    let mut blocks = extended(entry, offset);
    let size = match entry.size() {
        size if size <= USTAR_SIZE => size,
        // The PAX record says it.
        _ => 0,
    };
    let (kind, mode) = match entry.body {
        Body::Directory => (b'5', 0o755),
        Body::Bytes(_) | Body::Layer(..) => (b'0', 0o644),
    };
    blocks.extend(ustar(&entry.path, kind, mode, size));
    blocks
}

/// Where the entry behind this one starts.
pub(super) fn end_of(entry: &Entry<'_>, offset: u64) -> u64 {
    let content = header_len(entry, offset) + entry.size();
    offset + content + padding(content).len() as u64
}

/// The most that an entry with so much content takes, wherever it starts.
pub(super) fn most(size: u64) -> u64 {
    // A header before the content, and where that is aligned, another and its records.
    let headers = match size >= limits::ALIGNMENT {
        true => limits::ALIGNMENT + 2 * BLOCK as u64,
        false => BLOCK as u64,
    };
    headers.saturating_add(padded(size))
}

/// With the zeros up to the next block.
pub(super) fn padded(size: u64) -> u64 {
    size.saturating_add(padding(size).len() as u64)
}

fn header_len(entry: &Entry<'_>, offset: u64) -> u64 {
    (extended(entry, offset).len() + BLOCK) as u64
}

/// Zeros up to the next block.
pub(super) fn padding(offset: u64) -> &'static [u8] {
    const ZEROS: [u8; BLOCK] = [0; BLOCK];
    let behind = usize::try_from(offset % BLOCK as u64).unwrap_or(0);
    ZEROS.get(..(BLOCK - behind) % BLOCK).unwrap_or_default()
}

/// The PAX header, or nothing where the entry needs none.
fn extended(entry: &Entry<'_>, offset: u64) -> Vec<u8> {
    let size = entry.size();
    let mut records = String::new();
    if size > USTAR_SIZE {
        records = size_record(size);
    }
    let aligned = |headers: usize| {
        let headers = (headers * BLOCK) as u64;
        (offset + headers).is_multiple_of(limits::ALIGNMENT)
    };
    let is_settled = records.is_empty() && aligned(1);
    if !entry.is_large() || is_settled {
        return Vec::new();
    }
    // Two headers and the records between them.
    let blocks = (1..).find(|blocks| aligned(2 + blocks)).unwrap_or(1);
    let room = blocks * BLOCK - records.len();
    records.push_str(&filler(room));
    let mut extended = ustar("pax", b'x', 0o644, records.len() as u64).to_vec();
    extended.extend(records.into_bytes());
    extended
}

/// Its length counts itself: ten digits of size, `size=` and the rest make two digits.
fn size_record(size: u64) -> String {
    let body = format!(" size={size}\n");
    format!("{}{body}", body.len() + 2)
}

/// A record of exactly `len` bytes.
fn filler(len: usize) -> String {
    let digits = len.to_string();
    let filled = len - digits.len() - FILLER.len() - 1;
    format!("{digits}{FILLER}{}\n", " ".repeat(filled))
}

fn ustar(path: &str, kind: u8, mode: u64, size: u64) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    put(&mut block, 0, path.as_bytes());
    put(&mut block, 100, octal(mode, 7).as_bytes());
    for (at, digits) in [(108, 7), (116, 7), (136, 11)] {
        put(&mut block, at, octal(0, digits).as_bytes());
    }
    put(&mut block, 124, octal(size, 11).as_bytes());
    put(&mut block, 148, b"        ");
    put(&mut block, 156, &[kind]);
    put(&mut block, 257, b"ustar\x0000");
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    put(&mut block, 148, octal(sum, 6).as_bytes());
    put(&mut block, 154, b"\0 ");
    block
}

fn octal(value: u64, digits: usize) -> String {
    format!("{value:0digits$o}")
}

/// Every field stands within the block, and every path within its field: paths are our own.
fn put(block: &mut [u8; BLOCK], at: usize, bytes: &[u8]) {
    if let Some(field) = block.get_mut(at..at + bytes.len()) {
        field.copy_from_slice(bytes);
    }
}
