//! Hashes what images consist of, and refuses those whose content is not what its digest says.

use std::collections::{BTreeMap, BTreeSet};

use crate::archive::{Archive, ArchiveError, EntryId};
use crate::bundle::Bundle;
use crate::digest::{Algorithm, Digest, Hasher};
use crate::image::{Blob, Content, Image, ImageError, Place};
use crate::pass::{self, Steps};

impl Bundle {
    /// Reads every blob that an importable image needs, once and in one pass, and refuses the
    /// images with a blob of another digest. `progress` is told the bytes of each piece hashed.
    ///
    /// # Errors
    /// When the archive can't be read to the end.
    pub fn check(&mut self, progress: &mut dyn FnMut(u64)) -> Result<(), ArchiveError> {
        let steps = Steps {
            start: |_| Hasher::new(Algorithm::Sha256),
            feed: |hasher: &mut Hasher, piece: &[u8]| {
                hasher.update(piece);
                progress(u64::try_from(piece.len()).unwrap_or(u64::MAX));
            },
            finish: Hasher::finish,
        };
        let found = pass::over(&self.archive, &self.entries(), steps)?;
        for image in &mut self.images {
            refuse_damaged(&self.archive, image, &found);
        }
        Ok(())
    }

    /// Bytes that [`check`](Self::check) will hash.
    pub fn check_size(&self) -> u64 {
        let entries = self.entries().into_iter();
        entries.map(|entry| self.archive.size(entry)).sum()
    }

    /// What importable images need of the archive itself, each entry once.
    fn entries(&self) -> Vec<EntryId> {
        let outcomes = self.images.iter().map(|image| &image.outcome);
        let contents = outcomes.filter_map(|outcome| outcome.as_ref().ok());
        let entries: BTreeSet<EntryId> = contents.flat_map(entries).map(|(_, it)| it).collect();
        entries.into_iter().collect()
    }
}

/// The blobs that stand in the archive. Documents were verified when they were read.
fn entries(content: &Content) -> impl Iterator<Item = (&Blob, EntryId)> {
    content.blobs.iter().filter_map(|blob| match blob.place {
        Place::Entry(entry) => Some((blob, entry)),
        Place::Memory(_) | Place::Elsewhere => None,
    })
}

fn refuse_damaged(archive: &Archive, image: &mut Image, found: &BTreeMap<EntryId, Digest>) {
    let Ok(content) = &image.outcome else {
        return;
    };
    let damaged = entries(content).find_map(|(blob, entry)| {
        let found = found.get(&entry)?;
        let expected = &blob.descriptor.digest;
        (found != expected).then(|| ImageError::Damaged {
            entry: archive.name(entry).to_owned(),
            expected: expected.clone(),
            found: found.clone(),
        })
    });
    if let Some(error) = damaged {
        image.outcome = Err(error);
    }
}
