//! Verifies whole bundles: everything that they list and hold, for every platform, and what layers
//! unpack to.
//!
//! [`Bundle::check`] answers whether this node can import a bundle's images. Here the question is
//! whether a file is what it says, whichever nodes it will go to.

mod allowance;
mod examine;
mod finding;
mod hazard;
mod judge;
mod required;
mod survey;
mod work;

use crate::archive::ArchiveError;
use crate::bundle::Bundle;
use crate::image::Image;
use crate::verdict::Verdict;

use allowance::Allowance;
use work::Work;

pub use finding::{Finding, Notice, What};
pub use hazard::Hazard;
pub use required::{Lack, Required, RequiredError};
pub use survey::Survey;

impl Survey {
    /// Reads every blob once, on all processors, and compares it with everything that is said of
    /// it. `progress` is told the bytes of each piece read, by any thread.
    ///
    /// # Errors
    /// When the bundle can't be read to its end, or changes meanwhile. A blob of a directory that
    /// can't be read is a [`Finding`].
    pub fn verify(self, progress: &(dyn Fn(u64) + Sync)) -> Result<Verified, ArchiveError> {
        let work = Work {
            archive: self.bundle.archive(),
            jobs: &self.map.jobs,
            allowance: Allowance::new(self.bytes()),
            progress,
        };
        let outcomes = work.run()?;
        let unpacked = work.allowance.taken();
        Ok(judge::judge(self, &outcomes, unpacked))
    }
}

/// A bundle of which everything was looked at. Images with a [failure](Finding::Failed) are
/// refused, whatever platform it is about.
#[derive(Debug)]
pub struct Verified {
    bundle: Bundle,
    /// As the bundle's images.
    images: Vec<Checked>,
    others: Vec<Finding>,
    unlisted: usize,
    blobs: usize,
    hashed: u64,
    unpacked: u64,
}

/// What verifying found of one image, on all its platforms.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Of very many, the first.
    pub findings: Vec<Finding>,
    /// Of very many, the first.
    pub notices: Vec<Notice>,
}

impl Checked {
    /// The image's verdict; `None` where part of it could not be looked at, and the rest is good.
    pub fn verdict(&self, image: &Image) -> Option<Verdict> {
        known(image.verdict(), self.is_whole())
    }

    /// Why the verdict isn't `Ok`: one sentence without a full stop.
    pub fn reason(&self, image: &Image) -> Option<String> {
        let unchecked = || unchecked(&self.findings).map(ToString::to_string);
        match self.verdict(image) {
            Some(_) => image.reason(),
            None => unchecked(),
        }
    }

    /// Whether everything could be looked at.
    pub fn is_whole(&self) -> bool {
        unchecked(&self.findings).is_none()
    }
}

/// A verdict that something unchecked could still change is none.
fn known(verdict: Verdict, is_whole: bool) -> Option<Verdict> {
    let is_final = matches!(verdict, Verdict::Refused | Verdict::Partial);
    (is_whole || is_final).then_some(verdict)
}

fn unchecked(findings: &[Finding]) -> Option<&Finding> {
    let mut findings = findings.iter();
    findings.find(|finding| finding.what() == What::Unchecked)
}

impl Verified {
    /// The bundle, its damaged images refused.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Its images, in their order.
    pub fn images(&self) -> impl Iterator<Item = (&Image, &Checked)> {
        self.bundle.images().iter().zip(&self.images)
    }

    /// What is wrong with things that belong to no image; of very many, the first.
    pub fn others(&self) -> &[Finding] {
        &self.others
    }

    /// How many more findings there are than those of the images and the others: of each, the
    /// first [`limits::FINDINGS`](crate::limits::FINDINGS) are listed.
    pub fn unlisted(&self) -> usize {
        self.unlisted
    }

    /// How many documents and blobs were hashed, each once.
    pub fn blobs(&self) -> usize {
        self.blobs
    }

    /// Their bytes, as they are stored.
    pub fn hashed(&self) -> u64 {
        self.hashed
    }

    /// Bytes that compressed layers unpacked to.
    pub fn unpacked(&self) -> u64 {
        self.unpacked
    }

    /// Whether everything could be looked at.
    pub fn is_whole(&self) -> bool {
        self.images.iter().all(Checked::is_whole) && unchecked(&self.others).is_none()
    }

    /// What the bundle as a whole is; `None` where part of it could not be looked at, and the rest
    /// is good.
    pub fn verdict(&self) -> Option<Verdict> {
        let verdict = match (self.bundle.verdict(), self.refused_other()) {
            (verdict, None) => verdict,
            (Verdict::Ok | Verdict::Partial, Some(_)) => Verdict::Partial,
            (_, Some(_)) => Verdict::Refused,
        };
        known(verdict, self.is_whole())
    }

    /// Why the verdict isn't `Ok`: one sentence without a full stop.
    pub fn reason(&self) -> Option<String> {
        let images = self.images.iter().flat_map(|image| &image.findings);
        let mut findings = images.chain(&self.others);
        let other = || self.refused_other().map(ToString::to_string);
        match self.verdict() {
            None => findings.find(|finding| finding.what() == What::Unchecked),
            Some(_) => return self.bundle.reason().or_else(other),
        }
        .map(ToString::to_string)
    }

    fn refused_other(&self) -> Option<&Finding> {
        let mut others = self.others.iter();
        others.find(|finding| finding.what() != What::Unchecked)
    }
}
