//! What a delta leaves to other bundles, as `inspect` and `verify` show it.

use airdock_bundle::Bundle;
use airdock_bundle::escape::escaped;
use serde::Serialize;

use super::human::{Bytes, count};

/// What a delta leaves to other bundles, as JSON.
#[derive(Debug, Serialize)]
pub struct LeftOutReport {
    /// Ids of the bundles that have it.
    pub bases: Vec<String>,
    /// Digests of the layers that this platform's images need.
    pub layers: Vec<String>,
    /// Their bytes.
    pub size: u64,
}

impl LeftOutReport {
    /// Of a bundle; `None` for one that is whole.
    pub fn of(bundle: &Bundle) -> Option<Self> {
        let lacks = bundle.lacks();
        let bases = bundle.left_out().bases.iter();
        (!lacks.is_empty()).then(|| Self {
            bases: bases.map(|it| escaped(it).to_string()).collect(),
            layers: lacks.keys().map(ToString::to_string).collect(),
            size: lacks.values().map(|descriptor| descriptor.size).sum(),
        })
    }

    /// For people.
    pub fn line(&self) -> String {
        let layers = count(self.layers.len(), "layer");
        let are = if self.layers.len() == 1 { "is" } else { "are" };
        let size = Bytes(self.size);
        let bases = self.bases.join(", ");
        format!("  a delta: {layers} with {size} {are} left to {bases}")
    }
}
