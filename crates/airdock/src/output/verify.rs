//! What `verify` prints.

use std::path::Path;

use airdock_bundle::Verdict;
use airdock_bundle::escape::escaped;
use airdock_bundle::image::Image;
use airdock_bundle::limits::FINDINGS;
use airdock_bundle::open::OpenError;
use airdock_bundle::verify::{Checked, Finding, Lack, Required, Verified};
use serde::Serialize;

use super::human::{Bytes, count};
use super::left_out::LeftOutReport;

/// Where a verdict isn't known, because not everything could be looked at.
const UNKNOWN: &str = "failed";

/// All bundles of one `verify`, as JSON.
#[derive(Debug, Serialize)]
pub struct Report {
    /// In the order given.
    pub bundles: Vec<BundleReport>,
    /// How many names `--require` lists; null without it.
    pub required: Option<usize>,
    /// Those of them that no bundle has, or only in an image that can't be imported.
    pub lacking: Vec<LackReport>,
}

/// A bundle, as JSON.
#[derive(Debug, Serialize)]
pub struct BundleReport {
    /// As it was given.
    pub path: String,
    /// What it is; `failed` where not everything could be read, and the rest is good.
    pub verdict: String,
    /// Why, where it isn't ok.
    pub reason: Option<String>,
    /// `oci-layout` or `docker-archive`; null where it couldn't be opened.
    pub format: Option<String>,
    /// How the file is compressed.
    pub compression: Option<String>,
    /// The same for copies and renames of the same images.
    pub id: Option<String>,
    /// Every image.
    pub images: Vec<ImageReport>,
    /// What is wrong with things that belong to no image.
    pub findings: Vec<FindingReport>,
    /// How many more findings there are: of each image the first 16 are listed.
    pub findings_not_listed: usize,
    /// Documents and blobs whose content was compared with their digests, each once.
    pub blobs_checked: usize,
    /// Their bytes, as they are stored.
    pub bytes_hashed: u64,
    /// Bytes that compressed layers unpacked to.
    pub bytes_unpacked: u64,
    /// What a delta leaves to other bundles; null for any other.
    pub left_out: Option<LeftOutReport>,
}

/// An image with all its platforms, as JSON.
#[derive(Debug, Serialize)]
pub struct ImageReport {
    /// Normalised.
    pub names: Vec<String>,
    /// Of the index or manifest that the names stand for.
    pub digest: Option<String>,
    /// What it is; `failed` where not all of it could be read, and the rest is good.
    pub verdict: String,
    /// Why, where it isn't ok.
    pub reason: Option<String>,
    /// The platforms that it lists.
    pub platforms: Vec<String>,
    /// What is wrong with it, or could not be looked at.
    pub findings: Vec<FindingReport>,
    /// What is odd about it and doesn't stand in the way.
    pub warnings: Vec<String>,
    #[serde(skip)]
    title: String,
}

/// One thing that is wrong, as JSON.
#[derive(Debug, Serialize)]
pub struct FindingReport {
    /// `differs`, `diff-id-differs`, `cut`, `undecodable`, `unusable`, or `unchecked` where it
    /// could not be looked at.
    pub kind: String,
    /// Whose it is; null for what is no image.
    pub platform: Option<String>,
    /// One sentence.
    pub message: String,
}

/// A name that is lacking, as JSON.
#[derive(Debug, Serialize)]
pub struct LackReport {
    /// Normalised.
    pub name: String,
    /// Why the image of that name can't be imported; null where there is none.
    pub reason: Option<String>,
}

impl Report {
    /// Of all bundles, and of what is lacking when all were ticked off.
    pub fn new(bundles: Vec<BundleReport>, required: Option<&Required>) -> Self {
        let lacking = required.into_iter().flat_map(Required::lacking);
        Self {
            bundles,
            required: required.map(Required::count),
            lacking: lacking.map(lack).collect(),
        }
    }

    /// Whether a required name is lacking.
    pub fn is_lacking(&self) -> bool {
        !self.lacking.is_empty()
    }

    /// Prints it for people: a line for each bundle and for each finding.
    pub fn print(&self) {
        self.bundles.iter().for_each(BundleReport::print);
        for lack in &self.lacking {
            let reason = lack.reason.as_deref().unwrap_or("no image has that name");
            super::line(&format!("lacking {}: {reason}", lack.name));
        }
        match self.required {
            Some(names) if !self.is_lacking() => {
                super::line(&format!("nothing is lacking of {}", count(names, "name")));
            }
            _ => {}
        }
    }
}

