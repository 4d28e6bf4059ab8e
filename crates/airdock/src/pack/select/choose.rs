//! Which children of an index are taken.

use std::collections::BTreeSet;

use airdock_bundle::digest::Digest;
use airdock_bundle::document::Descriptor;
use airdock_bundle::document::media_type::Kind;
use airdock_bundle::platform::{Matcher, Platform};

/// Set by build tools on the descriptor of what they state about an image.
const ATTESTATION: &str = "vnd.docker.reference.type";
/// Which manifest they state it about.
const SUBJECT: &str = "vnd.docker.reference.digest";

/// What a child of an index is.
#[derive(Debug)]
pub(super) enum Child {
    Image(Platform),
    Index,
    /// What a build tool states about an image.
    Statement(Option<Digest>),
    /// Something that isn't there, or isn't an image.
    Unknown,
}

impl Child {
    /// What the descriptor says; `None` where only the document does.
    pub(super) fn of(descriptor: &Descriptor) -> Option<Self> {
        if descriptor.annotations.contains_key(ATTESTATION) {
            let subject = descriptor.annotations.get(SUBJECT);
            let subject = subject.and_then(|digest| digest.parse().ok());
            return Some(Self::Statement(subject));
        }
        if descriptor.artifact_type.is_some() {
            return Some(Self::Unknown);
        }
        match (descriptor.kind(), &descriptor.platform) {
            (Kind::Index, _) => Some(Self::Index),
            (Kind::Other, _) => Some(Self::Unknown),
            (_, Some(platform)) if platform.is_unknown() => Some(Self::Statement(None)),
            (_, Some(platform)) => Some(Self::Image(platform.clone())),
            (_, None) => None,
        }
    }

    /// For which it is, if it is an image.
    pub(super) fn platform(&self) -> Option<&Platform> {
        match self {
            Self::Image(platform) => Some(platform),
            _ => None,
        }
    }
}

/// For each platform its best image, indexes to look further in, and what is stated about what was
/// chosen; with each, whether it may be absent. Platforms that have an image are noted in `met`.
pub(super) fn choose<'a>(
    children: &[(Child, &'a Descriptor)],
    platforms: &[Matcher],
    met: &mut BTreeSet<usize>,
) -> Vec<(&'a Descriptor, bool)> {
    let mut images = BTreeSet::new();
    for (at, platform) in platforms.iter().enumerate() {
        if met.contains(&at) {
            continue;
        }
        if let Some(best) = best(children, platform) {
            images.insert(best);
            met.insert(at);
        }
    }
    let digests: BTreeSet<&Digest> = images
        .iter()
        .filter_map(|at| children.get(*at))
        .map(|(_, descriptor)| &descriptor.digest)
        .collect();
    let is_taken = |(at, (child, _)): &(usize, &(Child, &'a Descriptor))| match child {
        Child::Image(_) => images.contains(at),
        Child::Index => true,
        Child::Statement(subject) => subject.as_ref().is_some_and(|it| digests.contains(it)),
        Child::Unknown => false,
    };
    let taken = children.iter().enumerate().filter(is_taken);
    taken
        .map(|(_, (child, descriptor))| (*descriptor, !matches!(child, Child::Image(_))))
        .collect()
}

/// The position of the best image for a platform: of equals the first.
fn best(children: &[(Child, &Descriptor)], platform: &Matcher) -> Option<usize> {
    let rank = |(at, (child, _)): (usize, &(Child, &Descriptor))| {
        let rank = platform.rank(child.platform()?)?;
        Some((rank, at))
    };
    let ranked = children.iter().enumerate().filter_map(rank);
    ranked.min().map(|(_, at)| at)
}
