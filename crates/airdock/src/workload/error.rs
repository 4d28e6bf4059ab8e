//! Why a file doesn't say which images are wanted.

use std::io;

use airdock_bundle::limits;
use airdock_bundle::name::NameError;

/// Why a file doesn't say which images are wanted.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// It can't be read.
    #[error("cannot read: {0}")]
    Io(io::Error),
    /// It is too large.
    #[error("over {} bytes; split it", limits::REQUIRED_LIST)]
    TooLarge,
    /// It isn't text.
    #[error("it is not UTF-8; give a list of names, or Kubernetes manifests in YAML or JSON")]
    NotUtf8,
    /// A line of a list is no name.
    #[error("line {line}: \"{given}\" is no image name: {cause}")]
    Line {
        /// From 1.
        line: usize,
        /// Escaped.
        given: String,
        /// The rule that it breaks.
        cause: NameError,
    },
    /// It is neither a list nor YAML.
    #[error("it is neither a list of names nor YAML: {reason}")]
    Yaml {
        /// What the parser says, with line and column.
        reason: String,
    },
    /// A YAML document takes too much.
    #[error(
        "line {line}: over {} values with all that aliases repeat, or over {} levels deep; split it",
        super::yaml::VALUES,
        super::yaml::DEPTH
    )]
    TooMuch {
        /// From 1.
        line: usize,
    },
    /// A field of a manifest is no name.
    #[error("{place}: \"{given}\" is no image name: {cause}")]
    Field {
        /// Kind, name and field.
        place: String,
        /// Escaped.
        given: String,
        /// The rule that it breaks.
        cause: NameError,
    },
}
