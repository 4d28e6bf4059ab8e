//! The configs of a docker-archive, each read once.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::archive::{Archive, ArchiveError, EntryId};
use crate::digest::{Algorithm, Digest};
use crate::document::Config;
use crate::fault::Fault;
use crate::image::{ImageError, Warning};
use crate::limits;
use crate::open::OpenError;

/// A config and its bytes.
pub(crate) struct ReadConfig {
    pub(crate) bytes: Bytes,
    pub(crate) digest: Digest,
    pub(crate) config: Config,
}

/// The configs read so far, by entry.
pub(crate) struct Configs<'a> {
    archive: &'a Archive,
    known: BTreeMap<EntryId, Result<Arc<ReadConfig>, ImageError>>,
    /// Whether a path means one config, whichever of several entries a tool reads.
    paths: BTreeMap<String, Result<(), ImageError>>,
    held: u64,
}

impl<'a> Configs<'a> {
    pub(crate) fn new(archive: &'a Archive) -> Self {
        Self {
            archive,
            known: BTreeMap::new(),
            paths: BTreeMap::new(),
            held: 0,
        }
    }

    pub(crate) fn archive(&self) -> &'a Archive {
        self.archive
    }

    /// How many configs were looked at, and the bytes of those that could be used.
    pub(crate) fn seen(&self) -> (usize, u64) {
        let sound = self.known.values().filter_map(|read| read.as_ref().ok());
        let bytes = sound.map(|read| u64::try_from(read.bytes.len()).unwrap_or(u64::MAX));
        (self.known.len(), bytes.sum())
    }

    /// The config in `entry`, which the archive calls `path`.
    pub(crate) fn read(&mut self, entry: EntryId, path: &str) -> Result<Arc<ReadConfig>, Fault> {
        let read = self.of_entry(entry, path)?;
        if let Some(known) = self.paths.get(path) {
            known.clone()?;
            return Ok(read);
        }
        let alone = Fault::settle(self.must_be_alone(path, &read))?;
        self.paths.insert(path.to_owned(), alone.clone());
        Ok(alone.map(|()| read)?)
    }

    fn of_entry(&mut self, entry: EntryId, path: &str) -> Result<Arc<ReadConfig>, Fault> {
        if let Some(known) = self.known.get(&entry) {
            return Ok(known.clone()?);
        }
        let read = Fault::settle(self.read_entry(entry, path))?.map(Arc::new);
        self.known.insert(entry, read.clone());
        Ok(read?)
    }

    /// Nothing but its path tells what a config should be. skopeo reads the first entry of that
    /// path, containerd and `docker load` the last.
    fn must_be_alone(&self, path: &str, read: &ReadConfig) -> Result<(), Fault> {
        for rival in self.archive.rivals(path)? {
            if self.archive.read(rival, limits::CONFIG)? != read.bytes {
                let entry = path.to_owned();
                return Err(ArchiveError::Repeated { entry }.into());
            }
        }
        Ok(())
    }

    fn read_entry(&mut self, entry: EntryId, path: &str) -> Result<ReadConfig, Fault> {
        let bytes = self.archive.read(entry, limits::CONFIG)?;
        self.held = self.held.saturating_add(self.archive.size(entry));
        if self.held > limits::DOCUMENTS_HELD {
            return Err(OpenError::TooManyDocuments.into());
        }
        let config = Config::parse(&bytes).map_err(|source| ImageError::Document {
            entry: path.to_owned(),
            source,
        })?;
        Ok(ReadConfig {
            digest: Digest::of(Algorithm::Sha256, &bytes),
            config,
            bytes,
        })
    }
}

/// Compares the digest of a config with the one that its path claims.
///
/// `<hex>.json` and `blobs/sha256/<hex>` are written by tools that hashed the config, so another
/// digest means damage. `sha256:<hex>` is only a label: archives are about that carry an id from
/// elsewhere there, and every reader takes them, so it is a warning.
pub(crate) fn check_path(path: &str, found: &Digest) -> Result<Option<Warning>, ImageError> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let label = name.strip_prefix("sha256:");
    let hex = label.unwrap_or(name);
    let hex = hex.strip_suffix(".json").unwrap_or(hex);
    let Ok(expected) = format!("sha256:{hex}").parse::<Digest>() else {
        return Ok(None);
    };
    if expected == *found {
        return Ok(None);
    }
    let (entry, found) = (path.to_owned(), found.clone());
    match label {
        Some(_) => Ok(Some(Warning::ConfigName { entry, found })),
        None => Err(ImageError::Damaged {
            entry,
            expected,
            found,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_called_by_its_digest_must_have_it() {
        let found = Digest::of(Algorithm::Sha256, b"config");
        let other = Digest::of(Algorithm::Sha256, b"other");
        let right = found.hex();
        for path in [
            format!("{right}.json"),
            format!("blobs/sha256/{right}"),
            format!("sha256:{right}"),
            "config.json".to_owned(),
            "0123.json".to_owned(),
        ] {
            assert!(matches!(check_path(&path, &found), Ok(None)), "{path}");
        }
        for path in [
            format!("{}.json", other.hex()),
            format!("blobs/sha256/{}", other.hex()),
        ] {
            let checked = check_path(&path, &found);
            assert!(matches!(checked, Err(ImageError::Damaged { .. })), "{path}");
        }
        let label = check_path(&other.to_string(), &found);
        assert!(matches!(label, Ok(Some(Warning::ConfigName { .. }))));
    }
}
