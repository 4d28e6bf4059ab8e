//! What is kept of a compressed bundle while it is indexed, to save later passes: the start of
//! each entry, and small documents whole.

use std::collections::HashMap;

use bytes::Bytes;

use super::decoded::Decoded;
use crate::archive::EntryId;
use crate::limits;
use crate::tar::{Entry, Reader, TarError};

/// Starts and documents, each within its budget.
#[derive(Debug, Default)]
pub(in crate::archive) struct Kept {
    /// Starts of entries, end to end.
    heads: Vec<u8>,
    /// Where in `heads` an entry's start begins.
    head_at: HashMap<EntryId, u32>,
    documents: HashMap<EntryId, Bytes>,
    document_bytes: usize,
}

/// Whether a document of this size is kept beside so many bytes of others.
pub(crate) fn is_kept(document: usize, others: usize) -> bool {
    document <= limits::DOCUMENT_KEPT && others + document <= limits::DOCUMENTS_KEPT
}

impl Kept {
    /// Reads the current entry's content as far as any of it is kept.
    pub(super) fn keep(
        &mut self,
        id: EntryId,
        entry: &Entry,
        reader: &mut Reader<Decoded>,
    ) -> Result<(), TarError> {
        let whole = usize::try_from(entry.size).unwrap_or(usize::MAX);
        let (mut content, mut is_document) = (Vec::new(), false);
        loop {
            let chunk = reader.chunk()?;
            is_document = is_document || self.is_document(entry, &content, chunk);
            let wanted = if is_document {
                whole
            } else {
                whole.min(limits::HEAD)
            };
            let room = wanted - content.len();
            content.reserve_exact(room);
            content.extend_from_slice(chunk.get(..room).unwrap_or(chunk));
            if chunk.is_empty() || content.len() >= wanted {
                break;
            }
        }
        if is_document {
            self.keep_document(id, content);
        } else {
            self.keep_head(id, &content);
        }
        Ok(())
    }

    /// The first `len` bytes of an entry; `None` if they were not kept.
    pub(in crate::archive) fn head(&self, id: EntryId, len: usize) -> Option<Bytes> {
        if let Some(document) = self.documents.get(&id) {
            return Some(document.slice(..len.min(document.len())));
        }
        let start = usize::try_from(*self.head_at.get(&id)?).ok()?;
        self.heads
            .get(start..start.checked_add(len)?)
            .map(Bytes::copy_from_slice)
    }

    /// An entry's whole content; `None` if it was not kept.
    pub(in crate::archive) fn document(&self, id: EntryId) -> Option<Bytes> {
        self.documents.get(&id).cloned()
    }

    /// Takes a document that was kept before; `None` if it would not have been.
    pub(in crate::archive) fn take_document(&mut self, id: EntryId, content: Bytes) -> Option<()> {
        self.fits(content.len()).then(|| {
            self.document_bytes += content.len();
            self.documents.insert(id, content);
        })
    }

    /// Takes the start of an entry that was kept before; `None` if it would not have been.
    pub(in crate::archive) fn take_head(&mut self, id: EntryId, head: &[u8]) -> Option<()> {
        self.keep_head(id, head);
        self.head_at.contains_key(&id).then_some(())
    }

    fn fits(&self, document: usize) -> bool {
        is_kept(document, self.document_bytes)
    }

    /// Whether an entry is a small document, by how its content starts.
    fn is_document(&self, entry: &Entry, before: &[u8], chunk: &[u8]) -> bool {
        let fits = usize::try_from(entry.size).is_ok_and(|size| self.fits(size));
        let mut visible = before
            .iter()
            .chain(chunk)
            .filter(|byte| !byte.is_ascii_whitespace());
        fits && matches!(visible.next(), Some(b'{' | b'['))
    }

    fn keep_document(&mut self, id: EntryId, content: Vec<u8>) {
        self.document_bytes += content.len();
        self.documents.insert(id, content.into());
    }

    fn keep_head(&mut self, id: EntryId, head: &[u8]) {
        let Ok(start) = u32::try_from(self.heads.len()) else {
            return;
        };
        if self.heads.len() + head.len() <= limits::HEADS_KEPT {
            self.heads.extend_from_slice(head);
            self.head_at.insert(id, start);
        }
    }
}
