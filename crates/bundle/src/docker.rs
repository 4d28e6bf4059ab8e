//! docker-archives: `manifest.json`, and configs and layers by path.
//!
//! Such an archive has no image manifests. They are made here as containerd's own importer makes
//! them, byte for byte, so that an image has the same digest whoever imported it. Unlike that
//! importer we never look at what a store happens to hold.

mod config;
mod draft;
mod list;
mod unpack;

use std::collections::BTreeMap;

use crate::archive::{Archive, EntryId};
use crate::digest::Digest;
use crate::fault::Fault;
use crate::image::{Image, ImageError};
use crate::naming::Names;
use crate::open::OpenError;
use crate::platform::Matcher;

use draft::{Draft, Finished};

pub(crate) use config::{Configs, ReadConfig, check_path};
pub(crate) use draft::find;
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
        drafts.push((listed.position, listed.names, draft));
    }
    let sound = drafts.iter().filter_map(|(.., draft)| draft.as_ref().ok());
    let compressed = sound.flat_map(Draft::compressed).collect();
    let unpacked = unpack::digests(archive, &compressed)?;
    let entries = drafts.into_iter().map(|(position, given, draft)| {
        let outcome = draft.and_then(|draft| draft.finish(&unpacked));
        Entry::new(position, &given, outcome)
    });
    let entries = by_target(entries).into_iter();
    Ok(entries.map(Entry::into_image).collect())
}

/// What one entry of the list came to.
struct Entry {
    /// Positions in the list.
    listed: Vec<usize>,
    names: Names,
    outcome: Result<Finished, ImageError>,
}

/// Entries of the same manifest are one, at the first one's place and with all names.
fn by_target(entries: impl Iterator<Item = Entry>) -> Vec<Entry> {
    let mut merged: Vec<Entry> = Vec::new();
    let mut places: BTreeMap<Digest, usize> = BTreeMap::new();
    for entry in entries {
        let digest = entry.digest().cloned();
        let place = digest.map(|digest| *places.entry(digest).or_insert(merged.len()));
        match place.and_then(|place| merged.get_mut(place)) {
            Some(known) => known.merge(entry),
            None => merged.push(entry),
        }
    }
    merged
}

impl Entry {
    fn new(position: usize, given: &[String], outcome: Result<Finished, ImageError>) -> Self {
        let mut entry = Self {
            listed: vec![position],
            names: Names::default(),
            outcome,
        };
        entry.names = Names::sort_out(given.iter().map(String::as_str), entry.digest());
        entry
    }

    fn merge(&mut self, other: Self) {
        self.listed.extend(other.listed);
        self.names.merge(other.names);
    }

    fn digest(&self) -> Option<&Digest> {
        let finished = self.outcome.as_ref().ok()?;
        Some(&finished.content.manifest.digest)
    }

    fn into_image(self) -> Image {
        let (names, refused_names) = self.names.finish();
        let (platforms, warnings, outcome) = match self.outcome {
            Ok(Finished { content, warnings }) => {
                (vec![content.platform.clone()], warnings, Ok(content))
            }
            Err(error) => (error.platforms().to_vec(), Vec::new(), Err(error)),
        };
        Image {
            names,
            refused_names,
            target: outcome
                .as_ref()
                .ok()
                .map(|content| content.manifest.clone()),
            platforms,
            outcome,
            warnings,
            listed: self.listed,
        }
    }
}
