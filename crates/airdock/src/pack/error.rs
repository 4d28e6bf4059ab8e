//! Why no bundle was made.

use std::io;
use std::path::PathBuf;

use airdock_bundle::digest::Digest;
use airdock_bundle::write::{Excess, WriteError};

use super::base::BaseError;
use super::file::FileError;
use super::making::Failed;
use super::node::NodeError;
use super::origin::OriginError;
use super::origin::registry::NotPulled;
use super::select::SelectError;
use crate::exit::Exit;
use crate::output::shown;
use crate::pull::{Fault, PullError};
use crate::reader::ReadError;

/// Why no bundle was made.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// An image can't be taken.
    #[error("{image}: {source}")]
    Image {
        /// Its name.
        image: String,
        /// The cause.
        #[source]
        source: Box<SelectError>,
    },
    /// A source lists something that can't be packed.
    #[error("{}: {}", .0.image, .0.reason)]
    Refused(Failed),
    /// A layer is larger than the parts may be.
    #[error("{image}: its layer {digest} doesn't fit into a part of this size")]
    PartTooSmall {
        /// The image that has it.
        image: String,
        /// The layer.
        digest: Digest,
    },
    /// What is known of an image is larger than the parts may be.
    #[error("{image}: its manifests and configs alone don't fit into a part of this size")]
    NoPart {
        /// Its name.
        image: String,
    },
    /// A file has the name of the part after the last.
    #[error("{} is left of an earlier split, which had more parts; remove it", shown(.0))]
    PartLeft(PathBuf),
    /// An origin failed.
    #[error(transparent)]
    Origin(#[from] OriginError),
    /// A base can't be used.
    #[error(transparent)]
    Base(#[from] BaseError),
    /// A node's status can't be used.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// Content is not what it should be.
    #[error("{error}{}", needing(images))]
    Write {
        /// The images that need it.
        images: Vec<String>,
        /// The cause.
        error: WriteError,
    },
    /// No reader would take it.
    #[error(transparent)]
    Excess(#[from] Excess),
    /// The file can't be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Which images is said by nobody.
    #[error("say which images: name them, or give a list with --list")]
    NoNames,
    /// No image can be taken.
    #[error("nothing to pack{}", reasons(.0))]
    Nothing(Vec<Failed>),
}

impl From<WriteError> for PackError {
    fn from(error: WriteError) -> Self {
        let images = Vec::new();
        Self::Write { images, error }
    }
}

impl PackError {
    /// The status that the program ends with.
    pub fn exit(&self) -> Exit {
        match self {
            Self::NoNames => Exit::Usage,
            Self::File(error) => error.exit(),
            Self::Origin(error) => origin(error),
            Self::Image { source, .. } => match &**source {
                SelectError::Origin(error) => origin(error),
                SelectError::Damaged { .. } | SelectError::Document { .. } => Exit::Refused,
                _ => Exit::Failure,
            },
            Self::Base(error) => match error {
                BaseError::Read { .. } => Exit::Unreadable,
                BaseError::Line { .. } | BaseError::TooLarge { .. } => Exit::Usage,
                BaseError::Bundle { source, .. } => {
                    source.verdict().map_or(Exit::Unreadable, Exit::from)
                }
            },
            Self::Write { error, .. } => match error {
                WriteError::Body { source, .. } => body(source),
                WriteError::Output { .. } => Exit::Failure,
                _ => Exit::Refused,
            },
            Self::Refused(_) => Exit::Refused,
            Self::Node(_) => Exit::Unreadable,
            Self::PartTooSmall { .. }
            | Self::NoPart { .. }
            | Self::PartLeft(_)
            | Self::Excess(_) => Exit::Usage,
            Self::Nothing(_) => Exit::Failure,
        }
    }
}

fn origin(error: &OriginError) -> Exit {
    match error {
        OriginError::Bundle(error) => bundle(error),
        OriginError::Containerd(_) => Exit::Store,
        OriginError::Registry(error) => pull(error),
    }
}

fn pull(error: &PullError) -> Exit {
    match error.fault {
        Fault::Stopped => Exit::Interrupted,
        Fault::Broken { .. } | Fault::Size { .. } => Exit::Refused,
        _ if error.fault.is_no_space() => Exit::NoSpace,
        _ => Exit::Failure,
    }
}

/// What kept a blob from being read: of a registry's, more is known.
fn body(source: &io::Error) -> Exit {
    let cause = source.get_ref().and_then(|cause| cause.downcast_ref());
    cause.map_or(Exit::Failure, |not: &NotPulled| pull(not.cause()))
}

fn bundle(error: &ReadError) -> Exit {
    error.verdict().map_or(Exit::Unreadable, Exit::from)
}

fn needing(images: &[String]) -> String {
    match images {
        [] => String::new(),
        images => format!(" (needed by {})", images.join(", ")),
    }
}

fn reasons(failed: &[Failed]) -> String {
    let reason = |failed: &Failed| format!("; {}: {}", failed.image, failed.reason);
    failed.iter().map(reason).collect()
}
