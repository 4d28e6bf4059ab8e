//! What the daemon holds: all of it, or what a bundle needs to know.

use std::sync::atomic::{AtomicUsize, Ordering};

use airdock_bundle::digest::Digest;
use airdock_containerd::{ContentInfo, Listing, Record as ImageRecord};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::ContainerdStore;
use crate::store::StoreError;
use crate::store::extent::Extent;
use crate::store::labels;
use crate::store::view::{Record, Revision, Seen, Stored, View};

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
        let (records, content) = self.listings().await?;
        view(records, content)
    }

    /// The same two calls; what they give is decoded only where it isn't what is known.
    pub async fn look(&self, known: Option<Revision>) -> Result<Seen, StoreError> {
        let (records, content) = self.listings().await?;
        let revision = Some(Revision([
            records.sum(&self.sum_key),
            content.sum(&self.sum_key),
        ]));
        if known == revision {
            return Ok(Seen::Same);
        }
        let view = view(records, content)?;
        Ok(Seen::Other { view, revision })
    }

    async fn listings(&self) -> Result<(Listing<ImageRecord>, Listing<ContentInfo>), StoreError> {
        let _whole = self.discarding.read().await;
        let records = self.client.image_listing(&[]).await?;
        let content = self.client.content_listing().await?;
        let lines = records.len() + content.len();
        self.size.0.store(lines, Ordering::Relaxed);
        Ok((records, content))
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

/// What can't be read as a name or a blob of ours is none.
fn view(records: Listing<ImageRecord>, content: Listing<ContentInfo>) -> Result<View, StoreError> {
    let mut view = View::default();
    for image in records.decoded() {
        view.records.extend(record(image?));
    }
    for info in content.decoded() {
        view.content.extend(stored(info?));
    }
    Ok(view)
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
