//! Layers that a delta leaves to other bundles: in the store already, or in a bundle beside it.
//!
//! Either all of them are found before anything is sent, or the bundle is incomplete and nothing
//! is: it is tried again when another bundle has come.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use airdock_bundle::archive::Region;
use airdock_bundle::digest::{Digest, Hasher};
use airdock_bundle::document::Descriptor;
use airdock_bundle::escape::escaped;
use airdock_bundle::platform::{Matcher, Platform};

use super::failure::Failure;
use super::import::Planned;
use crate::output::human::{Bytes, count};
use crate::reader::{Reader, read_region};
use crate::store::StoreError;

/// Missing layers that a message lists: enough to see which image it is about.
const LISTED: usize = 8;

/// Looks for what neither the bundle nor the store has in the bundles beside it.
pub(super) async fn complete(
    mut planned: Planned,
    beside: &[PathBuf],
    platform: &Matcher,
) -> Result<Planned, Failure> {
    let mut lacking = planned.opened.bundle.lacks();
    let written = planned.plan.write.iter();
    let written: HashMap<&Digest, u64> = written.map(|blob| (&blob.digest, blob.size)).collect();
    lacking.retain(|digest, _| written.contains_key(digest));
    if lacking.is_empty() {
        return Ok(planned);
    }
    let others: Vec<PathBuf> = beside
        .iter()
        .filter(|path| **path != planned.opened.path)
        .cloned()
        .collect();
    let platform = platform.wanted().clone();
    let searching = tokio::task::spawn_blocking(move || search(lacking, &others, &platform));
    let (found, lacking) = searching.await.map_err(|_| StoreError::Worker)?;
    if !lacking.is_empty() {
        return Err(needs(&planned, &lacking));
    }
    planned.opened.elsewhere = found;
    Ok(planned)
}

type Lacking = BTreeMap<Digest, Descriptor>;

fn search(
    mut lacking: Lacking,
    others: &[PathBuf],
    platform: &Platform,
) -> (HashMap<Digest, Region>, Lacking) {
    let mut found = HashMap::new();
    for path in others {
        if lacking.is_empty() {
            break;
        }
        for (digest, region) in regions(path, &lacking, platform) {
            // Another's damage is not this bundle's: the layer isn't there then.
            if is_sound(&region, &digest) {
                lacking.remove(&digest);
                found.insert(digest, region);
            }
        }
    }
    (found, lacking)
}

/// What of the layers a bundle has. One that can't be read has nothing.
fn regions(path: &Path, lacking: &Lacking, platform: &Platform) -> BTreeMap<Digest, Region> {
    let Ok(bundle) = Reader::open(path, std::slice::from_ref(platform)) else {
        return BTreeMap::new();
    };
    bundle.regions(lacking.values()).unwrap_or_default()
}

fn is_sound(region: &Region, digest: &Digest) -> bool {
    let mut hasher = Hasher::new(digest.algorithm());
    hasher.read(read_region(region)).is_ok() && hasher.finish() == *digest
}

fn needs(planned: &Planned, lacking: &Lacking) -> Failure {
    let bases = &planned.opened.bundle.left_out().bases;
    let bases: Vec<String> = bases.iter().map(|it| escaped(it).to_string()).collect();
    let listed: Vec<&str> = lacking.keys().take(LISTED).map(Digest::as_str).collect();
    let more = match lacking.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let bytes = lacking.values().map(|descriptor| descriptor.size).sum();
    Failure::Needs {
        bases: match bases.is_empty() {
            true => "another bundle".to_owned(),
            false => bases.join(", "),
        },
        layers: format!(
            "{} with {}: {}{more}",
            count(lacking.len(), "layer"),
            Bytes(bytes),
            listed.join(", ")
        ),
    }
}
