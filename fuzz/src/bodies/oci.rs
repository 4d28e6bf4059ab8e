//! Image layouts: the first part is `oci-layout`, the last `index.json`, the others are blobs.

use airdock_testkit::fixture::{Tree, blob_path, sha256};

use super::opened;
use super::parts::{self, Known};

/// Opens the layout that `input` describes.
pub fn run(input: &[u8]) {
    if let Some(tree) = layout(input) {
        opened::assert_sound_in_both_ways(&tree.tar());
    }
}

/// `None` without the two files that make a layout.
fn layout(input: &[u8]) -> Option<Tree> {
    let parts = parts::split(input);
    let (marker, rest) = parts.split_first()?;
    let (index, blobs) = rest.split_last()?;
    let mut known = Known::default();
    let mut tree = Tree::new().file("oci-layout", marker);
    for blob in blobs {
        let blob = known.resolve(blob);
        known.add(&blob);
        let path = blob_path(&sha256(&blob));
        if !tree.has(&path) {
            tree = tree.file(&path, &blob);
        }
    }
    Some(tree.file("index.json", &known.resolve(index)))
}
