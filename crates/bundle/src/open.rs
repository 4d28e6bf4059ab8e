//! Tells which format an archive has, and finds its images.

mod agreement;
mod error;
mod mistake;

use crate::archive::{Archive, EntryId};
use crate::claims;
use crate::docker;
use crate::layout;
use crate::left_out::{self, LeftOut};
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
        let mut left_out = LeftOut::default();
        let (format, images, mut others) = match Kind::of(&archive)? {
            Kind::Layout {
                marker,
                index,
                list,
            } => {
                left_out = left_out::read(&archive, index);
                let files = (marker, index);
                let (images, others) = layout::read(&archive, platform, files, &left_out)?;
                if let Some(list) = list {
                    agreement::check(&archive, list, &images)?;
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
            left_out,
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
