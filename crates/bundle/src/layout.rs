//! OCI image layouts: `oci-layout`, `index.json` and blobs by digest.
//!
//! <https://github.com/opencontainers/image-spec/blob/main/image-layout.md>

mod follow;
mod target;

use serde::Deserialize;

use crate::archive::{Archive, EntryId};
use crate::document::{self, TopEntry};
use crate::image::{Image, Other};
use crate::json;
use crate::limits;
use crate::open::OpenError;
use crate::platform::Matcher;

use follow::Layout;

/// The file that makes a directory an image layout.
pub(crate) const MARKER: &str = "oci-layout";
/// The file that lists its images.
pub(crate) const INDEX: &str = "index.json";

const VERSION: &str = "1.0.0";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Marker {
    image_layout_version: Option<String>,
}

/// The images, and what else there is, in the order of `index.json`.
pub(crate) fn read(
    archive: &Archive,
    platform: &Matcher,
    marker: EntryId,
    index: EntryId,
) -> Result<(Vec<Image>, Vec<Other>), OpenError> {
    check_marker(archive, marker)?;
    let entries = read_index(archive, index)?;
    let mut layout = Layout::new(archive, platform);
    layout.count(entries.len())?;
    let mut images = Vec::new();
    for target in target::by_digest(entries) {
        images.extend(layout.image(target)?);
    }
    Ok((images, layout.into_others()))
}

fn check_marker(archive: &Archive, marker: EntryId) -> Result<(), OpenError> {
    let bytes = archive.read(marker, limits::MANIFEST)?;
    let marker: Marker = json::parse(&bytes, limits::MANIFEST)
        .map_err(|error| OpenError::control(MARKER, error.into()))?;
    match marker.image_layout_version {
        Some(version) if version == VERSION => Ok(()),
        version => Err(OpenError::LayoutVersion {
            version: version.unwrap_or_default(),
        }),
    }
}

/// The entries of the `index.json` that `index` is.
pub(crate) fn read_index(archive: &Archive, index: EntryId) -> Result<Vec<TopEntry>, OpenError> {
    let bytes = archive.read(index, limits::MANIFEST)?;
    document::parse_top_index(&bytes).map_err(|error| OpenError::control(INDEX, error))
}
