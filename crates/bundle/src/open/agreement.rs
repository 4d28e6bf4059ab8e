//! Whether the two lists of one archive mean the same images.

use std::collections::BTreeMap;

use crate::archive::{Archive, ArchiveError, EntryId};
use crate::digest::{Algorithm, Digest};
use crate::docker::{self, Listed};
use crate::image::{Image, Role};
use crate::limits;
use crate::name::Name;
use crate::naming::Names;
use crate::open::OpenError;

/// Refuses an archive whose `manifest.json`, at `list`, gives a name to something else than the
/// layout does: what it holds would depend on which of the two a tool reads.
///
/// The layout may name more: containerd's exporter leaves names out of `manifest.json` where an
/// index and the manifest in it are both named.
pub(super) fn check(archive: &Archive, list: EntryId, images: &[Image]) -> Result<(), OpenError> {
    let known = Known::of(images);
    let mut configs = Configs::default();
    for listed in docker::read_list(archive, list)? {
        let given = listed.names.iter().map(String::as_str);
        for name in Names::sort_out(given, None).into_usable() {
            let agreed = match known.find(&name) {
                Some(image) => configs.agree(archive, &listed, image)?,
                None => false,
            };
            if !agreed {
                return Err(OpenError::Disagree { name });
            }
        }
    }
    Ok(())
}

/// The layout's images by what they can be called.
struct Known<'a> {
    names: BTreeMap<&'a Name, &'a Image>,
    digests: BTreeMap<&'a Digest, &'a Image>,
}

impl<'a> Known<'a> {
    fn of(images: &'a [Image]) -> Self {
        let named = |image: &'a Image| image.names.iter().map(move |name| (name, image));
        let digest = |image: &'a Image| Some((&image.target.as_ref()?.digest, image));
        Self {
            names: images.iter().flat_map(named).collect(),
            digests: images.iter().filter_map(digest).collect(),
        }
    }

    fn find(&self, name: &Name) -> Option<&'a Image> {
        let by_digest = || self.digests.get(name.digest()?);
        self.names.get(name).or_else(by_digest).copied()
    }
}

/// Digests of the configs that `manifest.json` lists, each hashed once.
#[derive(Default)]
struct Configs(BTreeMap<EntryId, Digest>);

impl Configs {
    /// Whether both lists mean the same config. Of an index, either may mean another platform.
    fn agree(
        &mut self,
        archive: &Archive,
        listed: &Listed,
        image: &Image,
    ) -> Result<bool, ArchiveError> {
        let Ok(content) = &image.outcome else {
            return Ok(true);
        };
        if content.blobs.iter().any(|blob| blob.role == Role::Index) {
            return Ok(true);
        }
        let digest = self.digest(archive, &listed.config)?;
        Ok(digest.is_none_or(|digest| digest == content.config.digest))
    }

    /// `None` when the archive has no such entry, which harms only who reads this list.
    fn digest(&mut self, archive: &Archive, path: &str) -> Result<Option<Digest>, ArchiveError> {
        let Some(entry) = archive.find(path)? else {
            return Ok(None);
        };
        if let Some(known) = self.0.get(&entry) {
            return Ok(Some(known.clone()));
        }
        let bytes = archive.read(entry, limits::CONFIG)?;
        let digest = Digest::of(Algorithm::Sha256, &bytes);
        self.0.insert(entry, digest.clone());
        Ok(Some(digest))
    }
}
