//! How much all layers of a bundle may unpack to.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::image::LayerFault;
use crate::limits;

/// Unpacked bytes that are left, shared by all who unpack.
#[derive(Debug)]
pub(super) struct Allowance {
    most: u64,
    taken: AtomicU64,
}

impl Allowance {
    /// For layers that take `stored` bytes together.
    pub(super) fn new(stored: u64) -> Self {
        let most = stored.saturating_mul(limits::UNPACKED_RATIO);
        Self::of(most.max(limits::UNPACKED_FLOOR))
    }

    pub(super) fn of(most: u64) -> Self {
        Self {
            most,
            taken: AtomicU64::new(0),
        }
    }

    /// Takes `count` bytes.
    pub(super) fn take(&self, count: usize) -> Result<(), LayerFault> {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let before = self.taken.fetch_add(count, Ordering::Relaxed);
        if before.saturating_add(count) <= self.most {
            return Ok(());
        }
        Err(LayerFault::Undecodable {
            detail: format!(
                "the layers of this bundle unpack to over {} bytes, which no honest ones of their size do",
                self.most
            ),
        })
    }

    /// Bytes taken so far.
    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed).min(self.most)
    }
}
