//! What the receiving side has already: layers that a delta leaves out.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use airdock_bundle::archive::Archive;
use airdock_bundle::digest::{Algorithm, Digest, DigestError, Hasher};
use airdock_bundle::limits;
use airdock_bundle::open::{Bundle, OpenError};
use airdock_bundle::platform::{Matcher, Platform};

use crate::output::shown;

/// Blobs that are somewhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The id of the bundle that has them, or of the list.
    pub id: String,
    /// Their digests.
    pub digests: BTreeSet<Digest>,
}

/// Why a base can't be used.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// It can't be read.
    #[error("{}: {source}", shown(path))]
    Read {
        /// The list.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// It is neither a bundle nor a list.
    #[error("{}: {source}", shown(path))]
    Bundle {
        /// Where it stands.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<OpenError>,
    },
    /// A list that would be cut.
    #[error(
        "{}: over {} bytes; split the list",
        shown(path),
        limits::REQUIRED_LIST
    )]
    TooLarge {
        /// The list.
        path: PathBuf,
    },
    /// A line is no digest.
    #[error("{}: line {line}: {source}", shown(path))]
    Line {
        /// The list.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// The cause.
        #[source]
        source: DigestError,
    },
}

impl Base {
    /// Reads a bundle, or a list of digests with one a line.
    pub fn read(path: &Path, platform: &Platform) -> Result<Self, BaseError> {
        if let Some(text) = list(path)? {
            return Self::listed(path, &text);
        }
        let failed = |source: OpenError| BaseError::Bundle {
            path: path.to_owned(),
            source: Box::new(source),
        };
        let archive = Archive::open(path).map_err(|error| failed(error.into()))?;
        let bundle = Bundle::open(archive, &Matcher::only(platform.clone())).map_err(failed)?;
        Ok(Self::of(&bundle))
    }

    /// What a bundle has.
    pub fn of(bundle: &Bundle) -> Self {
        let entries = Self::stored(bundle).map(|(digest, _)| digest);
        let outcomes = bundle.images().iter().map(|image| &image.outcome);
        let contents = outcomes.filter_map(|outcome| outcome.as_ref().ok());
        // A delta's own bases are not its content.
        let held = contents
            .flat_map(|content| &content.blobs)
            .filter(|blob| blob.is_here())
            .map(|blob| blob.descriptor.digest.clone());
        Self {
            id: bundle.id().to_string(),
            digests: entries.chain(held).collect(),
        }
    }

    /// The blobs of an image layout and their sizes, whatever platform they are for.
    pub fn stored(bundle: &Bundle) -> impl Iterator<Item = (Digest, u64)> {
        let archive = bundle.archive();
        let size = |name: &str| Some(archive.size(archive.find(name).ok()??));
        archive
            .names()
            .filter_map(move |name| Some((blob(name)?, size(name)?)))
    }

    /// Of digests that a list names.
    pub fn of_digests(digests: BTreeSet<Digest>) -> Self {
        let mut hasher = Hasher::new(Algorithm::Sha256);
        for digest in &digests {
            hasher.update(digest.as_str().as_bytes());
            hasher.update(b"\n");
        }
        let id = hasher.finish().to_string();
        Self { id, digests }
    }

    fn listed(path: &Path, text: &str) -> Result<Self, BaseError> {
        let mut digests = BTreeSet::new();
        for (at, line) in text.lines().enumerate() {
            let word = line.split('#').next().unwrap_or_default().trim();
            if word.is_empty() {
                continue;
            }
            let digest = word.parse().map_err(|source| BaseError::Line {
                path: path.to_owned(),
                line: at + 1,
                source,
            })?;
            digests.insert(digest);
        }
        Ok(Self::of_digests(digests))
    }
}

/// The text of a list; `None` for what is rather a bundle.
fn list(path: &Path) -> Result<Option<String>, BaseError> {
    let read = |source| BaseError::Read {
        path: path.to_owned(),
        source,
    };
    if path.is_dir() {
        return Ok(None);
    }
    let mut start = Vec::new();
    let file = File::open(path).map_err(read)?;
    file.take(limits::REQUIRED_LIST + 1)
        .read_to_end(&mut start)
        .map_err(read)?;
    let is_cut = start.len() as u64 > limits::REQUIRED_LIST;
    let text = text(start, is_cut).filter(|text| text.contains(':') && !text.contains('\0'));
    match text {
        Some(_) if is_cut => Err(BaseError::TooLarge {
            path: path.to_owned(),
        }),
        text => Ok(text),
    }
}

/// Where the end is missing, a character may be cut in two.
fn text(bytes: Vec<u8>, is_cut: bool) -> Option<String> {
    String::from_utf8(bytes)
        .or_else(|error| {
            let cause = error.utf8_error();
            let mut bytes = error.into_bytes();
            match cause.error_len() {
                None if is_cut => bytes.truncate(cause.valid_up_to()),
                _ => {}
            }
            String::from_utf8(bytes)
        })
        .ok()
}

/// The digest of a layout's blob.
fn blob(entry: &str) -> Option<Digest> {
    let rest = entry.strip_prefix("blobs/")?;
    rest.replacen('/', ":", 1).parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use tempfile::NamedTempFile;

    use super::*;

    /// What becomes of a file of so many bytes: lines of digests, and a comment with an end of its
    /// own.
    fn read(len: u64, end: &str) -> Result<Base, BaseError> {
        let line = format!("{}\n", Digest::of(Algorithm::Sha256, b"layer"));
        let len = usize::try_from(len).unwrap() - end.len() - 1;
        let mut text = line.repeat(len / line.len());
        text.push('#');
        text.extend(std::iter::repeat_n(' ', len - text.len() + 1));
        text.push_str(end);
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        Base::read(file.path(), &Platform::host())
    }

    #[test]
    fn a_list_that_would_be_cut_is_refused() {
        assert_eq!(read(limits::REQUIRED_LIST, "").unwrap().digests.len(), 1);
        // The second ends in the middle of a character.
        for (len, end) in [
            (limits::REQUIRED_LIST + 1, ""),
            (limits::REQUIRED_LIST + 2, "éé"),
        ] {
            let error = read(len, end).unwrap_err();
            assert!(matches!(error, BaseError::TooLarge { .. }), "{error}");
            assert!(
                error
                    .to_string()
                    .ends_with("over 16777216 bytes; split the list")
            );
        }
    }
}
