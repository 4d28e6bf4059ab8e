//! What `pack` prints.

use airdock_bundle::write::{Contents, Listed};
use serde::Serialize;

use super::human::{Bytes, count};
use super::shown;
use crate::exit::Exit;
use crate::pack::{Failed, Packed};

/// A bundle that was made, as JSON.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Where it was written.
    pub path: String,
    /// `ok`, or `partial` where something that was asked for isn't in it.
    pub verdict: &'static str,
    /// Bytes of the file.
    pub size: u64,
    /// Of the file, where that was asked for.
    pub sha256: Option<String>,
    /// What it lists.
    pub images: Vec<ImageReport>,
    /// What was asked for and isn't in it.
    pub failed: Vec<FailedReport>,
    /// Layers that are in it.
    pub layers: usize,
    /// Their bytes.
    pub layer_bytes: u64,
    /// Layers that were left out, since a base has them.
    pub left_out: usize,
    /// Their bytes.
    pub left_out_bytes: u64,
}

/// An image that is listed, as JSON.
#[derive(Debug, Serialize)]
pub struct ImageReport {
    /// Normalised.
    pub names: Vec<String>,
    /// Of the index or manifest.
    pub digest: String,
}

/// An image that couldn't be packed, as JSON.
#[derive(Debug, Serialize)]
pub struct FailedReport {
    /// Its name.
    pub image: String,
    /// Why.
    pub reason: String,
}

impl Report {
    /// Of what was made.
    pub fn of(packed: &Packed) -> Self {
        let contents = &packed.contents;
        Self {
            path: shown(&packed.file.path),
            verdict: match packed.failed.is_empty() {
                true => "ok",
                false => "partial",
            },
            size: packed.file.size,
            sha256: packed.file.sha256.clone(),
            images: images(contents),
            failed: packed.failed.iter().map(failed).collect(),
            layers: contents.layers().count(),
            layer_bytes: contents.layers().map(|(_, size)| size).sum(),
            left_out: contents.elsewhere().count(),
            left_out_bytes: contents.elsewhere().map(|(_, size)| size).sum(),
        }
    }

    /// The status that the program ends with.
    pub fn exit(&self) -> Exit {
        match self.failed.is_empty() {
            true => Exit::Success,
            false => Exit::Partial,
        }
    }

    /// Prints it for people: results on standard output, what went wrong on standard error.
    pub fn print(&self) {
        for image in &self.images {
            for name in image.shown_names() {
                super::line(&format!("packed {name} {}", image.digest));
            }
        }
        for failed in &self.failed {
            super::note(&format!("failed {}: {}", failed.image, failed.reason));
        }
        super::line(&self.summary());
    }

    fn summary(&self) -> String {
        let mut summary = format!(
            "{}: {}: {}, {} with {}, {}",
            self.path,
            self.verdict,
            count(self.images.len(), "image"),
            count(self.layers, "layer"),
            Bytes(self.layer_bytes),
            Bytes(self.size),
        );
        if self.left_out > 0 {
            let left_out = count(self.left_out, "layer");
            let bytes = Bytes(self.left_out_bytes);
            summary.push_str(&format!("; {left_out} with {bytes} left to its base"));
        }
        summary
    }
}

impl ImageReport {
    fn shown_names(&self) -> Vec<&str> {
        match self.names.is_empty() {
            true => vec!["-"],
            false => self.names.iter().map(String::as_str).collect(),
        }
    }
}

fn images(contents: &Contents) -> Vec<ImageReport> {
    let image = |listed: &Listed| ImageReport {
        names: listed.names.iter().map(ToString::to_string).collect(),
        digest: listed.descriptor.digest.to_string(),
    };
    let mut images: Vec<ImageReport> = contents.listed().map(image).collect();
    images.sort_by(|a, b| a.names.cmp(&b.names));
    images
}

fn failed(failed: &Failed) -> FailedReport {
    FailedReport {
        image: failed.image.clone(),
        reason: failed.reason.clone(),
    }
}
