//! What `split` prints.

use serde::Serialize;

use super::human::{Bytes, count};
use super::shown;
use crate::pack::Part;

/// All parts, as JSON.
#[derive(Debug, Serialize)]
pub struct Report {
    /// In their order.
    pub parts: Vec<PartReport>,
}

/// A part, as JSON.
#[derive(Debug, Serialize)]
pub struct PartReport {
    /// Where it was written.
    pub path: String,
    /// Bytes of the file.
    pub size: u64,
    /// Of the file, where that was asked for.
    pub sha256: Option<String>,
    /// Images that it lists.
    pub images: usize,
    /// Layers that are in it.
    pub layers: usize,
    /// Layers that other parts have.
    pub left_out: usize,
}

impl Report {
    /// Of parts that were written.
    pub fn of(parts: &[Part]) -> Self {
        Self {
            parts: parts.iter().map(PartReport::of).collect(),
        }
    }

    /// Prints it for people, a line for each part.
    pub fn print(&self) {
        self.parts.iter().for_each(PartReport::print);
    }
}

impl PartReport {
    fn of(part: &Part) -> Self {
        Self {
            path: shown(&part.file.path),
            size: part.file.size,
            sha256: part.file.sha256.clone(),
            images: part.contents.listed().count(),
            layers: part.contents.layers().count(),
            left_out: part.contents.elsewhere().count(),
        }
    }

    fn print(&self) {
        super::line(&format!(
            "{}: {}, {}, {}; {} in other parts",
            self.path,
            count(self.images, "image"),
            count(self.layers, "layer"),
            Bytes(self.size),
            count(self.left_out, "layer"),
        ));
    }
}
