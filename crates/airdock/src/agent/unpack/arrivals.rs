//! How far an import has come, for who waits for what it brings.

use std::collections::HashSet;
use std::future;

use airdock_bundle::digest::Digest;
use tokio::sync::watch;

use crate::agent::offer::Offer;

/// Told of what is in the store. Whoever drops it without [`Arrivals::imported`] has failed.
#[derive(Debug)]
pub(in crate::agent) struct Arrivals(watch::Sender<Arrived>);

/// Waits for it.
#[derive(Clone, Debug)]
pub(super) struct Awaited(watch::Receiver<Arrived>);

#[derive(Debug, Default)]
struct Arrived {
    blobs: HashSet<Digest>,
    /// The targets of images that have their names.
    images: Option<HashSet<Digest>>,
}

impl Arrivals {
    pub(super) fn awaited() -> (Self, Awaited) {
        let (told, awaited) = watch::channel(Arrived::default());
        (Self(told), Awaited(awaited))
    }

    /// These blobs are in the store, and stay there while the import goes on.
    pub(in crate::agent) fn there<'a>(&self, blobs: impl IntoIterator<Item = &'a Digest>) {
        let blobs = blobs.into_iter().cloned();
        self.0.send_modify(|arrived| arrived.blobs.extend(blobs));
    }

    /// The import has ended well: this is what names hold now.
    pub(in crate::agent) fn imported(self, offer: &Offer) {
        let targets = offer.images.iter().map(|image| image.target.digest.clone());
        let images = Some(targets.collect());
        self.0.send_modify(|arrived| arrived.images = images);
    }
}

impl Awaited {
    /// Whether a blob has come; `false` when none comes any more.
    pub(super) async fn blob(&self, digest: &Digest) -> bool {
        let come = |arrived: &Arrived| arrived.blobs.contains(digest);
        self.0.clone().wait_for(come).await.is_ok()
    }

    /// Whether the import has ended well, when it has ended.
    pub(super) async fn end(&self) -> bool {
        let mut awaited = self.0.clone();
        let ended = awaited.wait_for(|arrived| arrived.images.is_some());
        ended.await.is_ok()
    }

    /// Whether an image is imported, when the import has ended.
    pub(super) async fn image(&self, target: &Digest) -> bool {
        let mut awaited = self.0.clone();
        let ended = awaited.wait_for(|arrived| arrived.images.is_some()).await;
        let has = |images: &HashSet<Digest>| images.contains(target);
        ended.is_ok_and(|arrived| arrived.images.as_ref().is_some_and(has))
    }

    /// Returns when the import has failed, and never otherwise.
    pub(super) async fn failed(&self) {
        if self.end().await {
            future::pending().await
        }
    }
}
