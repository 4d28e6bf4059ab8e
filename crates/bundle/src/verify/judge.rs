//! From what was read to what is said of each image.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::examine::Examined;
use super::finding::{Finding, Notice};
use super::survey::{Claim, LayerClaim, Node, Survey};
use super::work::Outcomes;
use super::{Checked, Verified};
use crate::archive::Archive;
use crate::digest::Digest;
use crate::image::{Image, ImageError, LayerFault};
use crate::limits;

/// Compares all claims with what the entries are, and refuses the images with a wrong one.
pub(super) fn judge(survey: Survey, outcomes: &Outcomes, unpacked: u64) -> Verified {
    let Survey { mut bundle, map } = survey;
    let archive = &bundle.archive;
    let mut findings = Remarks::of(&map.nodes, limits::FINDINGS, |node| {
        findings(archive, node, outcomes)
    });
    let mut notices = Remarks::of(&map.nodes, limits::WARNINGS, notices);
    let mut roots: BTreeMap<usize, usize> = map.roots.iter().copied().collect();
    let mut images = Vec::new();
    for image in &mut bundle.images {
        let listed = image.listed.iter();
        let nodes: Vec<usize> = listed
            .filter_map(|position| roots.remove(position))
            .collect();
        let checked = Checked {
            findings: findings.below(&nodes),
            notices: notices.below(&nodes),
        };
        images.push(checked.settle(image));
    }
    let nodes: Vec<usize> = roots.into_values().collect();
    let others = findings.below(&nodes);
    let more_faults = map.nodes.iter().map(|node| node.more_faults);
    Verified {
        images,
        others,
        unlisted: more_faults.sum::<usize>() + findings.untold(),
        blobs: map.documents + outcomes.len(),
        hashed: map.document_bytes + examined_bytes(archive, outcomes),
        unpacked,
        bundle,
    }
}

fn examined_bytes(archive: &Archive, outcomes: &Outcomes) -> u64 {
    let examined = outcomes.iter().filter(|(_, outcome)| outcome.is_ok());
    examined.map(|(entry, _)| archive.size(*entry)).sum()
}

impl Checked {
    /// Refuses the image if something failed, and lets the same thing be said once.
    fn settle(mut self, image: &mut Image) -> Self {
        let mut refusals = self.findings.iter().filter_map(Finding::refusal);
        let refusal = match &image.outcome {
            Ok(_) => refusals.next(),
            Err(known) => {
                if known.is_absence() {
                    self.notices.retain(|notice| !notice.is_absence());
                }
                // Opening found it first, and didn't say the platform.
                let known = known.to_string();
                refusals.find(|refusal| refusal.to_string().ends_with(&known))
            }
        };
        if let Some(refusal) = refusal {
            image.outcome = Err(refusal.clone());
        }
        self
    }
}

fn findings(archive: &Archive, node: &Node, outcomes: &Outcomes) -> Vec<Finding> {
    let platform = node.platform.as_ref();
    let claims = node.claims.iter();
    let claims = claims.filter_map(|claim| match outcomes.get(&claim.entry)? {
        Ok(examined) => {
            let error = contradiction(archive, claim, examined)?;
            Some(Finding::failed(platform, error))
        }
        Err(error) => Some(Finding::Unchecked {
            platform: platform.cloned(),
            error: Arc::clone(error),
        }),
    });
    let faults = node.faults.iter().cloned();
    let faults = faults.map(|error| Finding::failed(platform, error));
    claims.chain(faults).collect()
}

/// What of the claim isn't so. Content that was damaged need not unpack as well.
fn contradiction(archive: &Archive, claim: &Claim, examined: &Examined) -> Option<ImageError> {
    if let Some(expected) = &claim.stored
        && let Some(found) = other(&examined.stored, expected)
    {
        return Some(ImageError::Damaged {
            entry: archive.name(claim.entry).to_owned(),
            expected: expected.clone(),
            found,
        });
    }
    let layer = claim.layer.as_ref()?;
    let digest = claim.stored.as_ref().unwrap_or(&layer.diff_id);
    Some(ImageError::Layer {
        position: layer.position,
        digest: digest.clone(),
        fault: layer_fault(layer, examined)?,
    })
}

fn layer_fault(layer: &LayerClaim, examined: &Examined) -> Option<LayerFault> {
    let content = match &examined.unpacked {
        Some(Err(fault)) => return Some(fault.clone()),
        Some(Ok(unpacked)) => unpacked,
        None => &examined.stored,
    };
    Some(LayerFault::DiffId {
        expected: layer.diff_id.clone(),
        found: other(content, &layer.diff_id)?,
    })
}

