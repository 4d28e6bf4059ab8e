//! What the daemon holds: all of it, or what a bundle needs to know.

use std::sync::atomic::{AtomicUsize, Ordering};

use airdock_bundle::digest::Digest;
use airdock_containerd::{ContentInfo, Record as ImageRecord};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::ContainerdStore;
use crate::store::StoreError;
use crate::store::extent::Extent;
use crate::store::labels;
use crate::store::view::{Record, Stored, View};

/// A question of its own costs about as much as so many lines of a list.
const LINES_A_QUESTION: usize = 25;

/// Questions under way at once.
const AT_ONCE: usize = 8;

/// How much the daemon held when all of it was looked at last.
#[derive(Debug, Default)]
pub(super) struct Size(AtomicUsize);

impl Size {
    /// Whether so many questions cost less than two lists of everything.
    fn is_worth(&self, questions: usize) -> bool {
        questions.saturating_mul(LINES_A_QUESTION) < self.0.load(Ordering::Relaxed)
    }
}

impl ContainerdStore {
    /// Two calls, whatever the number of images.
    pub async fn view(&self) -> Result<View, StoreError> {
        let _whole = self.discarding.read().await;
        let none: [&str; 0] = [];
        let records = self.client.images(&none).await?;
        let content = self.client.content_list().await?;
        let lines = records.len() + content.len();
        self.size.0.store(lines, Ordering::Relaxed);
        Ok(View {
            records: records.into_iter().filter_map(record).collect(),
            content: content.into_iter().filter_map(stored).collect(),
        })
    }

    /// At least what it has of the extent: bundles that come one after the other would each list
    /// what all before them have brought.
    pub async fn view_of(&self, extent: &Extent) -> Result<View, StoreError> {
        if !self.size.is_worth(extent.len()) {
            return self.view().await;
        }
        let _whole = self.discarding.read().await;
        let record = |name: String| async move { self.client.image(&name).await };
        let names = stream::iter(extent.names.clone()).map(record);
        let records: Vec<Option<ImageRecord>> =
            names.buffer_unordered(AT_ONCE).try_collect().await?;
        let info = |digest: Digest| async move { self.client.content_info(digest.as_str()).await };
        let blobs = stream::iter(extent.blobs.clone()).map(info);
        let content: Vec<Option<ContentInfo>> =
            blobs.buffer_unordered(AT_ONCE).try_collect().await?;
        Ok(View {
            records: records
                .into_iter()
                .flatten()
                .filter_map(self::record)
                .collect(),
            content: content.into_iter().flatten().filter_map(stored).collect(),
        })
    }
}

pub(super) fn record(image: ImageRecord) -> Option<(String, Record)> {
    let record = Record {
        target: image.target.digest.parse().ok()?,
        labels: image.labels,
    };
    Some((image.name, record))
}

pub(super) fn stored(info: ContentInfo) -> Option<(Digest, Stored)> {
    let is_ref = |key: &str| key.starts_with(labels::GC_REF_CONTENT);
    let refs = info
        .labels
        .iter()
        .filter(|(key, _)| is_ref(key))
        .filter_map(|(_, child)| child.parse().ok());
    let stored = Stored {
        size: info.size,
        refs: refs.collect(),
    };
    Some((info.digest.parse().ok()?, stored))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_of_unknown_or_small_size_is_listed() {
        let size = Size::default();
        assert!(!size.is_worth(1));
        size.0.store(8 * LINES_A_QUESTION + 1, Ordering::Relaxed);
        assert!(size.is_worth(8));
        assert!(!size.is_worth(9));
    }
}
