//! What `inspect` prints.

use std::path::Path;

use airdock_bundle::Verdict;
use airdock_bundle::escape::escaped;
use airdock_bundle::image::{Content, Image, Other};
use airdock_bundle::open::Bundle;
use comfy_table::{Table, presets};
use serde::Serialize;

use super::human::{Bytes, count};
use super::left_out::LeftOutReport;
use super::shown;

/// A bundle, as JSON.
#[derive(Debug, Serialize)]
pub struct Report {
    /// As it was given.
    pub path: String,
    /// What it is; `failed` where it couldn't be read.
    pub verdict: String,
    /// Why, where it isn't ok.
    pub reason: Option<String>,
    /// Whether the content of every blob was compared with its digest.
    pub content_checked: bool,
    /// `oci-layout` or `docker-archive`; null where it wasn't recognised.
    pub format: Option<String>,
    /// How the file is compressed.
    pub compression: Option<String>,
    /// The same for copies and renames of the same images.
    pub id: Option<String>,
    /// Every image, importable or not.
    pub images: Vec<ImageReport>,
    /// What isn't an image: charts, signatures, attestations.
    pub others: Vec<OtherReport>,
    /// What a delta leaves to other bundles; null for any other.
    pub left_out: Option<LeftOutReport>,
}

/// An image, as JSON.
#[derive(Debug, Serialize)]
pub struct ImageReport {
    /// Normalised.
    pub names: Vec<String>,
    /// Of the index or manifest that the names stand for.
    pub digest: Option<String>,
    /// What it is.
    pub verdict: Verdict,
    /// Why, where it isn't ok.
    pub reason: Option<String>,
    /// As it says of itself.
    pub media_type: Option<String>,
    /// The platforms that it lists.
    pub platforms: Vec<String>,
    /// The platform that was chosen.
    pub platform: Option<String>,
    /// Of the config: what CRI calls the image's id.
    pub config: Option<String>,
    /// Lowest first.
    pub layers: Vec<LayerReport>,
    /// Bytes of everything that it needs.
    pub size: u64,
    /// What is odd about it and doesn't stand in the way.
    pub warnings: Vec<String>,
}

/// A layer, as JSON.
#[derive(Debug, Serialize)]
pub struct LayerReport {
    /// As it is stored.
    pub digest: String,
    /// Uncompressed.
    pub diff_id: String,
    /// As its descriptor says.
    pub media_type: String,
    /// Bytes, as it is stored.
    pub size: u64,
}

/// Something that isn't an image, as JSON.
#[derive(Debug, Serialize)]
pub struct OtherReport {
    /// `artifact` or `attestation`.
    pub kind: String,
    /// As its descriptor says.
    pub media_type: String,
    /// Of its document.
    pub digest: String,
    /// As its descriptor says; escaped.
    pub name: Option<String>,
}

impl Report {
    /// Of a bundle that was opened.
    pub fn opened(path: &Path, bundle: &Bundle, content_checked: bool) -> Self {
        Self {
            path: shown(path),
            verdict: bundle.verdict().to_string(),
            reason: bundle.reason(),
            content_checked,
            format: Some(bundle.format().to_string()),
            compression: Some(bundle.archive().codec().to_string()),
            id: Some(bundle.id().to_string()),
            images: bundle.images().iter().map(image).collect(),
            others: bundle.others().iter().map(other).collect(),
            left_out: LeftOutReport::of(bundle),
        }
    }

    /// Of a bundle that couldn't be opened.
    pub fn failed(path: &Path, verdict: Option<Verdict>, reason: String) -> Self {
        Self {
            path: shown(path),
            verdict: verdict.map_or_else(|| "failed".to_owned(), |v| v.to_string()),
            reason: Some(reason),
            content_checked: false,
            format: None,
            compression: None,
            id: None,
            images: Vec::new(),
            others: Vec::new(),
            left_out: None,
        }
    }

