//! Image names: the reference grammar of the distribution project, with Docker's normalisation.
//!
//! A [`Name`] is always in full: `alpine` is `docker.io/library/alpine:latest`. CRI and
//! containerd look names up as exact strings in that form, so every name is normalised once,
//! here. Grammar: <https://github.com/distribution/reference>.

mod grammar;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::digest::{Digest, DigestError};
use crate::escape::escaped;
use crate::limits;

const DEFAULT_DOMAIN: &str = "docker.io";
/// What Docker Hub was called first; still found in old archives.
const LEGACY_DOMAIN: &str = "index.docker.io";
const LOCALHOST: &str = "localhost";
const OFFICIAL_PREFIX: &str = "library/";
const DEFAULT_TAG: &str = "latest";
/// Repositories of Docker Hub that would make a name read like an image ID
/// (`sha256:…`); `docker tag` refuses them for the same reason.
const ID_LIKE_PATHS: [&str; 2] = ["library/sha256", "library/sha512"];

/// A normalised image reference: domain, path, and a tag or a digest or both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name {
    domain: String,
    path: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// Why a string is not a usable image name. Each is a fragment that ends with what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("it is empty; give the image a name and save it again")]
    Empty,
    #[error("it holds control characters; tag the image anew and save it again")]
    ControlCharacter,
    #[error("it is an image ID, not a name; save the image by a tag")]
    ImageId,
    #[error("upper case in the path \"{}\"; write the repository in lower case", escaped(.path))]
    UpperCase { path: String },
    #[error("\"{}\" is no registry host; use HOST or HOST:PORT", escaped(.domain))]
    Domain { domain: String },
    #[error(
        "\"{}\" is no path component; use lower case letters and digits, separated by one of . _ __ -",
        escaped(.component)
    )]
    Path { component: String },
    #[error(
        "\"{}\" is no tag; use up to 128 letters, digits and _ . -, not starting with . or -",
        escaped(.tag)
    )]
    Tag { tag: String },
    #[error("its digest is unusable: {source}; save the image by a tag")]
    Digest {
        #[source]
        source: DigestError,
    },
    #[error(
        "the repository is {length} characters long, over the {} allowed; shorten it",
        limits::REFERENCE
    )]
    TooLong { length: usize },
}

impl Name {
    /// The name in full that `given` stands for.
    ///
    /// # Errors
    /// The first rule of the grammar that `given` breaks.
    pub fn parse(given: &str) -> Result<Self, NameError> {
        refuse_at_sight(given)?;
        let (domain, rest) = split_domain(given);
        let (rest, digest) = split_off(&rest, '@');
        let (path, tag) = split_off(rest, ':');
        check_parts(domain, path, tag)?;
        let digest = digest.map(Digest::from_str).transpose();
        let digest = digest.map_err(|source| NameError::Digest { source })?;
        Ok(Self {
            domain: domain.to_owned(),
            path: path.to_owned(),
            tag: tag_or_default(tag, digest.as_ref()),
            digest,
        })
    }

    /// The registry host, with its port if one was given.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The repository's path at its registry, without the host.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The tag; `None` only for a reference by digest alone.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest, where the reference has one.
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// Host and path: `docker.io/library/alpine`.
    pub fn repository(&self) -> String {
        format!("{}/{}", self.domain, self.path)
    }

    /// The same repository by digest: `docker.io/library/alpine@sha256:…`.
    pub fn with_digest(&self, digest: &Digest) -> String {
        format!("{}@{digest}", self.repository())
    }

    /// Without the digest, where there is a tag as well; otherwise unchanged. Runtimes look a
    /// reference with both up by its digest alone, so a record under both is never found.
    #[must_use]
    pub fn tag_first(self) -> Self {
        match self.tag {
            Some(_) => Self {
                digest: None,
                ..self
            },
            None => self,
        }
    }
}

/// Refuses what must not even be split: nothing, control characters, image IDs.
fn refuse_at_sight(given: &str) -> Result<(), NameError> {
    if given.is_empty() {
        return Err(NameError::Empty);
    }
    if given.chars().any(char::is_control) {
        return Err(NameError::ControlCharacter);
    }
    if grammar::is_identifier(given) {
        return Err(NameError::ImageId);
    }
    Ok(())
}

/// Registry host and the rest, with Docker's defaults filled in.
fn split_domain(given: &str) -> (&str, String) {
    match given.split_once('/') {
        Some((LEGACY_DOMAIN | DEFAULT_DOMAIN, rest)) => (DEFAULT_DOMAIN, official(rest)),
        Some((first, rest)) if is_domain(first) => (first, rest.to_owned()),
        _ => (DEFAULT_DOMAIN, official(given)),
    }
}

/// Whether the first of several components is a host. Upper case can't be a path, so it is one.
fn is_domain(first: &str) -> bool {
    first == LOCALHOST
        || first.contains(['.', ':'])
        || first.chars().any(|c| c.is_ascii_uppercase())
}

fn official(rest: &str) -> String {
    if rest.contains('/') {
        rest.to_owned()
    } else {
        format!("{OFFICIAL_PREFIX}{rest}")
    }
}

fn split_off(text: &str, separator: char) -> (&str, Option<&str>) {
    match text.split_once(separator) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn check_parts(domain: &str, path: &str, tag: Option<&str>) -> Result<(), NameError> {
    check_path(path)?;
    if !grammar::is_domain_and_port(domain) {
        let domain = domain.to_owned();
        return Err(NameError::Domain { domain });
    }
    if let Some(tag) = tag.filter(|tag| !grammar::is_tag(tag)) {
        let tag = tag.to_owned();
        return Err(NameError::Tag { tag });
    }
    if domain == DEFAULT_DOMAIN && ID_LIKE_PATHS.contains(&path) {
        return Err(NameError::ImageId);
    }
    let length = domain.len() + 1 + path.len();
    if length > limits::REFERENCE {
        return Err(NameError::TooLong { length });
    }
    Ok(())
}

fn check_path(path: &str) -> Result<(), NameError> {
    if path.chars().any(char::is_uppercase) {
        let path = path.to_owned();
        return Err(NameError::UpperCase { path });
    }
    match path
        .split('/')
        .find(|part| !grammar::is_path_component(part))
    {
        Some(component) => Err(NameError::Path {
            component: component.to_owned(),
        }),
        None => Ok(()),
    }
}

fn tag_or_default(tag: Option<&str>, digest: Option<&Digest>) -> Option<String> {
    match (tag, digest) {
        (Some(tag), _) => Some(tag.to_owned()),
        (None, Some(_)) => None,
        (None, None) => Some(DEFAULT_TAG.to_owned()),
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.domain, self.path)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(given: &str) -> Result<Self, NameError> {
        Self::parse(given)
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;

    fn try_from(given: String) -> Result<Self, NameError> {
        Self::parse(&given)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.to_string()
    }
}

#[cfg(test)]
mod tests;
