//! Cuts a bundle into parts that fit on a medium, each a bundle of its own.
//!
//! Images are put into parts in the order of their names. A layer is in one part only; the others
//! that list its image are deltas of that part. An image that fits into no part is listed in each
//! that holds some of its layers.

mod plan;

use std::ffi::OsString;
use std::path::PathBuf;

use airdock_bundle::write::{Compression, Contents};
use tokio_util::sync::CancellationToken;

use super::error::PackError;
use super::file::{self, FileError, Written};
use super::making::{Making, Progress, write};
use super::origin::Origin;
use super::request::Request;
use plan::Plan;

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
    for at in 0..paths.len() {
        let contents = plan.contents(&making, at, &paths)?;
        contents.check(request.compression)?;
    }
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
