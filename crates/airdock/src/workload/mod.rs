//! Which images are wanted: names out of the files that people have.
//!
//! Kubernetes manifests and what Helm renders, in YAML or JSON, or lists with one name a line, as
//! k3s and RKE2 publish them and `k0s airgap list-images` prints them. Which of them a text is
//! shows by itself.

mod error;
mod kubernetes;
mod plain;
mod yaml;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use airdock_bundle::limits;
use airdock_bundle::name::Name;

pub use error::WorkloadError;

/// Which fields of a manifest name images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fields {
    /// Those of containers and volumes in pod templates, wherever one stands.
    #[default]
    Pods,
    /// Each `image` as well, as custom resources have it. What is no name there is passed over.
    Every,
}

/// The names in a file, normalised; `-` is standard input.
///
/// # Errors
/// When it can't be read, or something where an image must be named is no name.
pub fn read(path: &Path, fields: Fields) -> Result<BTreeSet<Name>, WorkloadError> {
    let text = match path.as_os_str().as_encoded_bytes() {
        b"-" => text(std::io::stdin().lock()),
        _ => text(File::open(path).map_err(WorkloadError::Io)?),
    };
    names(&text?, fields)
}

fn text(input: impl Read) -> Result<String, WorkloadError> {
    let mut bytes = Vec::new();
    let mut input = input.take(limits::REQUIRED_LIST + 1);
    input.read_to_end(&mut bytes).map_err(WorkloadError::Io)?;
    if bytes.len() as u64 > limits::REQUIRED_LIST {
        return Err(WorkloadError::TooLarge);
    }
    let text = String::from_utf8(bytes).map_err(|_| WorkloadError::NotUtf8)?;
    // Editors on Windows write one.
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

/// The names in a text, normalised.
///
/// # Errors
/// As [`read`].
pub fn names(text: &str, fields: Fields) -> Result<BTreeSet<Name>, WorkloadError> {
    match plain::is_list(text) {
        true => plain::names(text),
        false => kubernetes::names(text, fields),
    }
}
