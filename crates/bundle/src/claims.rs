//! Who of a bundle's images has which name.

use std::collections::BTreeMap;

use crate::digest::Digest;
use crate::image::{Image, ImageError, Other, OtherKind};
use crate::name::Name;
use crate::naming::{NameRefusal, RefusedName};

/// Leaves each name to the first image that can be imported and has it.
///
/// Some tools list a multi-platform image as one entry for each platform, all under one name:
/// entries for other platforms are then no images of their own, and move to `others`.
pub(crate) fn settle(images: Vec<Image>, others: &mut Vec<Other>) -> Vec<Image> {
    let mut holders: BTreeMap<Name, Digest> = BTreeMap::new();
    let mut settled = Vec::new();
    for mut image in images {
        if image.outcome.is_ok() {
            claim(&mut image, &mut holders);
        }
        settled.push(image);
    }
    let (siblings, images): (Vec<Image>, Vec<Image>) = settled
        .into_iter()
        .partition(|image| is_sibling(image, &holders));
    others.extend(siblings.into_iter().filter_map(sibling));
    images
}

fn claim(image: &mut Image, holders: &mut BTreeMap<Name, Digest>) {
    let Some(digest) = image.target.as_ref().map(|target| &target.digest) else {
        return;
    };
    for name in std::mem::take(&mut image.names) {
        let holder = holders
            .entry(name.clone())
            .or_insert_with(|| digest.clone());
        if holder == digest {
            image.names.push(name);
        } else {
            let holder = holder.clone();
            image.refused_names.push(RefusedName {
                given: name.to_string(),
                reason: NameRefusal::Taken { holder },
            });
        }
    }
}

/// Whether an image is only the version for another platform of one that can be imported.
fn is_sibling(image: &Image, holders: &BTreeMap<Name, Digest>) -> bool {
    let foreign = matches!(
        image.outcome,
        Err(ImageError::NoPlatform { .. } | ImageError::Windows { .. })
    );
    foreign
        && image.refused_names.is_empty()
        && !image.names.is_empty()
        && image.names.iter().all(|name| holders.contains_key(name))
}

fn sibling(image: Image) -> Option<Other> {
    let target = image.target?;
    Some(Other {
        kind: OtherKind::Platform,
        media_type: target.media_type,
        digest: target.digest,
        name: image.names.first().map(ToString::to_string),
    })
}
