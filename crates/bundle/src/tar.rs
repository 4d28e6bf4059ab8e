//! A strict reader of tar headers.
//!
//! Where readers of the format are known to disagree (two names for one entry, content behind a
//! link, a lone zero block), an archive is refused rather than read in one of the ways: what was
//! checked here must be what every other tool sees.
//!
//! Formats: POSIX.1-2017 pax (`ustar` and extended headers) and the GNU dialect, as described in
//! the GNU tar manual, "Basic Tar Format".

mod error;
mod extensions;
mod header;
#[cfg(test)]
pub(crate) mod made;
mod name;
mod pax;
mod raw;
mod reader;
#[cfg(test)]
mod tests;

pub use error::{NameFault, PaxFault, TarError};
pub use name::normalise;
pub use reader::{Reader, Source};

/// Bytes of a header, and what content is padded to.
pub const BLOCK: usize = 512;

/// One entry, with what extended headers say about it applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Without leading, doubled or single-dot components, and without a slash at the end. Empty
    /// for the archive's own top directory.
    pub name: String,
    pub kind: Kind,
    /// Content bytes; 0 for everything but a file.
    pub size: u64,
    /// Where the content starts, in bytes from the start of the archive.
    pub offset: u64,
}

/// What an entry is. Other types are refused while reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    /// A symbolic link; the target is as written, relative to the link's own directory.
    Symlink {
        target: String,
    },
    /// A hard link; the target is as written, relative to the archive's top.
    HardLink {
        target: String,
    },
}
