//! The little world of names and images that sequences play with.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use airdock_testkit::fixture::{Bundle, Image, Layer, Target};

/// Names that bundles give; two of them differ by their tag alone.
pub(crate) const NAMES: [&str; 5] = [
    "docker.io/library/a:1",
    "docker.io/library/a:2",
    "docker.io/library/b:1",
    "example.com/c:1",
    "registry.example.com:5000/deep/d:1",
];

/// Says what is in an image.
pub(crate) type Seed = u64;

/// Which image each name of a bundle stands for.
pub(crate) type Contents = BTreeMap<&'static str, Seed>;

/// A layer that all images share, and one of its own: every third is large enough to be sent in
/// several messages.
pub(crate) fn image(seed: Seed) -> Image {
    let own = match seed % 3 {
        0 => Layer::noise(seed, 2_500_000),
        _ => Layer::file("text", seed.to_string().as_bytes()),
    };
    Image::new().layer(Layer::noise(0, 100_000)).layer(own)
}

pub(crate) fn bundle(contents: &Contents) -> Bundle {
    let with = |bundle: Bundle, (name, seed): (&&str, &Seed)| bundle.with(&[name], image(*seed));
    contents.iter().fold(Bundle::new(), with)
}

/// The digests of an image.
#[derive(Clone, Debug)]
pub(crate) struct Digests {
    pub(crate) manifest: String,
    pub(crate) config: String,
    /// Of the layer that no other image has.
    pub(crate) layer: String,
}

thread_local! {
    /// Hashing megabytes again at each look would be most of what a sequence does.
    static KNOWN: RefCell<HashMap<Seed, Digests>> = RefCell::default();
}

pub(crate) fn digests(seed: Seed) -> Digests {
    let of = || {
        let image = image(seed);
        Digests {
            config: image.config().digest().to_owned(),
            layer: image.layers()[1].digest().to_owned(),
            manifest: Target::from(image).digest(),
        }
    };
    KNOWN.with_borrow_mut(|known| known.entry(seed).or_insert_with(of).clone())
}
