//! Whose failure it is: one image's, which leaves the others alone, or the whole bundle's.

use std::sync::Arc;

use crate::archive::ArchiveError;
use crate::image::ImageError;
use crate::open::OpenError;
use crate::verdict::Verdict;

/// A failure on the way from a target to its content.
#[derive(Debug)]
pub(crate) enum Fault {
    Image(ImageError),
    Bundle(OpenError),
}

impl Fault {
    /// The image's own failure as its outcome; the bundle's as an error.
    pub(crate) fn settle<T>(result: Result<T, Self>) -> Result<Result<T, ImageError>, OpenError> {
        match result {
            Ok(value) => Ok(Ok(value)),
            Err(Self::Image(error)) => Ok(Err(error)),
            Err(Self::Bundle(error)) => Err(error),
        }
    }
}

impl From<ImageError> for Fault {
    fn from(error: ImageError) -> Self {
        Self::Image(error)
    }
}

impl From<OpenError> for Fault {
    fn from(error: OpenError) -> Self {
        Self::Bundle(error)
    }
}

/// An entry that is refused harms the image that needs it. A bundle that is cut, or that can't
/// be read, has nothing to say about any image.
impl From<ArchiveError> for Fault {
    fn from(error: ArchiveError) -> Self {
        match error.verdict() {
            Some(Verdict::Refused) => Self::Image(ImageError::Archive(Arc::new(error))),
            _ => Self::Bundle(error.into()),
        }
    }
}
