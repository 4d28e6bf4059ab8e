//! Why a bundle can't be written.

use std::io;

use crate::digest::Digest;

/// Why a bundle can't be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("cannot write the bundle: {source}")]
    Output {
        #[source]
        source: io::Error,
    },
    #[error("cannot read the blob {digest}: {source}")]
    Body {
        digest: Digest,
        #[source]
        source: io::Error,
    },
    #[error("the blob {digest} has {} bytes, but its descriptor says {expected}", at_least(*.found, *.expected))]
    Size {
        digest: Digest,
        expected: u64,
        /// Not counted further than one beyond what was expected.
        found: u64,
    },
    #[error("the blob {digest} is damaged: its digest is {found}")]
    Digest { digest: Digest, found: Digest },
    #[error("the blob {digest} is described with {} and with {} bytes", sizes.0, sizes.1)]
    TwoSizes { digest: Digest, sizes: (u64, u64) },
}

impl WriteError {
    /// The blob that is at fault; `None` where it is the output.
    pub fn blob(&self) -> Option<&Digest> {
        match self {
            Self::Output { .. } => None,
            Self::Body { digest, .. }
            | Self::Size { digest, .. }
            | Self::Digest { digest, .. }
            | Self::TwoSizes { digest, .. } => Some(digest),
        }
    }
}

fn at_least(found: u64, expected: u64) -> String {
    if found > expected {
        return "more".to_owned();
    }
    found.to_string()
}
