//! Why a bundle doesn't give what it is asked for.

use std::path::PathBuf;

use airdock_bundle::open::OpenError;
use airdock_bundle::{TakeError, Verdict};

use crate::output::shown;

/// Why a bundle doesn't give what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It can't be used.
    #[error("{}: {source}", shown(path))]
    Open {
        /// Where it stands.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<OpenError>,
    },
    /// Something in it can't be used.
    #[error("{}: {source}", shown(path))]
    Take {
        /// Where it stands.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<TakeError>,
    },
    /// A layer of a compressed bundle can't be put into a temporary file.
    #[error("{}: cannot unpack it into a temporary file: {source}", shown(path))]
    Spool {
        /// The bundle.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

impl ReadError {
    /// What it says of the bundle; `None` where it only says that nobody could look.
    pub fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Open { source, .. } => source.verdict(),
            Self::Take { source, .. } => match &**source {
                TakeError::Image(_) => Some(Verdict::Refused),
                TakeError::Bundle(error) => error.verdict(),
            },
            Self::Spool { .. } => None,
        }
    }
}
