//! What is unpacked of an image: its layers, each on top of those below.

use airdock_bundle::digest::{Algorithm, Digest};
use airdock_bundle::document::Descriptor;
use airdock_bundle::image::{Content, Layer};
use airdock_containerd::{Target, UnpackLayer};

use crate::agent::offer::OfferedImage;
use crate::agent::open::Opened;
use crate::agent::publish::names_of;

/// An image that is to be unpacked.
#[derive(Debug)]
pub(super) struct Chain {
    /// Its names, as they are shown.
    pub(super) names: String,
    pub(super) target: Digest,
    pub(super) config: Digest,
    /// Lowest first.
    pub(super) links: Vec<Link>,
}

/// A layer in its place.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) blob: Digest,
    pub(super) layer: UnpackLayer,
}

impl Chain {
    /// `None` for an image without layers.
    pub(super) fn of(opened: &Opened, image: &OfferedImage) -> Option<Self> {
        let links = links(content(opened, image)?);
        (!links.is_empty()).then(|| Self {
            names: names_of(image),
            target: image.target.digest.clone(),
            config: image.config.clone(),
            links,
        })
    }

    pub(super) fn top(&self) -> Option<&UnpackLayer> {
        self.links.last().map(|link| &link.layer)
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
fn links(content: &Content) -> Vec<Link> {
    let mut below: Option<Digest> = None;
    let links = content.layers.iter().map(|layer| {
        let chain_id = chain_id(below.as_ref(), &layer.diff_id);
        below = Some(chain_id.clone());
        link(layer, &chain_id)
    });
    links.collect()
}

fn chain_id(below: Option<&Digest>, diff_id: &Digest) -> Digest {
    match below {
        None => diff_id.clone(),
        Some(below) => Digest::of(Algorithm::Sha256, format!("{below} {diff_id}").as_bytes()),
    }
}

fn link(layer: &Layer, chain_id: &Digest) -> Link {
    Link {
        blob: layer.descriptor.digest.clone(),
        layer: UnpackLayer {
            blob: target(&layer.descriptor),
            diff_id: layer.diff_id.to_string(),
            chain_id: chain_id.to_string(),
        },
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
