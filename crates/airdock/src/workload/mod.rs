//! Which images are wanted: names out of the files that people have.

mod plain;

use std::collections::BTreeSet;

use airdock_bundle::name::{Name, NameError};

/// Why a file names no images.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A line of a list is no name.
    #[error("line {line}: \"{given}\" is no image name: {source}")]
    Line {
        /// From 1.
        line: usize,
        /// Escaped.
        given: String,
        /// The rule that it breaks.
        #[source]
        source: NameError,
    },
}

/// The names in a file, normalised.
pub fn names(text: &str) -> Result<BTreeSet<Name>, WorkloadError> {
    plain::names(text)
}
