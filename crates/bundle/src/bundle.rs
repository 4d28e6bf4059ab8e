//! An opened bundle and what is to be said of it.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::archive::Archive;
use crate::digest::{Algorithm, Digest, Hasher};
use crate::image::{Image, Other};
use crate::left_out::LeftOut;
use crate::verdict::Verdict;

/// How a bundle lists its images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    OciLayout,
    DockerArchive,
}

impl Format {
    /// The name used in messages, tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OciLayout => "oci-layout",
            Self::DockerArchive => "docker-archive",
        }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// A bundle whose images are known: structure, sizes and presence are checked, documents
/// verified, layers not yet read.
#[derive(Debug)]
pub struct Bundle {
    pub(crate) archive: Archive,
    pub(crate) format: Format,
    pub(crate) images: Vec<Image>,
    pub(crate) others: Vec<Other>,
    pub(crate) left_out: LeftOut,
}

impl Bundle {
    /// How the bundle lists its images.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Where the bytes of its blobs are.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// In the order in which the bundle lists them.
    pub fn images(&self) -> &[Image] {
        &self.images
    }

    /// What it holds besides images.
    pub fn others(&self) -> &[Other] {
        &self.others
    }

    /// What all images together make of the bundle.
    pub fn verdict(&self) -> Verdict {
        let verdicts: Vec<Verdict> = self.images.iter().map(Image::verdict).collect();
        let all = |wanted| verdicts.iter().all(|verdict| *verdict == wanted);
        let importable = |verdict: &Verdict| matches!(verdict, Verdict::Ok | Verdict::Partial);
        if verdicts.is_empty() {
            Verdict::Empty
        } else if all(Verdict::Ok) {
            Verdict::Ok
        } else if verdicts.iter().any(importable) {
            Verdict::Partial
        } else if all(Verdict::Unnamed) {
            Verdict::Unnamed
        } else {
            Verdict::Refused
        }
    }

    /// Why the verdict is not `Ok`: one sentence without a full stop. With several images it is
    /// about the first refused one, or the first that has no name.
    pub fn reason(&self) -> Option<String> {
        if self.images.is_empty() {
            return Some(self.nothing());
        }
        let bad = self
            .images
            .iter()
            .filter(|image| image.verdict() != Verdict::Ok);
        let worst = bad
            .clone()
            .find(|image| image.verdict() == Verdict::Refused);
        let shown = worst.or_else(|| bad.clone().next())?;
        let (title, reason) = (shown.title(), shown.reason()?);
        Some(match (bad.count(), self.images.len()) {
            (_, 1) => format!("{title}: {reason}"),
            (count, total) => {
                format!(
                    "{count} of {total} images are not importable as they are; {title}: {reason}"
                )
            }
        })
    }

    fn nothing(&self) -> String {
        let advice = "save an image into it";
        match (self.others.first(), self.others.len()) {
            (None, _) => format!("it lists no image; {advice}"),
            (Some(other), count) => format!(
                "it holds no image, only {count} of another kind ({} {}); {advice}",
                other.kind,
                other.digest.short()
            ),
        }
    }

    /// The bundle's identity on nodes of this platform: sha256 over its images and names, in
    /// sorted order. Copies have the same one, whatever they are called and compressed with.
    pub fn id(&self) -> Digest {
        let lines: BTreeSet<String> = self.images.iter().map(image_line).collect();
        let others = self.others.iter().map(|other| format!("{}", other.digest));
        let mut hasher = Hasher::new(Algorithm::Sha256);
        for line in lines.into_iter().chain(others.collect::<BTreeSet<_>>()) {
            hasher.update(line.as_bytes());
            hasher.update(b"\n");
        }
        hasher.finish()
    }
}

/// Target and names. Refused names came from outside: quoted, they can't run into each other.
fn image_line(image: &Image) -> String {
    let target = image.target.as_ref().map_or("-", |it| it.digest.as_str());
    let mut names: Vec<String> = image.names.iter().map(ToString::to_string).collect();
    names.extend(
        image
            .refused_names
            .iter()
            .map(|name| format!("{:?}", name.given)),
    );
    names.sort_unstable();
    format!("{target} {}", names.join(" "))
}
