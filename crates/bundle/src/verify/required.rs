//! Names that somebody needs, and what of them bundles lack.

use std::collections::BTreeMap;
use std::io::{self, Read};

use super::{Checked, Verified};
use crate::escape::escaped;
use crate::image::Image;
use crate::limits;
use crate::name::{Name, NameError};

/// Names that are needed and that no bundle was found to hold so far.
#[derive(Clone, Debug, Default)]
pub struct Required {
    count: usize,
    /// With the reason why an image of that name can't be imported, if there was one.
    lacking: BTreeMap<Name, Option<String>>,
}

/// A name that is needed and that no bundle holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lack<'a> {
    pub name: &'a Name,
    /// Why the image of that name can't be imported; `None` if there is none.
    pub reason: Option<&'a str>,
}

/// Why a list of names can't be used.
#[derive(Debug, thiserror::Error)]
pub enum RequiredError {
    #[error("cannot read: {0}")]
    Io(#[from] io::Error),
    #[error("over {} bytes; split the list", limits::REQUIRED_LIST)]
    TooLarge,
    #[error("line {line} is not UTF-8; save the list as UTF-8")]
    NotUtf8 { line: usize },
    #[error("line {line}, \"{}\", is no image name: {source}", escaped(.given))]
    Name {
        /// From 1.
        line: usize,
        given: String,
        #[source]
        source: NameError,
    },
}

impl Required {
    /// Reads a list: one name a line, in short or in full; `#` starts a comment.
    ///
    /// # Errors
    /// The first line that is no name, by its number; a list that is too long or can't be read.
    pub fn read(list: impl Read) -> Result<Self, RequiredError> {
        let mut bytes = Vec::new();
        list.take(limits::REQUIRED_LIST + 1)
            .read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()).is_ok_and(|len| len > limits::REQUIRED_LIST) {
            return Err(RequiredError::TooLarge);
        }
        Self::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Result<Self, RequiredError> {
        // Editors on Windows write one.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut required = Self::default();
        for (position, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if let Some(name) = parse_line(position + 1, line)? {
                required.lacking.insert(name, None);
            }
        }
        required.count = required.lacking.len();
        Ok(required)
    }

    /// How many names are needed, each counted once.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Ticks off what a bundle holds and can be imported.
    pub fn tick_off(&mut self, verified: &Verified) {
        for (image, checked) in verified.images() {
            let names = names(image);
            match obstacle(image, checked) {
                None => names.for_each(|name| drop(self.lacking.remove(&name))),
                Some(reason) => names.for_each(|name| self.explain(&name, &reason)),
            }
            for refused in &image.refused_names {
                if let Ok(name) = Name::parse(&refused.given) {
                    self.explain(&name, &refused.to_string());
                }
            }
        }
    }

    /// What is left, sorted by name.
    pub fn lacking(&self) -> impl Iterator<Item = Lack<'_>> {
        self.lacking.iter().map(|(name, reason)| Lack {
            name,
            reason: reason.as_deref(),
        })
    }

    /// Keeps the first reason.
    fn explain(&mut self, name: &Name, reason: &str) {
        if let Some(known) = self.lacking.get_mut(name) {
            known.get_or_insert_with(|| reason.to_owned());
        }
    }
}

/// `None` for a line without a name.
fn parse_line(line: usize, bytes: &[u8]) -> Result<Option<Name>, RequiredError> {
    let text = str::from_utf8(bytes).map_err(|_| RequiredError::NotUtf8 { line })?;
    let given = text.split('#').next().unwrap_or_default().trim();
    if given.is_empty() {
        return Ok(None);
    }
    let name = Name::parse(given).map_err(|source| RequiredError::Name {
        line,
        given: given.to_owned(),
        source,
    })?;
    Ok(Some(name))
}

/// All that the image can be asked for by: each name, and its repository by digest.
fn names(image: &Image) -> impl Iterator<Item = Name> {
    let digest = image.target.as_ref().map(|target| &target.digest);
    image.names.iter().flat_map(move |name| {
        let by_digest = digest.map(|digest| [name.with_digest(digest), format!("{name}@{digest}")]);
        let by_digest = by_digest.into_iter().flatten();
        let by_digest = by_digest.filter_map(|name| Name::parse(&name).ok());
        std::iter::once(name.clone()).chain(by_digest)
    })
}

/// Why the image can't be relied on.
fn obstacle(image: &Image, checked: &Checked) -> Option<String> {
    match &image.outcome {
        Err(error) => Some(error.to_string()),
        Ok(_) if checked.is_whole() => None,
        Ok(_) => checked.reason(image),
    }
}
