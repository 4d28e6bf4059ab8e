//! What comes along with an image: signatures, SBOMs.

use std::collections::BTreeMap;

use airdock_bundle::digest::Digest;
use airdock_bundle::name::Name;
use airdock_bundle::write::Listed;

use crate::pack::origin::Origin;
use crate::pack::select::{SelectError, Selected};

impl Selected {
    pub(super) fn add(&mut self, other: Self) {
        self.listed.extend(other.listed);
        self.documents.extend(other.documents);
        self.layers.extend(other.layers);
        self.elsewhere.extend(other.elsewhere);
    }
}

/// What refers to the image, or to a platform's part of it that is taken: some tools sign each, and
/// build tools attach their SBOMs there. Each once, and none that is taken already.
pub(super) async fn referrers(
    from: &Origin,
    name: &Name,
    image: &Selected,
) -> Result<Vec<Listed>, SelectError> {
    let mut found: BTreeMap<Digest, Listed> = BTreeMap::new();
    for subject in &image.subjects {
        for referrer in from.referrers(name, subject).await? {
            let digest = referrer.descriptor.digest.clone();
            if referrer.names.is_empty() && image.documents.contains_key(&digest) {
                continue;
            }
            let names = referrer.names.clone();
            found.entry(digest).or_insert(referrer).names.extend(names);
        }
    }
    Ok(found.into_values().collect())
}
