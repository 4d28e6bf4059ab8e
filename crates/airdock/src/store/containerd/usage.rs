//! What containers run from: it is never removed.
//!
//! A container's image is known by name, but a name may have moved to a newer image since. What
//! it really runs from is told by its snapshot, which stands on the layers of its image: once
//! unpacked, the image's config carries their name in a label.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use airdock_bundle::digest::Digest;
use airdock_containerd::{Client, Container, ContentInfo};

use super::looking::{record, stored};
use crate::agent::plan::Orphan;
use crate::store::StoreError;
use crate::store::labels;
use crate::store::view::View;

/// The targets of orphans that containers run from: all names of such an image stay.
pub(super) async fn used(
    client: &Client,
    orphans: &[Orphan],
) -> Result<HashSet<Digest>, StoreError> {
    let containers = client.containers().await?;
    if containers.is_empty() {
        return Ok(HashSet::new());
    }
    let none: [&str; 0] = [];
    let records = client.images(&none).await?;
    let content = client.content_list().await?;
    let parents = snapshot_parents(client, &containers).await?;
    let configs = configs_below(&parents, &content);
    let view = View {
        records: records.into_iter().filter_map(record).collect(),
        content: content.into_iter().filter_map(stored).collect(),
    };
    let named = named(&containers, &view);
    let is_used = |target: &Digest| {
        let mut reached = HashSet::new();
        view.reach(target, &mut reached);
        named.contains(target) || !configs.is_disjoint(&reached)
    };
    let targets = orphans.iter().map(|orphan| orphan.target.clone());
    Ok(targets.filter(is_used).collect())
}

fn named(containers: &[Container], view: &View) -> HashSet<Digest> {
    let records = containers.iter().map(|c| view.records.get(&c.image));
    records.flatten().map(|r| r.target.clone()).collect()
}

/// What the containers' own snapshots stand on.
async fn snapshot_parents(
    client: &Client,
    containers: &[Container],
) -> Result<BTreeSet<String>, StoreError> {
    let mut parents = BTreeSet::new();
    for container in containers.iter().filter(|c| !c.snapshot.is_empty()) {
        let asked = client.snapshot_parent(&container.snapshotter, &container.snapshot);
        parents.extend(asked.await?.filter(|parent| !parent.is_empty()));
    }
    Ok(parents)
}

/// The configs of images that snapshots with these parents were made from. With user namespaces
/// a parent is a copy of the image's snapshot, called `<chain id>-<ids>`.
fn configs_below(parents: &BTreeSet<String>, content: &[ContentInfo]) -> HashSet<Digest> {
    let is_below = |chain: &String| parents.iter().any(|parent| parent.starts_with(chain));
    let is_used = |labels: &BTreeMap<String, String>| {
        let chains = labels
            .iter()
            .filter(|(key, _)| key.starts_with(labels::GC_REF_SNAPSHOT));
        chains.map(|(_, chain)| chain).any(is_below)
    };
    let used = content.iter().filter(|info| is_used(&info.labels));
    used.filter_map(|info| info.digest.parse().ok()).collect()
}
