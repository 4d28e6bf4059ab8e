//! Why a store didn't do what it was asked.

use std::io;
use std::path::{Path, PathBuf};

use airdock_bundle::digest::Digest;

use crate::exit::Exit;

/// A failure of a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A call to containerd failed.
    #[error(transparent)]
    Containerd(#[from] airdock_containerd::Error),
    /// A file of a layout can't be read or written.
    #[error("{action} {}: {source}", path.display())]
    Layout {
        /// What was tried.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The directory is something else than a layout.
    #[error("{} isn't an OCI image layout and isn't empty: choose a directory of its own", .0.display())]
    NotALayout(PathBuf),
    /// A document of a layout isn't what it should be.
    #[error("{}: {reason}; move the directory away, or choose another", path.display())]
    Malformed {
        /// The document.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The store refused a blob as another's content, and it is not.
    #[error(
        "the store refused blob {0}, whose bytes are right in the bundle: \
         look at containerd's log, and at the health of disk and memory"
    )]
    RefusedSound(Digest),
    /// The body of a blob could not be read from its bundle.
    #[error("{0}")]
    Body(String),
    /// A background thread of ours ended without an answer.
    #[error("a worker thread ended without an answer")]
    Worker,
}

impl StoreError {
    /// A failed file operation in a layout.
    pub fn layout(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Layout {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Whether the store has run out of space.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Containerd(error) => matches!(error, airdock_containerd::Error::NoSpace { .. }),
            Self::Layout { source, .. } => source.kind() == io::ErrorKind::StorageFull,
            _ => false,
        }
    }

    /// Whether the store as a whole doesn't answer, rather than to this one question.
    pub fn is_unreachable(&self) -> bool {
        use airdock_containerd::Error;
        let Self::Containerd(error) = self else {
            return false;
        };
        matches!(
            error,
            Error::Connect { .. } | Error::Disconnected { .. } | Error::Deadline { .. }
        )
    }

    /// Why the bytes of a blob could not be had, where that is what went wrong.
    pub fn body(&self) -> Option<String> {
        match self {
            Self::Body(reason) => Some(reason.clone()),
            Self::Containerd(airdock_containerd::Error::Body { source, .. }) => {
                Some(source.to_string())
            }
            _ => None,
        }
    }

    /// The status that a command ends with because of this.
    pub fn exit(&self) -> Exit {
        if self.is_full() {
            Exit::NoSpace
        } else {
            Exit::Store
        }
    }
}
