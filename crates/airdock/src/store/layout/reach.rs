//! Which blobs of a layout are reached from which documents.

use std::collections::HashSet;
use std::fs;

use airdock_bundle::digest::Digest;
use airdock_bundle::limits;
use serde_json::Value;

use super::blob;
use super::index::Index;
use super::{LayoutStore, StoreError};

/// Removes what the released targets reach and nothing that is still listed does.
pub(super) fn remove_unreached<'a>(
    store: &LayoutStore,
    released: impl Iterator<Item = &'a Digest>,
    index: &Index,
) -> Result<(), StoreError> {
    let kept = reached(store, index.targets().filter_map(|t| t.parse().ok()));
    for digest in reached(store, released.cloned()) {
        if kept.contains(&digest) {
            continue;
        }
        blob::remove(&store.blob(&digest))?;
    }
    Ok(())
}

fn reached(store: &LayoutStore, roots: impl Iterator<Item = Digest>) -> HashSet<Digest> {
    let mut pending: Vec<Digest> = roots.collect();
    let mut reached = HashSet::new();
    while let Some(digest) = pending.pop() {
        if reached.insert(digest.clone()) {
            pending.extend(children(store, &digest));
        }
    }
    reached
}

/// What a document refers to; nothing where the blob isn't a document.
fn children(store: &LayoutStore, digest: &Digest) -> Vec<Digest> {
    let path = store.blob(digest);
    let is_small = fs::metadata(&path).is_ok_and(|m| m.len() <= limits::MANIFEST);
    if !is_small {
        return Vec::new();
    }
    let bytes = fs::read(&path).unwrap_or_default();
    let Ok(document) = serde_json::from_slice::<Value>(&bytes) else {
        return Vec::new();
    };
    let lists = ["manifests", "layers"].map(|key| document.get(key).and_then(Value::as_array));
    let listed = lists.into_iter().flatten().flatten();
    let config = document.get("config");
    listed
        .chain(config)
        .filter_map(|descriptor| descriptor.get("digest")?.as_str()?.parse().ok())
        .collect()
}