impl BundleReport {
    /// Of a bundle that was verified, or couldn't be.
    pub fn of(path: &Path, verified: &Result<Verified, OpenError>) -> Self {
        match verified {
            Ok(verified) => Self::verified(path, verified),
            Err(error) => Self::failed(path, error),
        }
    }

    fn verified(path: &Path, verified: &Verified) -> Self {
        let bundle = verified.bundle();
        Self {
            format: Some(bundle.format().to_string()),
            compression: Some(bundle.archive().codec().to_string()),
            id: Some(bundle.id().to_string()),
            images: verified.images().map(image).collect(),
            findings: verified.others().iter().map(finding).collect(),
            findings_not_listed: verified.unlisted(),
            blobs_checked: verified.blobs(),
            bytes_hashed: verified.hashed(),
            bytes_unpacked: verified.unpacked(),
            left_out: LeftOutReport::of(bundle),
            ..Self::unread(path, verified.verdict(), verified.reason())
        }
    }

    fn failed(path: &Path, error: &OpenError) -> Self {
        Self::unread(path, error.verdict(), Some(error.to_string()))
    }

    fn unread(path: &Path, verdict: Option<Verdict>, reason: Option<String>) -> Self {
        Self {
            path: escaped(&path.to_string_lossy()).to_string(),
            verdict: word(verdict),
            reason,
            format: None,
            compression: None,
            id: None,
            images: Vec::new(),
            findings: Vec::new(),
            findings_not_listed: 0,
            blobs_checked: 0,
            bytes_hashed: 0,
            bytes_unpacked: 0,
            left_out: None,
        }
    }

    fn print(&self) {
        super::line(&self.heading());
        if let Some(reason) = self.reason.as_ref().filter(|_| self.format.is_none()) {
            super::line(&format!("  {reason}"));
        }
        if let Some(left_out) = &self.left_out {
            super::line(&left_out.line());
        }
        self.images.iter().for_each(ImageReport::print);
        for finding in &self.findings {
            super::line(&format!("  {}: {}", finding.kind, finding.message));
        }
        if self.findings_not_listed > 0 {
            let more = self.findings_not_listed;
            super::line(&format!(
                "  {more} more: of each image the first {FINDINGS} are listed"
            ));
        }
    }

    fn heading(&self) -> String {
        let heading = format!("{}: {}", self.path, self.verdict);
        if self.format.is_none() {
            return heading;
        }
        format!(
            "{heading}, {}, {} with {} hashed, {} unpacked",
            count(self.images.len(), "image"),
            count(self.blobs_checked, "blob"),
            Bytes(self.bytes_hashed),
            Bytes(self.bytes_unpacked),
        )
    }
}

impl ImageReport {
    fn print(&self) {
        let title = &self.title;
        // A refusal is mostly one of the findings, and said by it.
        let is_found = |reason: &&String| self.findings.iter().any(|it| it.message == **reason);
        if let Some(reason) = self.reason.as_ref().filter(|reason| !is_found(reason)) {
            super::line(&format!("  {title}: {}: {reason}", self.verdict));
        }
        for finding in &self.findings {
            super::line(&format!("  {title}: {}: {}", finding.kind, finding.message));
        }
        for warning in &self.warnings {
            super::line(&format!("  {title}: warning: {warning}"));
        }
    }
}

fn image((image, checked): (&Image, &Checked)) -> ImageReport {
    let warnings = image.warnings.iter().map(ToString::to_string);
    let notices = checked.notices.iter().map(ToString::to_string);
    let target = image.target.as_ref();
    ImageReport {
        names: image.names.iter().map(ToString::to_string).collect(),
        digest: target.map(|target| target.digest.to_string()),
        verdict: word(checked.verdict(image)),
        reason: checked.reason(image),
        platforms: image.platforms.iter().map(ToString::to_string).collect(),
        findings: checked.findings.iter().map(finding).collect(),
        warnings: warnings.chain(notices).collect(),
        title: image.title(),
    }
}

fn finding(finding: &Finding) -> FindingReport {
    FindingReport {
        kind: finding.what().to_string(),
        platform: finding.platform().map(ToString::to_string),
        message: finding.to_string(),
    }
}

fn lack(lack: Lack<'_>) -> LackReport {
    LackReport {
        name: lack.name.to_string(),
        reason: lack.reason.map(str::to_owned),
    }
}

fn word(verdict: Option<Verdict>) -> String {
    verdict.map_or_else(|| UNKNOWN.to_owned(), |verdict| verdict.to_string())
}
