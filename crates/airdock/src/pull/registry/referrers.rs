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

use super::{Answer, Fault, MANIFESTS, PullError, Registries, Small, missing_as_none};
use crate::pull::limits;

/// Signatures, attestations and SBOMs of cosign.
const COSIGN: [&str; 3] = ["sig", "att", "sbom"];

/// Something that refers to an image, and the name that it has, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Referrer {
    pub descriptor: Descriptor,
    pub name: Option<Name>,
}

/// Part of a list.
#[derive(Default)]
struct Page {
    listed: Vec<Descriptor>,
    next: Option<String>,
}

impl Page {
    /// `None` where the answer isn't a list.
    fn of(answer: &Answer) -> Option<Self> {
        match Document::parse(&answer.bytes, "") {
            Ok(Document::Index(index)) => Some(Self {
                listed: index.manifests,
                next: answer.next.clone(),
            }),
            Ok(Document::Manifest(_)) | Err(_) => None,
        }
    }

    fn is_empty(&self) -> bool {
        self.listed.is_empty() && self.next.is_none()
    }
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
        let question = format!("referrers/{subject}");
        let first = self.page(name, question.clone()).await;
        let Some(Page {
            mut listed,
            mut next,
        }) = unknown_as_none(first)?
        else {
            let fallback = self.page(name, format!("manifests/{}", tag(subject)));
            let fallback = missing_as_none(fallback.await)?.flatten();
            return Ok(fallback.map(|page| page.listed).unwrap_or_default());
        };
        let mut pages = 1;
        while let Some(query) = next {
            if pages == limits::PAGES || listed.len() > documents::DESCRIPTORS {
                return Err(endless(name));
            }
            let page = self.page(name, format!("{question}?{query}")).await?;
            let page = page.unwrap_or_default();
            listed.extend(page.listed);
            next = page.next;
            pages += 1;
        }
        Ok(listed)
    }

    /// `None` where the answer isn't a list: a registry that doesn't know the question may say
    /// anything.
    async fn page(&self, name: &Name, path: String) -> Result<Option<Page>, PullError> {
        let small = Small {
            path,
            accept: Some(MANIFESTS),
            limit: documents::MANIFEST,
            digest: None,
            subject: name.to_string(),
        };
        // A mirror that lists nothing may never have asked.
        let lists = |answer: &Answer| Page::of(answer).is_some_and(|page| !page.is_empty());
        let answer = self.small_that(name, &small, lists).await?;
        Ok(Page::of(&answer))
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

/// Registries that are too old for the question say so in several ways.
fn unknown_as_none(answer: Result<Option<Page>, PullError>) -> Result<Option<Page>, PullError> {
    const UNKNOWN: [u16; 3] = [400, 405, 406];
    match missing_as_none(answer) {
        Err(error) if matches!(&error.fault, Fault::Status { status, .. } if UNKNOWN.contains(status)) => {
            Ok(None)
        }
        answer => Ok(answer?.flatten()),
    }
}

fn endless(name: &Name) -> PullError {
    PullError {
        subject: name.to_string(),
        host: name.domain().to_owned(),
        fault: Fault::Malformed {
            what: "a list of what refers to an image goes on and on".to_owned(),
        },
    }
}

/// A digest as a tag, which has no colons.
fn tag(subject: &Digest) -> String {
    format!("{}-{}", subject.algorithm(), subject.hex())
}
