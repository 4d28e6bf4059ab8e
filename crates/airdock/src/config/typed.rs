//! What was said on the command line and in environment variables, as far as it is a setting.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::Layer;

/// Settings that somebody typed.
#[derive(Clone, Debug, Default)]
pub struct Typed {
    /// What was said. Its one source, if there is one, speaks for all sources.
    pub layer: Layer,
    /// Directories that are watched instead of those in the file.
    pub directories: Vec<PathBuf>,
    /// The flag or variable of each, by the key that it stands for, with `_` for the dot.
    pub given: BTreeMap<String, Given>,
}

/// How something was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// On the command line, by this flag or argument.
    Flag(String),
    /// In this environment variable.
    Variable(String),
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => f.write_str(name),
        }
    }
}

/// Where a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// The file, in this line.
    File(PathBuf, Option<usize>),
    /// The command line or the environment.
    Given(Given),
}

impl Origin {
    pub(super) fn file(path: &Path, line: Option<usize>) -> Self {
        Self::File(path.to_owned(), line)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path, Some(line)) => write!(f, "{}:{line}", path.display()),
            Self::File(path, None) => write!(f, "{}", path.display()),
            Self::Given(given) => given.fmt(f),
        }
    }
}
