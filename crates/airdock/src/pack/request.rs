//! What is asked for.

use std::path::PathBuf;

use airdock_bundle::name::Name;
use airdock_bundle::platform::{Matcher, Platform};
use airdock_bundle::write::Compression;

use super::base::Base;
use super::select::Platforms;

/// A bundle that is to be made.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which images; all that the origins list where it is empty.
    pub names: Vec<Name>,
    /// For which platforms; for all where it is empty.
    pub platforms: Vec<Platform>,
    /// Whether what refers to an image (signatures, SBOMs) comes along.
    pub with_referrers: bool,
    /// Whether Docker's list is written too.
    pub docker: bool,
    /// What the receiving side has already.
    pub bases: Vec<Base>,
    /// How it is compressed.
    pub compression: Compression,
    /// Whether an image that can't be had leaves the others alone.
    pub keep_going: bool,
    /// Where it goes.
    pub output: PathBuf,
    /// Whether a file that is there is replaced.
    pub replace: bool,
    /// Whether its sha256 is written beside it.
    pub checksum: bool,
}

impl Request {
    /// The platforms, for choosing.
    pub fn wanted(&self) -> Platforms {
        if self.platforms.is_empty() {
            return Platforms::All;
        }
        let platforms = self.platforms.iter().cloned();
        Platforms::Only(platforms.map(Matcher::only).collect())
    }
}
