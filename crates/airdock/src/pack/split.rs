//! Cuts a bundle into parts that fit on a medium, each a bundle of its own.
//!
//! Images are put into parts in the order of their names. A layer is in one part only; the others
//! that list its image are deltas of that part. An image that fits into no part is listed in each
//! that holds some of its layers.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use airdock_bundle::digest::Digest;
use airdock_bundle::write::{Compression, Contents};
use tokio_util::sync::CancellationToken;

use super::error::PackError;
use super::file::{self, FileError, Written};
use super::making::{Making, Progress, write};
use super::origin::Origin;
use super::request::Request;

/// What the names of other parts may take in an index, beside what is computed.
const SLACK: u64 = 16 * 1024;

/// A part that was written.
#[derive(Debug)]
pub struct Part {
    /// What is in it.
    pub contents: Contents,
    /// The file.
    pub file: Written,
}

/// Writes the parts as `PREFIX-1.tar` and so on. `request.output` is the prefix.
///
/// # Errors
/// As packing; then no part is left behind.
pub async fn split(
    origins: &[Origin],
    request: &Request,
    max: u64,
    cancel: &CancellationToken,
    progress: impl Fn(Progress) + Clone + Send + 'static,
) -> Result<Vec<Part>, PackError> {
    let mut making = Making::of(origins, request).await?;
    making.chosen.sort_by(|a, b| a.title.cmp(&b.title));
    let plan = Plan::of(&making, max)?;
    let paths: Vec<PathBuf> = (1..=plan.parts.len()).map(|n| path(request, n)).collect();
    for path in &paths {
        file::check(path, request.replace)?;
    }
    refuse_left(path(request, paths.len() + 1))?;
    let mut written = Vec::new();
    for (at, path) in paths.iter().enumerate() {
        let contents = plan.contents(&making, at, &paths)?;
        let blobs = making.blobs(&contents).await?;
        let request = Request {
            output: path.clone(),
            ..request.clone()
        };
        match write(contents, blobs, &request, cancel, progress.clone()).await {
            Ok((contents, file)) => written.push(Part { contents, file }),
            Err(error) => {
                remove(&written);
                return Err(named(error));
            }
        }
    }
    Ok(written)
}

fn named(error: FileError) -> PackError {
    match error {
        FileError::Bundle(error) => error.into(),
        error => error.into(),
    }
}

/// Whoever copies all parts would bring one of an earlier split along, with images as they were.
fn refuse_left(next: PathBuf) -> Result<(), PackError> {
    match next.symlink_metadata() {
        Ok(_) => Err(PackError::PartLeft(next)),
        Err(_) => Ok(()),
    }
}

/// Half of the parts are of no use. One that can't be removed is a whole bundle at least.
fn remove(written: &[Part]) {
    for part in written {
        drop(std::fs::remove_file(&part.file.path));
    }
}

fn path(request: &Request, number: usize) -> PathBuf {
    let ending = match request.compression {
        Compression::None => "tar",
        Compression::Zstd => "tar.zst",
    };
    let mut path = OsString::from(&request.output);
    path.push(format!("-{number}.{ending}"));
    path.into()
}

/// Which images and layers are in which part.
struct Plan {
    max: u64,
    parts: Vec<Planned>,
    /// Where each layer is.
    placed: BTreeMap<Digest, usize>,
}

#[derive(Clone, Default)]
struct Planned {
    /// Positions of the images.
    images: BTreeSet<usize>,
    layers: BTreeSet<Digest>,
}

impl Plan {
    fn of(making: &Making<'_>, max: u64) -> Result<Self, PackError> {
        let mut plan = Self {
            max,
            parts: Vec::new(),
            placed: BTreeMap::new(),
        };
        for image in 0..making.chosen.len() {
            plan.place(making, image)?;
        }
        Ok(plan)
    }

    fn place(&mut self, making: &Making<'_>, image: usize) -> Result<(), PackError> {
        let Some(chosen) = making.chosen.get(image) else {
            return Ok(());
        };
        let layers = chosen.selected.layers.keys();
        let new: BTreeSet<Digest> = layers
            .filter(|layer| !self.placed.contains_key(*layer))
            .cloned()
            .collect();
        if self.add(making, image, &new)? {
            return Ok(());
        }
        for layer in new {
            let one = BTreeSet::from([layer.clone()]);
            if !self.add(making, image, &one)? {
                return Err(PackError::PartTooSmall {
                    image: chosen.title.clone(),
                    digest: layer,
                });
            }
        }
        Ok(())
    }

    /// Puts layers of an image into the last part, or into a new one; false where they fit into
    /// neither.
    fn add(
        &mut self,
        making: &Making<'_>,
        image: usize,
        layers: &BTreeSet<Digest>,
    ) -> Result<bool, PackError> {
        let last = self.parts.last().cloned();
        for (is_new, mut part) in [(false, last), (true, Some(Planned::default()))]
            .into_iter()
            .filter_map(|(is_new, part)| Some((is_new, part?)))
        {
            part.images.insert(image);
            part.layers.extend(layers.iter().cloned());
            if part.contents(making, |_| None)?.archive_size() + SLACK > self.max {
                continue;
            }
            if !is_new {
                self.parts.pop();
            }
            self.parts.push(part);
            let at = self.parts.len() - 1;
            let placed = layers.iter().map(|layer| (layer.clone(), at));
            self.placed.extend(placed);
            return Ok(true);
        }
        Ok(false)
    }

    fn contents(
        &self,
        making: &Making<'_>,
        at: usize,
        paths: &[PathBuf],
    ) -> Result<Contents, PackError> {
        let name = |layer: &Digest| {
            let path = paths.get(*self.placed.get(layer)?)?;
            let name = Path::new(path.file_name()?).to_string_lossy();
            // It stands in a list with spaces between.
            Some(name.replace(char::is_whitespace, "_"))
        };
        match self.parts.get(at) {
            Some(part) => part.contents(making, name),
            None => Ok(Contents::default()),
        }
    }
}

impl Planned {
    /// The part; `holder` names the part that holds a layer which this one doesn't.
    fn contents(
        &self,
        making: &Making<'_>,
        holder: impl Fn(&Digest) -> Option<String>,
    ) -> Result<Contents, PackError> {
        let images = self.images.iter().filter_map(|at| making.chosen.get(*at));
        let mut contents = making.contents_of(images)?;
        let others: BTreeMap<Digest, String> = contents
            .layers()
            .filter(|(layer, _)| !self.layers.contains(*layer))
            .map(|(layer, _)| (layer.clone(), holder(layer).unwrap_or_default()))
            .collect();
        let names: BTreeSet<&String> = others.values().collect();
        for name in names {
            contents.leave_out(name, |layer| others.get(layer) == Some(name));
        }
        Ok(contents)
    }
}