    /// Prints it for people.
    pub fn print(&self) {
        super::line(&self.heading());
        if let Some(reason) = &self.reason {
            super::line(&format!("  {reason}"));
        }
        if let Some(left_out) = &self.left_out {
            super::line(&left_out.line());
        }
        if !self.images.is_empty() {
            super::line(&self.table().trim_fmt());
        }
        for image in &self.images {
            image.print_notes();
        }
        for other in &self.others {
            let name = other.name.as_deref().unwrap_or("without a name");
            super::line(&format!("  {} {} ({name})", other.kind, other.digest));
        }
    }

    fn heading(&self) -> String {
        let mut heading = format!("{}: {}", self.path, self.verdict);
        if let (Some(format), Some(compression)) = (&self.format, &self.compression) {
            heading.push_str(&format!(", {format}, {compression}"));
        }
        if self.format.is_some() {
            heading.push_str(&format!(", {}", count(self.images.len(), "image")));
        }
        if self.format.is_some() && !self.content_checked {
            heading.push_str(", content not checked");
        }
        heading
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(["NAME", "DIGEST", "PLATFORM", "LAYERS", "SIZE", "VERDICT"]);
        for image in &self.images {
            for name in image.shown_names() {
                table.add_row([
                    name,
                    image.digest.as_deref().map_or("-", short).to_owned(),
                    image.platform.clone().unwrap_or_else(|| "-".to_owned()),
                    image.layers.len().to_string(),
                    Bytes(image.size).to_string(),
                    image.verdict.to_string(),
                ]);
            }
        }
        table
    }
}

impl ImageReport {
    fn shown_names(&self) -> Vec<String> {
        if self.names.is_empty() {
            return vec!["-".to_owned()];
        }
        self.names.clone()
    }

    fn print_notes(&self) {
        let title = self.names.first().or(self.digest.as_ref());
        let title = title.map_or("-", String::as_str);
        if let Some(reason) = &self.reason {
            super::line(&format!("  {title}: {}: {reason}", self.verdict));
        }
        for warning in &self.warnings {
            super::line(&format!("  {title}: warning: {warning}"));
        }
    }
}

fn image(image: &Image) -> ImageReport {
    let content: Option<&Content> = image.outcome.as_ref().ok();
    let layers = content.map_or(&[][..], |content| &content.layers);
    let blobs = content.map_or(&[][..], |content| &content.blobs);
    ImageReport {
        names: image.names.iter().map(ToString::to_string).collect(),
        digest: image.target.as_ref().map(|t| t.digest.to_string()),
        verdict: image.verdict(),
        reason: image.reason(),
        media_type: image
            .target
            .as_ref()
            .map(|t| escaped(&t.media_type).to_string()),
        platforms: image.platforms.iter().map(ToString::to_string).collect(),
        platform: content.map(|content| content.platform.to_string()),
        config: content.map(|content| content.config.digest.to_string()),
        layers: layers.iter().map(layer).collect(),
        size: blobs.iter().map(|blob| blob.descriptor.size).sum(),
        warnings: image.warnings.iter().map(ToString::to_string).collect(),
    }
}

fn layer(layer: &airdock_bundle::image::Layer) -> LayerReport {
    LayerReport {
        digest: layer.descriptor.digest.to_string(),
        diff_id: layer.diff_id.to_string(),
        media_type: escaped(&layer.descriptor.media_type).to_string(),
        size: layer.descriptor.size,
    }
}

fn other(other: &Other) -> OtherReport {
    OtherReport {
        kind: other.kind.to_string(),
        media_type: escaped(&other.media_type).to_string(),
        digest: other.digest.to_string(),
        name: other.name.as_deref().map(|name| escaped(name).to_string()),
    }
}

/// Enough of a digest to tell images apart, algorithm included.
fn short(digest: &str) -> &str {
    digest.get(..19).unwrap_or(digest)
}
