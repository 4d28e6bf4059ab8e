//! Taking bytes apart from their start. Whatever is not there is `None`.

use bytes::Bytes;

use crate::limits;

pub(super) struct Cursor {
    rest: Bytes,
}

impl Cursor {
    pub(super) fn new(bytes: Bytes) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `len` bytes, without a copy.
    pub(super) fn take(&mut self, len: usize) -> Option<Bytes> {
        (len <= self.rest.len()).then(|| self.rest.split_to(len))
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let bytes = self.take(size_of::<u64>())?;
        Some(u64::from_le_bytes(bytes.as_ref().try_into().ok()?))
    }

    /// A name or a link's target.
    pub(super) fn text(&mut self) -> Option<String> {
        let len = self.take(size_of::<u32>())?;
        let len = u32::from_le_bytes(len.as_ref().try_into().ok()?);
        let len = usize::try_from(len).ok()?;
        if len > limits::ENTRY_NAME {
            return None;
        }
        String::from_utf8(self.take(len)?.into()).ok()
    }
}
