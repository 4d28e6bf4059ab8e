//! What happens, chosen by dice, and how often each did.

use std::fmt;
use std::time::Duration;

use airdock_testkit::fixture::{Bundle, Image, Layer, blob_path};

use super::dice::Dice;
use super::room::Room;

/// Paths that bundles have: so many at most stand in the directory.
const PATHS: u64 = 16;
/// Images that bundles are made of: few, so that they share them and have them again.
const IMAGES: u64 = 24;
/// Bytes of a large layer: sent in several messages.
const LARGE: usize = 3_000_000;
/// The longest pause between two things that happen, in milliseconds.
const PAUSE: u64 = 300;

/// How a bundle comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A tar.
    Archive,
    /// A tar in gzip.
    Packed,
    /// A layout directory.
    Layout,
}

impl Form {
    /// The same for a path at any time.
    fn of(path: u64) -> Self {
        match path % 4 {
            0 => Self::Layout,
            1 => Self::Packed,
            _ => Self::Archive,
        }
    }
}

/// What happened so far.
#[derive(Debug)]
pub(super) struct Churn {
    dice: Dice,
    /// Where images start that were never there.
    fresh: u64,
    put: u64,
    damaged: u64,
    removed: u64,
    deleted: u64,
}

impl Churn {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            dice: Dice::new(seed),
            fresh: 1000,
            put: 0,
            damaged: 0,
            removed: 0,
            deleted: 0,
        }
    }

    /// One thing happens.
    pub(super) fn act(&mut self, room: &Room) -> anyhow::Result<()> {
        let path = self.dice.below(PATHS);
        match self.dice.below(100) {
            0..50 => self.put(room, path),
            50..65 => self.damage(room, path),
            65..95 => {
                self.removed += u64::from(room.remove(path)?);
                Ok(())
            }
            _ => {
                let image = self.dice.below(IMAGES);
                self.deleted += u64::from(room.delete(&name(image))?);
                Ok(())
            }
        }
    }

    pub(super) fn pause(&mut self) -> Duration {
        Duration::from_millis(self.dice.below(PAUSE))
    }

    fn put(&mut self, room: &Room, path: u64) -> anyhow::Result<()> {
        self.put += 1;
        let mut bundle = Bundle::new();
        for _ in 0..=self.dice.below(3) {
            let seed = self.dice.below(IMAGES);
            bundle = bundle.with(&[&name(seed)], image(seed));
        }
        room.put(path, Form::of(path), &bundle.oci(), None)
    }

    /// A byte that is another shows only where it is sent: the image is one that was never there.
    fn damage(&mut self, room: &Room, path: u64) -> anyhow::Result<()> {
        self.damaged += 1;
        self.fresh += 1;
        let (seed, image) = (self.dice.below(IMAGES), image(self.fresh));
        let layer = image.layers().last().map(|layer| layer.digest().to_owned());
        let layer = blob_path(&layer.unwrap_or_default());
        let tree = Bundle::new().with(&[&name(seed)], image).oci();
        let form = Form::of(path);
        match self.dice.below(3) {
            0 if form != Form::Layout => room.put(path, form, &tree, Some(self.dice.below(100))),
            1 => room.put(path, form, &tree.without(&layer), None),
            _ => room.put(path, form, &tree.flipped(&layer, 700), None),
        }
    }
}

fn name(seed: u64) -> String {
    format!("docker.io/library/soak-{}:1", seed % 12)
}

/// One layer that all have, and one of its own.
fn image(seed: u64) -> Image {
    let own = match seed % 3 {
        0 => Layer::noise(seed, LARGE),
        _ => Layer::noise(seed, 20_000),
    };
    Image::new().layer(Layer::noise(0, 100_000)).layer(own)
}

impl fmt::Display for Churn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bundles put, {} damaged ones, {} removed, {} names deleted by others",
            self.put, self.damaged, self.removed, self.deleted
        )
    }
}
