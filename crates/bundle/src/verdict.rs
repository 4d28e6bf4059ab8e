//! What a bundle, or one image of it, turned out to be.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The answer to "can this be imported?", for a bundle and for each of its images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Everything that is named can be imported.
    Ok,
    /// Some images can be imported; each of the others has its own reason.
    Partial,
    /// Well formed, but nothing in it has a name under which it could be published.
    Unnamed,
    /// Well formed, and no image inside.
    Empty,
    /// Cut short, or still arriving: worth another look when the file changes.
    Incomplete,
    /// Never importable as it is; the reason names the entry that shows it.
    Refused,
}

impl Verdict {
    /// The word used in tables, logs and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Partial => "partial",
            Self::Unnamed => "unnamed",
            Self::Empty => "empty",
            Self::Incomplete => "incomplete",
            Self::Refused => "refused",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
