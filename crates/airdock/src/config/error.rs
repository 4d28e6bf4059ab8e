//! Why a configuration can't be used.

use std::io;
use std::path::PathBuf;

use super::StoreSpecError;

/// A configuration that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file can't be read.
    #[error("configuration file {}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The file isn't TOML, or a value isn't what its key needs.
    #[error("{}{}: {}{reason}", path.display(), at(*.line), of(key))]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: Option<usize>,
        /// Empty where the text isn't TOML.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// A flag or an environment variable isn't what it needs to be.
    #[error("{given}: {reason}")]
    Typed {
        /// The flag or variable.
        given: String,
        /// What is wrong.
        reason: String,
    },
    /// No store can be chosen.
    #[error(transparent)]
    Store(#[from] StoreSpecError),
}

fn at(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(":{line}"))
}

fn of(key: &str) -> String {
    if key.is_empty() {
        return String::new();
    }
    format!("{key}: ")
}
