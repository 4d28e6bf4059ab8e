//! What comes along with an image: signatures and SBOMs, and the signatures of these.

use std::collections::{BTreeMap, BTreeSet};

use airdock_bundle::digest::Digest;
use airdock_bundle::name::Name;
use airdock_bundle::write::Listed;

use super::{Platforms, SelectError, Selected, select};
use crate::pack::origin::Origin;

/// How far what refers is followed: signatures of an SBOM are the second level, and people hardly
/// go further. It is a registry's word alone, which could go on for ever.
pub(super) const LEVELS: usize = 5;

/// How much may refer to one image, all levels together. Nightly scans of an old image leave
/// hundreds.
pub(super) const MOST: usize = 1_000;

/// As [`select`], and with what refers to the image, to a platform's part of it that is taken
/// (some tools sign each, and build tools attach their SBOMs there), or to what is found so. Each
/// once, and none that is taken already.
pub async fn select_with_referrers(
    origin: &Origin,
    name: &Name,
    target: Listed,
    platforms: &Platforms,
) -> Result<Selected, SelectError> {
    let mut all = select(origin, name, target, platforms).await?;
    let mut asked = BTreeSet::new();
    for _ in 0..LEVELS {
        for referrer in referrers(origin, name, &all, &mut asked).await? {
            all.add(select(origin, name, referrer, platforms).await?);
        }
    }
    match referrers(origin, name, &all, &mut asked).await? {
        further if further.is_empty() => Ok(all),
        _ => Err(SelectError::ReferrersTooDeep),
    }
}

/// What refers to subjects that weren't asked about yet.
async fn referrers(
    origin: &Origin,
    name: &Name,
    taken: &Selected,
    asked: &mut BTreeSet<Digest>,
) -> Result<Vec<Listed>, SelectError> {
    let mut found: BTreeMap<Digest, Listed> = BTreeMap::new();
    for subject in &taken.subjects {
        if !asked.insert(subject.clone()) {
            continue;
        }
        for referrer in origin.referrers(name, subject).await? {
            let digest = referrer.descriptor.digest.clone();
            if referrer.names.is_empty() && taken.documents.contains_key(&digest) {
                continue;
            }
            let names = referrer.names.clone();
            found.entry(digest).or_insert(referrer).names.extend(names);
        }
        if taken.listed.len() + found.len() > MOST {
            return Err(SelectError::TooManyReferrers);
        }
    }
    Ok(found.into_values().collect())
}

impl Selected {
    fn add(&mut self, other: Self) {
        self.listed.extend(other.listed);
        self.documents.extend(other.documents);
        self.layers.extend(other.layers);
        self.elsewhere.extend(other.elsewhere);
        self.subjects.extend(other.subjects);
    }
}