/// The digest by the same algorithm as `expected`, if it is another.
fn other(found: &[Digest], expected: &Digest) -> Option<Digest> {
    let mut found = found.iter();
    let found = found.find(|found| found.algorithm() == expected.algorithm())?;
    (found != expected).then(|| found.clone())
}

fn notices(node: &Node) -> Vec<Notice> {
    let hazards = node.hazards.iter().cloned().map(|hazard| Notice::Hazard {
        platform: node.platform.clone(),
        hazard,
    });
    let absent = node.absent.clone().map(|part| Notice::Absent {
        platform: node.platform.clone(),
        part,
    });
    hazards.chain(absent).collect()
}

/// What is said of each node and of everything below it.
struct Remarks<T> {
    all: Vec<T>,
    /// Which of `all` were asked for.
    told: BTreeSet<usize>,
    /// How many more there are than in `all`.
    dropped: usize,
    /// By node: places in `all`.
    below: Vec<Vec<usize>>,
    /// Of one node.
    most: usize,
}

impl<T: Clone> Remarks<T> {
    /// Goes over the nodes once, children first: how many ways lead to one costs nothing.
    fn of(nodes: &[Node], most: usize, own: impl Fn(&Node) -> Vec<T>) -> Self {
        let mut remarks = Self {
            all: Vec::new(),
            told: BTreeSet::new(),
            dropped: 0,
            below: Vec::new(),
            most,
        };
        for node in nodes {
            let first = remarks.all.len();
            let mut own = own(node);
            remarks.dropped += own.len().saturating_sub(most);
            own.truncate(most);
            remarks.all.extend(own);
            let own = (first..remarks.all.len()).collect();
            let below = remarks.merged(own, &node.children);
            remarks.below.push(below);
        }
        remarks
    }

    /// `places` and those below `nodes`, each once; of very many, the first.
    fn merged(&self, mut places: Vec<usize>, nodes: &[usize]) -> Vec<usize> {
        let below = nodes.iter().filter_map(|node| self.below.get(*node));
        for place in below.flatten() {
            if places.len() >= self.most {
                break;
            }
            if !places.contains(place) {
                places.push(*place);
            }
        }
        places
    }

    fn below(&mut self, nodes: &[usize]) -> Vec<T> {
        let places = self.merged(Vec::new(), nodes);
        self.told.extend(&places);
        let remarks = places.into_iter();
        remarks
            .filter_map(|place| self.all.get(place).cloned())
            .collect()
    }

    /// How many remarks nobody was told of.
    fn untold(&self) -> usize {
        self.dropped + self.all.len().saturating_sub(self.told.len())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write as _};
    use std::path::Path;

    use airdock_testkit::fixture::{Bundle as Fixture, Image, Target};

    use super::*;
    use crate::archive::ArchiveError;
    use crate::bundle::Bundle;
    use crate::platform::{Matcher, Platform};
    use crate::verify::{Required, What};

    fn survey(fixture: &Fixture) -> Survey {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&fixture.oci().tar()).unwrap();
        let archive = Archive::from_file(file, Path::new("x.tar")).unwrap();
        let platform = Platform::new("linux", "amd64", "");
        let bundle = Bundle::open(archive, &Matcher::only(platform)).unwrap();
        Survey::of(bundle).unwrap()
    }

    #[test]
    fn what_could_not_be_read_is_neither_good_nor_bad() {
        let images = [Image::small("a"), Image::small("b").platform("linux/s390x")];
        let fixture = Fixture::new().with(&["example.com/a:1"], Target::index(images));
        let survey = survey(&fixture);
        let error = Arc::new(ArchiveError::Io {
            action: "read",
            path: "blobs/x".into(),
            source: io::Error::other("bad sector"),
        });
        let unread = |entry: &_| (*entry, Err(Arc::clone(&error)));
        let outcomes: Outcomes = survey.map.jobs.keys().map(unread).collect();
        let verified = judge(survey, &outcomes, 0);
        assert_eq!((verified.verdict(), verified.is_whole()), (None, false));
        let reason = verified.reason().unwrap();
        assert_eq!(reason, "linux/amd64: cannot read blobs/x: bad sector");
        let (image, checked) = verified.images().next().unwrap();
        assert!(image.outcome.is_ok(), "nothing is known against it");
        assert_eq!(checked.verdict(image), None);
        let mut required = Required::read("example.com/a:1".as_bytes()).unwrap();
        required.tick_off(&verified);
        let reasons = required.lacking().map(|lack| lack.reason);
        assert_eq!(reasons.collect::<Vec<_>>(), [Some(reason.as_str())]);
        let kinds = checked.findings.iter().map(Finding::what);
        assert_eq!(
            kinds.collect::<Vec<_>>(),
            [What::Unchecked, What::Unchecked]
        );
    }
}
