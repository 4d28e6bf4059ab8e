//! Tells which format an archive has, and finds its images.

mod error;
mod mistake;

use crate::archive::{Archive, ArchiveError, EntryId};
use crate::claims;
use crate::digest::{Algorithm, Digest};
use crate::docker::{self, Listed};
use crate::image::{Image, Role};
use crate::layout;
use crate::limits;
use crate::name::Name;
use crate::naming::Names;
use crate::platform::Matcher;

pub use crate::bundle::{Bundle, Format};
pub use error::OpenError;
pub use mistake::Mistake;

impl Bundle {
    /// Finds the images in `archive` that a node of this platform can run, and why it can't run
    /// the others. Reads documents, and of docker-archives the compressed layers, whose digests
    /// nothing else tells.
    ///
    /// # Errors
    /// What concerns the bundle as a whole: no known format, a bad list of images, limits, and
    /// everything that keeps the archive from being read.
    pub fn open(archive: Archive, platform: &Matcher) -> Result<Self, OpenError> {
        let (format, images, mut others) = match Kind::of(&archive)? {
            Kind::Layout {
                marker,
                index,
                list,
            } => {
                let (images, others) = layout::read(&archive, platform, marker, index)?;
                if let Some(list) = list {
                    check_agreement(&archive, list, &images)?;
                }
                (Format::OciLayout, images, others)
            }
            Kind::Docker { list } => {
                let images = docker::read(&archive, platform, list)?;
                (Format::DockerArchive, images, Vec::new())
            }
        };
        let images = claims::settle(images, &mut others);
        Ok(Self {
            archive,
            format,
            images,
            others,
        })
    }
}

/// A format, with the files that show it.
enum Kind {
    Layout {
        marker: EntryId,
        index: EntryId,
        /// Docker 25 and later write both lists.
        list: Option<EntryId>,
    },
    Docker {
        list: EntryId,
    },
}

impl Kind {
    fn of(archive: &Archive) -> Result<Self, OpenError> {
        let marker = archive.find(layout::MARKER)?;
        let index = archive.find(layout::INDEX)?;
        let list = archive.find(docker::LIST)?;
        match (marker, index, list) {
            (Some(marker), Some(index), list) => Ok(Self::Layout {
                marker,
                index,
                list,
            }),
            (Some(_), None, _) => Err(OpenError::NoIndex),
            (None, Some(_), _) => Err(OpenError::NoMarker),
            (None, None, Some(list)) if mistake::is_skopeo_dir(archive, list)? => {
                Err(Mistake::SkopeoDir.into())
            }
            (None, None, Some(list)) => Ok(Self::Docker { list }),
            (None, None, None) => Err(mistake::explain(archive)?),
        }
    }
}

/// With both lists in one archive, the layout's is used. A name that the other one gives to
/// something else would depend on which of them a tool reads.
///
/// The layout may name more: containerd's exporter leaves names out of `manifest.json` that it
/// gives to an index and to the manifest in it.
fn check_agreement(archive: &Archive, list: EntryId, images: &[Image]) -> Result<(), OpenError> {
    for listed in docker::read_list(archive, list)? {
        let names = Names::sort_out(listed.names.iter().map(String::as_str), None);
        for name in names.usable {
            let agreed = match images.iter().find(|image| has_name(image, &name)) {
                Some(image) => is_same_image(archive, &listed, image)?,
                None => false,
            };
            if !agreed {
                return Err(OpenError::Disagree { name });
            }
        }
    }
    Ok(())
}

fn has_name(image: &Image, name: &Name) -> bool {
    let by_digest = image.target.as_ref().is_some_and(|target| {
        let digest = name.digest();
        name.tag().is_none() && digest == Some(&target.digest)
    });
    by_digest || image.names.contains(name)
}

/// Whether both lists mean the same config. Of an index, either may mean another platform.
fn is_same_image(archive: &Archive, listed: &Listed, image: &Image) -> Result<bool, ArchiveError> {
    let Ok(content) = &image.outcome else {
        return Ok(true);
    };
    let is_index = content.blobs.iter().any(|blob| blob.role == Role::Index);
    let Some(entry) = archive.find(&listed.config)?.filter(|_| !is_index) else {
        return Ok(true);
    };
    let bytes = archive.read(entry, limits::CONFIG)?;
    Ok(Digest::of(Algorithm::Sha256, &bytes) == content.config.digest)
}

#[cfg(test)]
mod tests;
