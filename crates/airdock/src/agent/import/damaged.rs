//! A blob that the store refused for its content is hashed here too, before an image is called
//! damaged: a refused image isn't tried again until its bundle changes, and what failed may be
//! the store.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use airdock_bundle::archive::{ArchiveError, EntryId};
use airdock_bundle::digest::{Algorithm, Digest, Hasher};
use airdock_bundle::open::Bundle;

use super::Origin;
use crate::agent::failure::Failure;
use crate::store::StoreError;

/// Those of `doubted` whose bytes in the bundle aren't what their digest says. That one is sound
/// after all is a failure of the store.
pub(super) async fn among(
    doubted: Vec<Digest>,
    bundle: Arc<Bundle>,
    origins: Arc<HashMap<Digest, Origin>>,
) -> Result<HashSet<Digest>, Failure> {
    if doubted.is_empty() {
        return Ok(HashSet::new());
    }
    let hashing = tokio::task::spawn_blocking(move || hashed(&doubted, &bundle, &origins));
    let hashed = hashing.await.map_err(|_| StoreError::Worker)??;
    if let Some((sound, _)) = hashed.iter().find(|(expected, found)| expected == found) {
        return Err(StoreError::RefusedSound(sound.clone()).into());
    }
    Ok(hashed.into_iter().map(|(expected, _)| expected).collect())
}

/// Each blob with the digest that its bytes have. Documents in memory were hashed when they were
/// read.
fn hashed(
    blobs: &[Digest],
    bundle: &Bundle,
    origins: &HashMap<Digest, Origin>,
) -> Result<Vec<(Digest, Digest)>, ArchiveError> {
    let entry = |digest: &Digest| match origins.get(digest) {
        Some(Origin::Entry(entry)) => Some(*entry),
        _ => None,
    };
    let entries: Vec<EntryId> = blobs.iter().filter_map(entry).collect();
    let found = digests_of(&entries, bundle)?;
    let pair = |blob: &Digest| {
        let found = entry(blob).and_then(|entry| found.get(&entry));
        (blob.clone(), found.unwrap_or(blob).clone())
    };
    Ok(blobs.iter().map(pair).collect())
}

fn digests_of(
    entries: &[EntryId],
    bundle: &Bundle,
) -> Result<BTreeMap<EntryId, Digest>, ArchiveError> {
    let mut hashers: BTreeMap<EntryId, Hasher> = BTreeMap::new();
    if !entries.is_empty() {
        bundle.archive().visit(entries, &mut |entry, piece| {
            let hasher = hashers.entry(entry);
            let hasher = hasher.or_insert_with(|| Hasher::new(Algorithm::Sha256));
            hasher.update(piece);
            ControlFlow::Continue(())
        })?;
    }
    let finished = hashers.into_iter().map(|(entry, it)| (entry, it.finish()));
    Ok(finished.collect())
}
