//! What refers to an image: signatures, SBOMs, attestations.
//!
//! <https://github.com/opencontainers/distribution-spec/blob/main/spec.md#listing-referrers>, with
//! its tag for registries that don't know that question, and the tags of cosign, which is older
//! than both.

use std::collections::BTreeSet;

use airdock_bundle::digest::Digest;
use airdock_bundle::document::{Descriptor, Document};
use airdock_bundle::limits as documents;
use airdock_bundle::name::Name;

use super::{MANIFESTS, PullError, Registries, Small, missing_as_none};

/// Signatures, attestations and SBOMs of cosign.
const COSIGN: [&str; 3] = ["sig", "att", "sbom"];

/// Something that refers to an image, and the name that it has, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Referrer {
    pub descriptor: Descriptor,
    pub name: Option<Name>,
}

impl Registries {
    /// Everything that refers to a digest of a repository, each once.
    ///
    /// # Errors
    /// When the registry can't be asked. That it knows of nothing is none.
    pub async fn referrers(
        &self,
        name: &Name,
        subject: &Digest,
    ) -> Result<Vec<Referrer>, PullError> {
        let mut found = Vec::new();
        for descriptor in self.listed(name, subject).await? {
            let name = None;
            found.push(Referrer { descriptor, name });
        }
        for kind in COSIGN {
            found.extend(
                self.tagged(name, &format!("{}.{kind}", tag(subject)))
                    .await?,
            );
        }
        let mut seen = BTreeSet::new();
        // One that has a name as well is last.
        found.reverse();
        found.retain(|referrer| seen.insert(referrer.descriptor.digest.clone()));
        found.reverse();
        Ok(found)
    }

    /// What the registry lists, or the index under the tag that stands in for a list.
    async fn listed(&self, name: &Name, subject: &Digest) -> Result<Vec<Descriptor>, PullError> {
        let api = self.index(name, format!("referrers/{subject}")).await;
        match missing_as_none(api)? {
            Some(listed) => Ok(listed),
            None => {
                let fallback = self
                    .index(name, format!("manifests/{}", tag(subject)))
                    .await;
                Ok(missing_as_none(fallback)?.unwrap_or_default())
            }
        }
    }

    async fn index(&self, name: &Name, path: String) -> Result<Vec<Descriptor>, PullError> {
        let small = Small {
            path,
            accept: Some(MANIFESTS),
            limit: documents::MANIFEST,
            digest: None,
            subject: name.to_string(),
        };
        let answer = self.small(name, &small).await?;
        // A registry that doesn't know the question may answer it with anything.
        Ok(match Document::parse(&answer.bytes, "") {
            Ok(Document::Index(index)) => index.manifests,
            Ok(Document::Manifest(_)) | Err(_) => Vec::new(),
        })
    }

    async fn tagged(&self, name: &Name, tag: &str) -> Result<Option<Referrer>, PullError> {
        let Ok(name) = Name::parse(&format!("{}:{tag}", name.repository())) else {
            return Ok(None);
        };
        let resolved = self.resolve(&name).await?;
        Ok(resolved.map(|(descriptor, _)| Referrer {
            descriptor,
            name: Some(name),
        }))
    }
}

/// A digest as a tag, which has no colons.
fn tag(subject: &Digest) -> String {
    format!("{}-{}", subject.algorithm(), subject.hex())
}
