//! The memory that a zstd frame asks for, read from its header.

use std::io::Read;

use super::DecodeError;
use super::input::Input;
use crate::limits;

/// Refuses a zstd frame for its window before memory is asked for (RFC 8878, 3.1.1.1).
pub(super) fn check_window<R: Read>(input: &mut Input<R>) -> Result<(), DecodeError> {
    /// Magic, descriptor, window, dictionary id, content size, at most.
    const HEADER: usize = 18;
    match zstd_window(input.peek(HEADER)?) {
        Some(window) if window > 1 << limits::ZSTD_WINDOW_LOG => {
            Err(DecodeError::Window { window })
        }
        _ => Ok(()),
    }
}

/// The window that a frame asks for. A frame of a single segment needs all of its content.
fn zstd_window(header: &[u8]) -> Option<u64> {
    let [_, _, _, _, descriptor, rest @ ..] = header else {
        return None;
    };
    let is_single_segment = descriptor & 0x20 != 0;
    if !is_single_segment {
        let window = rest.first()?;
        let base = 1u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    let dictionary_id: usize = match descriptor & 3 {
        0 => 0,
        1 => 1,
        2 => 2,
        _ => 4,
    };
    let size = rest.get(dictionary_id..)?;
    match descriptor >> 6 {
        0 => size.first().map(|size| u64::from(*size)),
        1 => size
            .first_chunk()
            .map(|size| u64::from(u16::from_le_bytes(*size)) + 256),
        2 => size
            .first_chunk()
            .map(|size| u64::from(u32::from_le_bytes(*size))),
        _ => size.first_chunk().map(|size| u64::from_le_bytes(*size)),
    }
}
