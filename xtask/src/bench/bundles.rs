//! The bundles that are brought: made once, the same bytes every time, and kept.

mod hollow;
mod layers;
mod writer;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{self, say};
use hollow::Zeros;
use layers::{Content, Layers};
use writer::Writer;

/// Part of the folder's name: another number makes all bundles anew.
const FORMAT: u32 = 2;

/// A bundle of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// 10 images of 4 gzip layers of 8.6 MB.
    A,
    /// 2 images of 3 plain layers of 150 MB.
    A2,
    /// 60 images of 6 gzip layers of 0.2 MB.
    B,
    /// A with one other layer in the first image.
    Changed,
    /// A, compressed by zstd.
    Zstd,
    /// A, compressed by gzip.
    Gzip,
    /// One image of 40 gzip layers of 8.6 MB.
    One,
    /// 80 images of a layer of 256 MB: 20 GB.
    Huge,
}

/// A bundle on disk.
#[derive(Clone, Debug)]
pub(super) struct Made {
    /// The archive.
    pub path: PathBuf,
    /// Digest, offset and size of each blob in it, children before parents.
    pub blobs: PathBuf,
}

/// What an archive is made of.
#[derive(Clone, Copy, Debug)]
struct Shape {
    images: u64,
    layers: u64,
    size: usize,
    /// `None`: next to nothing.
    content: Option<Content>,
    /// The first layer has other bytes.
    changed: bool,
}

impl Name {
    fn file(self) -> &'static str {
        match self {
            Self::A => "a.tar",
            Self::A2 => "a2.tar",
            Self::B => "b.tar",
            Self::Changed => "changed.tar",
            Self::Zstd => "a.tar.zst",
            Self::Gzip => "a.tar.gz",
            Self::One => "one.tar",
            Self::Huge => "huge.tar",
        }
    }

    /// What ctr must be fed through.
    pub(super) fn decompressor(self) -> Option<&'static str> {
        match self {
            Self::Zstd => Some("zstd"),
            Self::Gzip => Some("gzip"),
            _ => None,
        }
    }

    fn shape(self) -> Shape {
        let shape = |images, layers, size, content| Shape {
            images,
            layers,
            size,
            content,
            changed: false,
        };
        match self {
            Self::A | Self::Zstd | Self::Gzip => shape(10, 4, 8_600_000, Some(Content::Gzip)),
            Self::Changed => Shape {
                changed: true,
                ..Self::A.shape()
            },
            Self::A2 => shape(2, 3, 150_000_000, Some(Content::Noise)),
            Self::B => shape(60, 6, 200_000, Some(Content::Gzip)),
            Self::One => shape(1, 40, 8_600_000, Some(Content::Gzip)),
            Self::Huge => shape(80, 1, 256_000_000, None),
        }
    }
}

/// The folder of bundles.
#[derive(Debug)]
pub(super) struct Bundles {
    folder: PathBuf,
}

impl Bundles {
    /// In a folder of its own below `parent`.
    pub(super) fn below(parent: &Path) -> io::Result<Self> {
        let folder = parent.join(format!("bundles-{FORMAT}"));
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// Where they are: a place for what is only needed for a while, too, on the same disk.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A bundle, made if it isn't there.
    pub(super) fn get(&self, name: Name) -> anyhow::Result<Made> {
        let made = self.at(name.file());
        if made.path.exists() {
            return Ok(made);
        }
        say(&format!("making {}", made.path.display()));
        match name.decompressor() {
            Some(program) => {
                let plain = self.get(Name::A)?.path;
                let mut compress = Command::new(program);
                compress.arg("-c").arg(plain);
                finished(&made.path, |to| {
                    shell::run(compress.stdout(to.try_clone()?))
                })?;
            }
            None => write(&made, name.shape())?,
        }
        Ok(made)
    }

    /// Bundles of the size of A that hold the same layers and images of their own; their bytes
    /// take no room on the disk.
    pub(super) fn many(&self, count: u64) -> anyhow::Result<PathBuf> {
        let folder = self.folder.join(format!("many-{count}"));
        if folder.exists() {
            return Ok(folder);
        }
        let making = self.folder.join("making");
        fs::create_dir_all(&making)?;
        let zeros = Zeros::hash(8_601_600);
        let layers: Vec<_> = (0..40).map(|n| zeros.ending_with(n)).collect();
        for number in 0..count {
            let path = making.join(format!("{number:03}.tar"));
            let mut writer = Writer::new(File::create(path)?);
            for (image, layers) in layers.chunks(4).enumerate() {
                let name = format!("bench.test/many-{number}/image-{image}:1");
                writer.hollow_image(&name, layers)?;
            }
            writer.finish()?;
        }
        fs::rename(&making, &folder)?;
        Ok(folder)
    }

    fn at(&self, file: &str) -> Made {
        let path = self.folder.join(file);
        Made {
            blobs: path.with_added_extension("blobs"),
            path,
        }
    }
}

impl Made {
    /// Reads it once, so that every run finds it in the page cache.
    pub(super) fn warm(&self) -> io::Result<u64> {
        io::copy(&mut File::open(&self.path)?, &mut io::sink())
    }
}

/// A small bundle with one image of this name, and a layer that no other name has.
pub(super) fn small(path: &Path, name: &str) -> anyhow::Result<()> {
    let seed = name.bytes().fold(7, |sum: u64, byte| {
        sum.wrapping_mul(1_000_003).wrapping_add(byte.into())
    });
    let layers = Layers::make([seed], 4000, Content::Noise);
    let mut writer = Writer::new(File::create(path)?);
    writer.image(name, layers.of_image(0, 1))?;
    writer.finish().map(drop)
}

fn write(made: &Made, shape: Shape) -> anyhow::Result<()> {
    let mut blobs = String::new();
    finished(&made.path, |to| {
        let mut writer = Writer::new(to.try_clone()?);
        let mut zeros = None;
        for image in 0..shape.images {
            let first = image * shape.layers;
            let mut seeds: Vec<u64> = (first..first + shape.layers).collect();
            if shape.changed && image == 0 {
                // Seeds of no other layer of any bundle.
                seeds.iter_mut().take(1).for_each(|seed| *seed = u64::MAX);
            }
            let name = format!("bench.test/image-{image}:1");
            match shape.content {
                Some(filling) => {
                    let layers = Layers::make(seeds, shape.size, filling);
                    writer.image(&name, layers.all())?;
                }
                None => {
                    let zeros = zeros.get_or_insert_with(|| Zeros::hash(shape.size));
                    let layers = seeds.into_iter().map(|seed| zeros.ending_with(seed));
                    writer.hollow_image(&name, &layers.collect::<Vec<_>>())?;
                }
            }
        }
        blobs = writer.finish()?;
        Ok(())
    })?;
    Ok(fs::write(&made.blobs, blobs)?)
}

/// A file that is there only when it is whole.
fn finished(path: &Path, write: impl FnOnce(&File) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let making = path.with_added_extension("making");
    write(&File::create(&making)?)?;
    Ok(fs::rename(&making, path)?)
}
