//! Puts a bundle together, and writes it.
//!
//! [`sought`] is what is looked for, [`taking`] follows each image of it to its layers,
//! [`filling`] puts together what they make, and [`writing`] writes it.

mod filling;
mod sought;
mod taking;
mod writing;

use airdock_bundle::digest::Digest;
use airdock_bundle::write::{Contents, WriteError};
use tokio_util::sync::CancellationToken;

use super::error::PackError;
use super::file::{self, FileError, Written};
use super::origin::Origin;
use super::request::Request;
pub(super) use taking::Chosen;

pub use writing::Progress;
pub(super) use writing::write;

/// A bundle that was made.
#[derive(Debug)]
pub struct Packed {
    /// What is in it.
    pub contents: Contents,
    /// The file.
    pub file: Written,
    /// What was asked for and isn't in it.
    pub failed: Vec<Failed>,
}

/// An image that can't be packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Its name, or its digest where it has none.
    pub image: String,
    /// Why: a sentence without a full stop.
    pub reason: String,
}

/// Makes a bundle of what the origins have, asked in their order.
///
/// # Errors
/// Without `keep_going` the first image that can't be had; otherwise when none can, or the file
/// can't be written. Then nothing is left behind.
pub async fn pack(
    origins: &[Origin],
    request: &Request,
    cancel: &CancellationToken,
    progress: impl Fn(Progress) + Clone + Send + 'static,
) -> Result<Packed, PackError> {
    file::check(&request.output, request.replace)?;
    let mut making = Making::of(origins, request).await?;
    loop {
        if making.chosen.is_empty() {
            return Err(PackError::Nothing(making.failed));
        }
        let contents = making.contents()?;
        contents.check(request.compression)?;
        let blobs = making.blobs(&contents).await?;
        let written = write(contents, blobs, request, cancel, progress.clone()).await;
        match written {
            Ok((contents, file)) => {
                let failed = making.failed;
                return Ok(Packed {
                    contents,
                    file,
                    failed,
                });
            }
            Err(FileError::Bundle(error)) => making.give_up(error)?,
            Err(error) => return Err(error.into()),
        }
    }
}

pub(super) struct Making<'a> {
    pub(super) origins: &'a [Origin],
    pub(super) request: &'a Request,
    pub(super) chosen: Vec<Chosen>,
    pub(super) failed: Vec<Failed>,
}

impl<'a> Making<'a> {
    /// With all images chosen.
    pub(super) async fn of(origins: &'a [Origin], request: &'a Request) -> Result<Self, PackError> {
        let mut making = Self {
            origins,
            request,
            chosen: Vec::new(),
            failed: Vec::new(),
        };
        making.choose().await?;
        Ok(making)
    }

    async fn choose(&mut self) -> Result<(), PackError> {
        self.refuse()?;
        let sought = self.sought()?;
        for (title, taken) in self.take_all(sought).await {
            match taken {
                Ok(chosen) => self.chosen.push(chosen),
                Err(source) if self.request.keep_going => self.failed.push(Failed {
                    image: title,
                    reason: source.to_string(),
                }),
                Err(source) => {
                    let (image, source) = (title, Box::new(source));
                    return Err(PackError::Image { image, source });
                }
            }
        }
        Ok(())
    }

    fn fail(&mut self, failed: Failed) -> Result<(), PackError> {
        if !self.request.keep_going {
            return Err(PackError::Refused(failed));
        }
        self.failed.push(failed);
        Ok(())
    }

    /// Goes on without the images that need a blob which can't be had.
    fn give_up(&mut self, error: WriteError) -> Result<(), PackError> {
        let Some(digest) = error.blob().filter(|_| self.request.keep_going) else {
            let images = error.blob().map(|digest| self.needing(digest));
            let images = images.unwrap_or_default();
            return Err(PackError::Write { images, error });
        };
        let failed = self.chosen.iter().filter(|chosen| chosen.needs(digest));
        let failed = failed.map(|chosen| Failed {
            image: chosen.title.clone(),
            reason: error.to_string(),
        });
        self.failed.extend(failed);
        let before = self.chosen.len();
        self.chosen.retain(|chosen| !chosen.needs(digest));
        if self.chosen.len() == before {
            let images = Vec::new();
            return Err(PackError::Write { images, error });
        }
        Ok(())
    }

    fn needing(&self, digest: &Digest) -> Vec<String> {
        let chosen = self.chosen.iter();
        chosen
            .filter(|chosen| chosen.needs(digest))
            .map(|chosen| chosen.title.clone())
            .collect()
    }
}
