//! Why a bundle didn't get into the store.

use std::io;
use std::path::{Path, PathBuf};

use airdock_bundle::Verdict;

use super::publish::Refused;
use super::safety::Unsafe;
use super::settle::Special;
use crate::exit::Exit;
use crate::output::human::Bytes;
use crate::store::StoreError;

/// What the agent gave up at its start is closed to root, too.
const LINK_OUT: &str = ": it is a link out of the watched directories, which the agent can't \
    open; put the file itself there, or start it with --landlock off";

/// A bundle that wasn't brought.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It was read, and can't be imported as it is.
    #[error("{reason}")]
    Verdict {
        /// What it is.
        verdict: Verdict,
        /// Why.
        reason: String,
        /// Its images, where it could be opened.
        refused: Vec<Refused>,
    },
    /// It is a delta, and what it leaves to other bundles is nowhere to be found.
    #[error(
        "it needs {bases}: neither the store nor a bundle beside it has {layers}; \
         load that first, or put it beside this one"
    )]
    Needs {
        /// Which bundles have it.
        bases: String,
        /// What is missing.
        layers: String,
    },
    /// It couldn't be read: nothing is known about its content.
    #[error("{reason}")]
    Unreadable {
        /// Why.
        reason: String,
    },
    /// It was changed or replaced while it was read.
    #[error("{}: it changed while it was being read; it is looked at again", .0.display())]
    Changed(PathBuf),
    /// The store didn't do what it was asked.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The store answered, but what it says isn't what was written.
    #[error(
        "the store doesn't show {0} as it was written: something else changes it at the same time"
    )]
    NotReadBack(String),
    /// What is missing won't fit.
    #[error(
        "{} must be written and only {} are free in {} (of which {} are kept in reserve): free some space",
        Bytes(*.needed), Bytes(*.free), root.display(), Bytes(*.reserve)
    )]
    NoSpace {
        /// Bytes to write.
        needed: u64,
        /// Bytes free.
        free: u64,
        /// Bytes that must stay free.
        reserve: u64,
        /// Where.
        root: PathBuf,
    },
    /// The program is being stopped.
    #[error("stopped before the end; nothing that isn't whole has a name")]
    Cancelled,
}

impl Failure {
    /// A bundle that couldn't be opened.
    pub fn unreadable(error: &io::Error, path: &Path) -> Self {
        let advice = match error.kind() {
            io::ErrorKind::PermissionDenied if path.is_symlink() => LINK_OUT,
            _ => "",
        };
        Self::Unreadable {
            reason: format!("{}: {error}{advice}", path.display()),
        }
    }

    /// Something that can't be a bundle.
    pub fn special(special: Special) -> Self {
        Self::Verdict {
            verdict: Verdict::Refused,
            reason: special.to_string(),
            refused: Vec::new(),
        }
    }

    /// What the bundle is, where that is what stands in the way.
    pub fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Verdict { verdict, .. } => Some(*verdict),
            Self::Needs { .. } => Some(Verdict::Incomplete),
            _ => None,
        }
    }

    /// Whether the bundle's bytes stand in the way, or that they can't be had.
    pub fn is_about_content(&self) -> bool {
        matches!(self, Self::Verdict { .. } | Self::Unreadable { .. })
    }

    /// Its images, each with its reason, where it could be opened.
    pub fn refused(&self) -> &[Refused] {
        match self {
            Self::Verdict { refused, .. } => refused,
            _ => &[],
        }
    }

    /// The status that a command ends with because of this.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Verdict { verdict, .. } => Exit::from(*verdict),
            Self::Needs { .. } => Exit::Incomplete,
            Self::Unreadable { .. } | Self::Changed(_) => Exit::Unreadable,
            Self::Store(error) => error.exit(),
            Self::NotReadBack(_) => Exit::Store,
            Self::NoSpace { .. } => Exit::NoSpace,
            Self::Cancelled => Exit::Interrupted,
        }
    }
}

impl From<Unsafe> for Failure {
    fn from(error: Unsafe) -> Self {
        let reason = error.to_string();
        match error {
            Unsafe::Unknown { .. } => Self::Unreadable { reason },
            Unsafe::Owner { .. } | Unsafe::Writable { .. } => Self::Verdict {
                verdict: Verdict::Refused,
                reason,
                refused: Vec::new(),
            },
        }
    }
}
