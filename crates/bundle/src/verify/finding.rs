//! What verifying found.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::hazard::Hazard;
use crate::archive::ArchiveError;
use crate::image::{ImageError, LayerFault};
use crate::platform::Platform;

/// Something wrong with what a bundle holds, or something that could not be found out.
#[derive(Clone, Debug)]
pub enum Finding {
    /// It was looked at, and is not what it should be.
    Failed(ImageError),
    /// It could not be looked at: nothing is known of it.
    Unchecked {
        platform: Option<Platform>,
        error: Arc<ArchiveError>,
    },
}

/// The kind of a [`Finding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Content has another digest than it should have.
    Differs,
    /// A layer unpacks to something else than the config says.
    DiffIdDiffers,
    /// Content ends too early.
    Cut,
    /// A layer can't be unpacked.
    Undecodable,
    /// Documents and blobs don't make an image, whatever their digests are.
    Unusable,
    /// It could not be looked at.
    Unchecked,
}

impl Finding {
    pub fn what(&self) -> What {
        match self {
            Self::Failed(error) => what(error),
            Self::Unchecked { .. } => What::Unchecked,
        }
    }

    /// That of the image concerned; `None` for what is no image.
    pub fn platform(&self) -> Option<&Platform> {
        match self {
            Self::Failed(ImageError::Platform { platform, .. }) => Some(platform),
            Self::Failed(_) => None,
            Self::Unchecked { platform, .. } => platform.as_ref(),
        }
    }

    /// Why an image with this finding is refused; `None` where that isn't known.
    pub(super) fn refusal(&self) -> Option<&ImageError> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Unchecked { .. } => None,
        }
    }

    /// That an image of `platform` has this fault.
    pub(super) fn failed(platform: Option<&Platform>, error: ImageError) -> Self {
        Self::Failed(match platform.cloned() {
            Some(platform) => ImageError::Platform {
                platform,
                source: Box::new(error),
            },
            None => error,
        })
    }
}

fn what(error: &ImageError) -> What {
    match error {
        ImageError::Platform { source, .. } => what(source),
        ImageError::Size {
            found, expected, ..
        } if found < expected => What::Cut,
        ImageError::Size { .. } | ImageError::Damaged { .. } => What::Differs,
        ImageError::Layer { fault, .. } => match fault {
            LayerFault::Cut { .. } => What::Cut,
            LayerFault::DiffId { .. } => What::DiffIdDiffers,
            LayerFault::Undecodable { .. } => What::Undecodable,
            _ => What::Unusable,
        },
        _ => What::Unusable,
    }
}

impl What {
    /// The word used in messages, tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Differs => "differs",
            Self::DiffIdDiffers => "diff-id-differs",
            Self::Cut => "cut",
            Self::Undecodable => "undecodable",
            Self::Unusable => "unusable",
            Self::Unchecked => "unchecked",
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::Unchecked { platform, error } => {
                write!(f, "{}{error}", Prefix(platform.as_ref()))
            }
        }
    }
}

/// Something to know of an image that stands in nobody's way.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Notice {
    #[error("{}{hazard}", Prefix(.platform.as_ref()))]
    Hazard {
        platform: Option<Platform>,
        hazard: Hazard,
    },
    /// Part of an image that the bundle need not hold whole: nobody can import it from here.
    #[error("{}{part}", Prefix(.platform.as_ref()))]
    Absent {
        platform: Option<Platform>,
        part: ImageError,
    },
}

impl Notice {
    pub(super) fn is_absence(&self) -> bool {
        matches!(self, Self::Absent { .. })
    }
}

struct Prefix<'a>(Option<&'a Platform>);

impl fmt::Display for Prefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(platform) => write!(f, "{platform}: "),
            None => Ok(()),
        }
    }
}
