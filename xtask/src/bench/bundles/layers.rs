//! Layers as they stand in an archive, with what documents say of them.

use airdock_testkit::fixture::{Descriptor, Layer, Tree};

/// What a layer is filled with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// Bytes that don't compress, stored as gzip.
    Gzip,
    /// Bytes that don't compress, as they are.
    Noise,
}

/// A layer of an image.
#[derive(Debug)]
pub(super) struct Written {
    /// What the manifest says of it.
    pub descriptor: Descriptor,
    /// What the config says of it.
    pub diff_id: String,
    /// Header, content and padding.
    pub tar: Vec<u8>,
}

/// Some layers.
#[derive(Debug)]
pub(super) struct Layers(Vec<Written>);

impl Layers {
    /// One for each seed.
    pub(super) fn make(
        seeds: impl IntoIterator<Item = u64>,
        size: usize,
        content: Content,
    ) -> Self {
        let layers = seeds.into_iter().map(|seed| layer(seed, size, content));
        Self(layers.map(|layer| Written::of(&layer)).collect())
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Written] {
        &self.0
    }

    /// `count` for an image of this number.
    pub(super) fn of_image(&self, image: usize, count: usize) -> &[Written] {
        self.0.chunks(count).nth(image).unwrap_or_default()
    }
}

impl Written {
    fn of(layer: &Layer) -> Self {
        let blob = layer.blob();
        Self {
            descriptor: blob.descriptor.clone(),
            diff_id: layer.diff_id(),
            tar: Tree::new()
                .file(&blob.path(), &blob.content)
                .tar_without_end(),
        }
    }
}

fn layer(seed: u64, size: usize, content: Content) -> Layer {
    match content {
        Content::Gzip => Layer::noise(seed, size).gzip(),
        Content::Noise => Layer::noise(seed, size),
    }
}
