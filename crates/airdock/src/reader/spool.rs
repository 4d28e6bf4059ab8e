//! Layers of a compressed bundle, unpacked into a temporary file that no directory lists.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use airdock_bundle::archive::{Archive, EntryId, Region};
use airdock_bundle::digest::Digest;

use super::ReadError;

/// The content of entries, in one pass over the archive.
pub(super) fn unpack(
    path: &Path,
    archive: &Archive,
    entries: &[(EntryId, Digest)],
) -> Result<BTreeMap<Digest, Region>, ReadError> {
    if entries.is_empty() {
        return Ok(BTreeMap::new());
    }
    let spool = |source: io::Error| ReadError::Spool {
        path: path.to_owned(),
        source,
    };
    let mut file = tempfile::tempfile().map_err(spool)?;
    let mut lengths: BTreeMap<EntryId, (u64, u64)> = BTreeMap::new();
    let mut end = 0u64;
    let mut failure = None;
    let wanted: Vec<EntryId> = entries.iter().map(|(entry, _)| *entry).collect();
    let visited = archive.visit(&wanted, &mut |entry, piece| {
        if let Err(error) = file.write_all(piece) {
            failure = Some(error);
            return ControlFlow::Break(());
        }
        lengths.entry(entry).or_insert((end, 0)).1 += piece.len() as u64;
        end += piece.len() as u64;
        ControlFlow::Continue(())
    });
    if let Some(error) = failure {
        return Err(spool(error));
    }
    visited.map_err(|error| ReadError::Open {
        path: path.to_owned(),
        source: Box::new(error.into()),
    })?;
    let file = Arc::new(file);
    let blob = |(entry, digest): &(EntryId, Digest)| {
        let (offset, len) = *lengths.get(entry)?;
        let file = Arc::clone(&file);
        Some((digest.clone(), Region { file, offset, len }))
    };
    Ok(entries.iter().filter_map(blob).collect())
}
