//! Layers unpacked ahead of the first container, where that is asked for.
//!
//! Otherwise the runtime does it when the first pod starts, and the pod waits for it. An image is
//! imported without it: what goes wrong here is told, and nothing else.

use std::time::Instant;

use airdock_bundle::digest::{Algorithm, Digest};
use airdock_bundle::document::Descriptor;
use airdock_bundle::image::{Content, Layer};
use airdock_containerd::{Target, UnpackLayer};
use futures_util::StreamExt;
use futures_util::stream;

use super::context::Context;
use super::event::Event;
use super::offer::{Offer, OfferedImage};
use super::open::Opened;
use crate::store::{Store, StoreError};

/// Images that are unpacked at once: each keeps one processor of the daemon busy.
const AT_ONCE: usize = 2;

/// Unpacks those of a bundle's imported images that are meant to be, and aren't yet.
pub(super) async fn unpack(opened: &Opened, offer: &Offer, context: &Context) {
    let meant = offer.images.iter().filter(|it| context.unpack.has(it));
    let images: Vec<&OfferedImage> = meant.collect();
    stream::iter(images)
        .for_each_concurrent(AT_ONCE, |image| unpack_image(opened, image, context))
        .await;
}

async fn unpack_image(opened: &Opened, image: &OfferedImage, context: &Context) {
    let Some(content) = content(opened, image) else {
        return;
    };
    let started = Instant::now();
    let unpacking = try_unpack(&image.config, chain(content), &context.store);
    let Ok(result) = context.unless_cancelled(unpacking).await else {
        return;
    };
    let image = super::publish::names_of(image);
    let bundle = opened.path.clone();
    match result {
        Ok(false) => {}
        Ok(true) => context.report(&Event::Unpacked {
            image,
            bundle,
            elapsed: started.elapsed(),
        }),
        Err(error) => context.report(&Event::NotUnpacked {
            image,
            bundle,
            reason: error.to_string(),
        }),
    }
}

/// Whether anything was left to do.
async fn try_unpack(
    config: &Digest,
    layers: Vec<UnpackLayer>,
    store: &Store,
) -> Result<bool, StoreError> {
    match store {
        Store::Containerd(store) => store.unpack(config, layers).await,
        Store::Layout(_) => Ok(false),
    }
}

fn content<'a>(opened: &'a Opened, image: &OfferedImage) -> Option<&'a Content> {
    let contents = opened.bundle.images().iter();
    let same = contents.filter(|it| {
        let target = it.target.as_ref();
        target.is_some_and(|target| target.digest == image.target.digest)
    });
    same.filter_map(|it| it.outcome.as_ref().ok()).next()
}

/// The layers, lowest first, each with its chain id (OCI image spec, "Layer ChainID").
fn chain(content: &Content) -> Vec<UnpackLayer> {
    let mut below: Option<Digest> = None;
    let layers = content.layers.iter().map(|layer| {
        let chain_id = chain_id(below.as_ref(), &layer.diff_id);
        below = Some(chain_id.clone());
        unpack_layer(layer, &chain_id)
    });
    layers.collect()
}

fn chain_id(below: Option<&Digest>, diff_id: &Digest) -> Digest {
    match below {
        None => diff_id.clone(),
        Some(below) => Digest::of(Algorithm::Sha256, format!("{below} {diff_id}").as_bytes()),
    }
}

fn unpack_layer(layer: &Layer, chain_id: &Digest) -> UnpackLayer {
    UnpackLayer {
        blob: target(&layer.descriptor),
        diff_id: layer.diff_id.to_string(),
        chain_id: chain_id.to_string(),
    }
}

fn target(descriptor: &Descriptor) -> Target {
    Target {
        media_type: descriptor.media_type.clone(),
        digest: descriptor.digest.to_string(),
        size: descriptor.size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the specification's own definition: the second is the hash over both.
    #[test]
    fn a_chain_id_covers_all_layers_below() {
        let diff = |text: &str| Digest::of(Algorithm::Sha256, text.as_bytes());
        let (one, two) = (diff("1"), diff("2"));
        assert_eq!(chain_id(None, &one), one);
        let both = format!("{one} {two}");
        assert_eq!(chain_id(Some(&one), &two), diff(&both));
        assert_ne!(chain_id(Some(&two), &one), chain_id(Some(&one), &two));
    }
}
