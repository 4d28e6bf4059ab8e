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
use crate::left_out::LeftOut;
use crate::limits;
use crate::open::OpenError;
use crate::platform::{Matcher, Platform};
use crate::write::Listed;

use follow::Layout;

/// The file that makes a directory an image layout.
pub(crate) const MARKER: &str = "oci-layout";
/// The file that lists its images.
pub(crate) const INDEX: &str = "index.json";

/// The full name of an entry, as containerd and Docker write it.
pub(crate) const IMAGE_NAME: &str = "io.containerd.image.name";
/// The specification's own annotation: the tag alone, or any text.
pub(crate) const REF_NAME: &str = "org.opencontainers.image.ref.name";
/// Of a delta's `index.json`: ids of the bundles that hold the rest, with spaces between.
pub(crate) const BASE: &str = "io.airdock.base";
/// Of a delta's `index.json`: digests of the layers that are left out, with spaces between.
pub(crate) const MISSING: &str = "io.airdock.missing";

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
    (marker, index): (EntryId, EntryId),
    left_out: &LeftOut,
) -> Result<(Vec<Image>, Vec<Other>), OpenError> {
    check_marker(archive, marker)?;
    let entries = read_index(archive, index)?;
    let mut layout = Layout::new(archive, platform, left_out);
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

/// Everything that the layout lists, with the names that can be used.
pub(crate) fn listed(archive: &Archive) -> Result<Vec<Listed>, OpenError> {
    let index = archive.find(INDEX)?.ok_or(OpenError::NoIndex)?;
    let targets = target::by_digest(read_index(archive, index)?);
    let listed = targets.into_iter().filter_map(|target| {
        let (names, _) = target.names.finish();
        let mut descriptor = target.descriptor.ok()?;
        // Some tools say it here too; the image says it itself.
        descriptor.platform = descriptor.platform.filter(Platform::is_unknown);
        Some(Listed {
            descriptor,
            names: names.into_iter().collect(),
        })
    });
    Ok(listed.collect())
}

/// The entries of the `index.json` that `index` is.
pub(crate) fn read_index(archive: &Archive, index: EntryId) -> Result<Vec<TopEntry>, OpenError> {
    let bytes = archive.read(index, limits::MANIFEST)?;
    document::parse_top_index(&bytes).map_err(|error| OpenError::control(INDEX, error))
}
