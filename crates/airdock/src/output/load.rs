//! What `load` prints.

use std::path::Path;

use serde::Serialize;

use super::human::{Bytes, count};
use super::shown;
use crate::agent::bring::Brought;
use crate::agent::failure::Failure;

/// One bundle of a `load`, as JSON.
#[derive(Debug, Serialize)]
pub struct Report {
    /// As it was given.
    pub path: String,
    /// A verdict, or `failed` where it couldn't be reached.
    pub verdict: String,
    /// Why, where it isn't ok.
    pub reason: Option<String>,
    /// The names that exist in the store now, as the store showed them.
    pub names: Vec<String>,
    /// Those names, by image.
    pub images: Vec<ImageReport>,
    /// Images that were not imported.
    pub refused: Vec<RefusedReport>,
    /// Bytes that went to the store.
    pub bytes_sent: u64,
    /// Bytes that were needed and there.
    pub bytes_skipped: u64,
    /// Whether anything had to be written.
    pub changed: bool,
}

/// One image of a report.
#[derive(Debug, Serialize)]
pub struct ImageReport {
    /// Its names.
    pub names: Vec<String>,
    /// What they point to.
    pub digest: String,
    /// The platform that was chosen.
    pub platform: String,
}

/// One image that was not imported.
#[derive(Debug, Serialize)]
pub struct RefusedReport {
    /// Its names, or its digest.
    pub image: String,
    /// Why.
    pub reason: String,
}

impl Report {
    /// Of a bundle that was brought.
    pub fn brought(path: &Path, brought: &Brought) -> Self {
        let images: Vec<ImageReport> = brought
            .offer
            .images
            .iter()
            .map(|image| ImageReport {
                names: image.names.iter().map(ToString::to_string).collect(),
                digest: image.target.digest.to_string(),
                platform: image.platform.clone(),
            })
            .collect();
        let refused = brought.refused.iter().map(|refused| RefusedReport {
            image: refused.image.clone(),
            reason: refused.reason.clone(),
        });
        Self {
            path: shown(path),
            verdict: brought.verdict.to_string(),
            reason: crate::agent::publish::reasons(&brought.refused),
            names: images
                .iter()
                .flat_map(|image| image.names.clone())
                .collect(),
            images,
            refused: refused.collect(),
            bytes_sent: brought.bytes_sent,
            bytes_skipped: brought.bytes_skipped,
            changed: brought.changed,
        }
    }

    /// Of a bundle that wasn't.
    pub fn failed(path: &Path, failure: &Failure) -> Self {
        let verdict = failure.verdict();
        Self {
            path: shown(path),
            verdict: verdict.map_or_else(|| "failed".to_owned(), |v| v.to_string()),
            reason: Some(failure.to_string()),
            names: Vec::new(),
            images: Vec::new(),
            refused: Vec::new(),
            bytes_sent: 0,
            bytes_skipped: 0,
            changed: false,
        }
    }

    /// Prints it for people: results on standard output, what went wrong on standard error.
    pub fn print(&self) {
        let what = if self.changed { "imported" } else { "present" };
        for image in &self.images {
            for name in &image.names {
                super::line(&format!("{what} {name} {}", image.digest));
            }
        }
        for refused in &self.refused {
            super::note(&format!("refused {}: {}", refused.image, refused.reason));
        }
        match &self.reason {
            Some(reason) if self.images.is_empty() => {
                super::note(&format!("{}: {}: {reason}", self.path, self.verdict));
            }
            _ => super::line(&self.summary()),
        }
    }

    fn summary(&self) -> String {
        format!(
            "{}: {}: {}, {} sent, {} already there",
            self.path,
            self.verdict,
            count(self.images.len(), "image"),
            Bytes(self.bytes_sent),
            Bytes(self.bytes_skipped),
        )
    }
}
