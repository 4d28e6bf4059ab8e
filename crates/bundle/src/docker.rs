//! docker-archives: `manifest.json`, and configs and layers by path.
//!
//! Such an archive has no image manifests. They are made here as containerd's own importer makes
//! them, byte for byte, so that an image has the same digest whoever imported it. Unlike that
//! importer we never look at what a store happens to hold.

mod config;
mod draft;
mod list;

use std::collections::BTreeMap;

use crate::archive::{Archive, EntryId};
use crate::check;
use crate::digest::Digest;
use crate::fault::Fault;
use crate::image::{Image, ImageError};
use crate::naming::Names;
use crate::open::OpenError;
use crate::platform::Matcher;

use config::Configs;
use draft::{Draft, Finished};

pub(crate) use list::{Listed, read_list};

/// The file that lists the images.
pub(crate) const LIST: &str = "manifest.json";

/// The images, in the order of `manifest.json`; entries that come to the same manifest are one.
pub(crate) fn read(
    archive: &Archive,
    platform: &Matcher,
    list: EntryId,
) -> Result<Vec<Image>, OpenError> {
    let mut configs = Configs::new(archive);
    let mut drafts = Vec::new();
    for listed in read_list(archive, list)? {
        let draft = Fault::settle(Draft::of(&mut configs, platform, &listed))?;
        drafts.push((listed.names, draft));
    }
    let sound = drafts.iter().filter_map(|(_, draft)| draft.as_ref().ok());
    let compressed: Vec<EntryId> = sound.flat_map(Draft::compressed).collect();
    let digests = check::hash(archive, &compressed, &mut |_| ())?;
    Ok(by_target(drafts.into_iter().map(|(names, draft)| {
        image(&names, draft.and_then(|draft| draft.finish(&digests)))
    })))
}

fn image(given: &[String], finished: Result<Finished, ImageError>) -> Image {
    let target = finished.as_ref().ok().map(|it| it.target.clone());
    let digest = target.as_ref().map(|target| &target.digest);
    let names = Names::sort_out(given.iter().map(String::as_str), digest);
    let (platforms, warnings, outcome) = match finished {
        Ok(finished) => {
            let platforms = vec![finished.content.platform.clone()];
            (platforms, finished.warnings, Ok(finished.content))
        }
        Err(error) => (error.platforms().to_vec(), Vec::new(), Err(error)),
    };
    Image {
        names: names.usable.into_iter().collect(),
        refused_names: names.refused,
        target,
        platforms,
        outcome,
        warnings,
    }
}

/// Images of the same digest are one, at the first one's place and with all names.
fn by_target(images: impl Iterator<Item = Image>) -> Vec<Image> {
    let mut merged: Vec<Image> = Vec::new();
    let mut places: BTreeMap<Digest, usize> = BTreeMap::new();
    for image in images {
        let digest = image.target.as_ref().map(|target| target.digest.clone());
        let place = digest.map(|digest| *places.entry(digest).or_insert(merged.len()));
        match place.and_then(|place| merged.get_mut(place)) {
            Some(known) => known.take_names(image),
            None => merged.push(image),
        }
    }
    merged
}
