//! Hashes what images consist of, and refuses those whose content is not what its digest says.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crate::archive::{Archive, ArchiveError, EntryId};
use crate::digest::{Algorithm, Digest, Hasher};
use crate::image::{Blob, Content, Image, ImageError, Place};
use crate::open::Bundle;

impl Bundle {
    /// Reads every blob that an importable image needs, once and in one pass, and refuses the
    /// images with a blob of another digest. `progress` is told the bytes of each piece hashed.
    ///
    /// # Errors
    /// When the archive can't be read to the end.
    pub fn check(&mut self, progress: &mut dyn FnMut(u64)) -> Result<(), ArchiveError> {
        let contents = self
            .images
            .iter()
            .filter_map(|image| image.outcome.as_ref().ok());
        let entries: BTreeSet<EntryId> = contents.flat_map(entries).map(|(_, it)| it).collect();
        let entries: Vec<EntryId> = entries.into_iter().collect();
        let found = hash(&self.archive, &entries, progress)?;
        for image in &mut self.images {
            refuse_damaged(&self.archive, image, &found);
        }
        Ok(())
    }

    /// Bytes that [`check`](Self::check) will hash.
    pub fn check_size(&self) -> u64 {
        let contents = self
            .images
            .iter()
            .filter_map(|image| image.outcome.as_ref().ok());
        let entries: BTreeSet<EntryId> = contents.flat_map(entries).map(|(_, it)| it).collect();
        entries
            .into_iter()
            .map(|entry| self.archive.size(entry))
            .sum()
    }
}

/// The blobs that stand in the archive. Documents were verified when they were read.
fn entries(content: &Content) -> impl Iterator<Item = (&Blob, EntryId)> {
    content.blobs.iter().filter_map(|blob| match blob.place {
        Place::Entry(entry) => Some((blob, entry)),
        Place::Memory(_) => None,
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

/// The sha256 digests of `entries`, read in one pass.
pub(crate) fn hash(
    archive: &Archive,
    entries: &[EntryId],
    progress: &mut dyn FnMut(u64),
) -> Result<BTreeMap<EntryId, Digest>, ArchiveError> {
    let mut digests = BTreeMap::new();
    if entries.is_empty() {
        return Ok(digests);
    }
    let mut current: Option<(EntryId, Hasher)> = None;
    archive.visit(entries, &mut |entry, piece| {
        let hasher = match &mut current {
            Some((open, hasher)) if *open == entry => hasher,
            other => {
                let next = (entry, Hasher::new(Algorithm::Sha256));
                let done = other.replace(next);
                digests.extend(done.map(|(entry, hasher)| (entry, hasher.finish())));
                match other {
                    Some((_, hasher)) => hasher,
                    None => return ControlFlow::Break(()),
                }
            }
        };
        hasher.update(piece);
        progress(u64::try_from(piece.len()).unwrap_or(u64::MAX));
        ControlFlow::Continue(())
    })?;
    digests.extend(current.map(|(entry, hasher)| (entry, hasher.finish())));
    Ok(digests)
}
