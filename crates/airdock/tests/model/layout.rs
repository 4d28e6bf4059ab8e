//! The embedded store as a tool beside the agent reads and changes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use airdock_testkit::Outcome;
use airdock_testkit::fixture::Target;
use airdock_testkit::mount::Mount;
use serde_json::{Value, json};

use crate::image::{Seed, image};
use crate::store::{Record, Records, Result};

const NAME: &str = "io.containerd.image.name";

#[derive(Debug)]
pub(crate) struct Layout {
    path: PathBuf,
    disk: Option<Mount>,
}

impl Layout {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, disk: None }
    }

    pub(crate) fn on(disk: Mount) -> Self {
        Self {
            path: disk.point().join("store"),
            disk: Some(disk),
        }
    }

    pub(crate) fn disk(&self) -> Option<&Mount> {
        self.disk.as_ref()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn index(&self) -> PathBuf {
        self.path.join("index.json")
    }

    fn read(&self) -> Result<Value> {
        match fs::read(self.index()) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(json!({ "manifests": [] })),
            Err(e) => Err(e.into()),
        }
    }

    pub(crate) fn records(&self) -> Result<Records> {
        let index = self.read()?;
        let entries = index["manifests"].as_array().into_iter().flatten();
        Ok(entries.filter_map(record).collect())
    }

    /// Changes the list of manifests, alone with it.
    fn change<T>(&self, change: impl FnOnce(&mut Vec<Value>) -> T) -> Result<T> {
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.path.join(".airdock/index.lock"))?;
        lock.lock()?;
        let mut index = self.read()?;
        let entries = index["manifests"].as_array_mut().ok_or("no manifests")?;
        let changed = change(entries);
        let beside = self.path.join(".airdock/others");
        fs::write(&beside, index.to_string())?;
        fs::rename(beside, self.index())?;
        Ok(changed)
    }

    pub(crate) fn delete(&self, name: &str) -> Outcome {
        self.change(|entries| entries.retain(|entry| !is(entry, name)))
    }

    pub(crate) fn delete_blob(&self, digest: &str) -> io::Result<()> {
        match fs::remove_file(self.path.join("blobs").join(digest.replace(':', "/"))) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    pub(crate) fn blobs(&self) -> io::Result<BTreeSet<String>> {
        let entries = fs::read_dir(self.path.join("blobs/sha256"))?;
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let names = entries.filter_map(io::Result::ok).map(name);
        Ok(names.map(|hex| format!("sha256:{hex}")).collect())
    }

    pub(crate) fn label(&self, name: &str, key: &str, value: &str) -> Result<bool> {
        self.change(|entries| {
            let Some(entry) = entries.iter_mut().find(|entry| is(entry, name)) else {
                return false;
            };
            entry["annotations"][key] = json!(value);
            true
        })
    }

    pub(crate) fn bring(&self, name: &str, seed: Seed) -> Outcome {
        let target = Target::from(image(seed));
        for blob in target.blobs() {
            let path = self.path.join(blob.path());
            if !path.exists() {
                fs::write(path, &blob.content)?;
            }
        }
        let descriptor = target.blob();
        let entry = json!({
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": descriptor.digest(),
            "size": descriptor.content.len(),
            "annotations": { NAME: name },
        });
        self.change(|entries| {
            entries.retain(|entry| !is(entry, name));
            entries.push(entry);
        })
    }

    pub(crate) fn tag(&self, from: &str, to: &str) -> Result<bool> {
        self.change(|entries| {
            let Some(mut entry) = entries.iter().find(|entry| is(entry, from)).cloned() else {
                return false;
            };
            entry["annotations"][NAME] = json!(to);
            entry["annotations"]["org.opencontainers.image.ref.name"] = json!(to);
            entries.retain(|entry| !is(entry, to));
            entries.push(entry);
            true
        })
    }

    /// What an unfinished write leaves.
    pub(crate) fn leftovers(&self) -> Result<Vec<String>> {
        let Ok(entries) = fs::read_dir(self.path.join(".airdock")) else {
            return Ok(Vec::new());
        };
        let names = entries.filter_map(io::Result::ok);
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        Ok(names.filter(|name| !name.ends_with("lock")).collect())
    }

    pub(crate) fn clear(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}

fn is(entry: &Value, name: &str) -> bool {
    entry["annotations"][NAME] == name
}

fn record(entry: &Value) -> Option<(String, Record)> {
    let annotations = entry["annotations"].as_object()?;
    let labels: BTreeMap<String, String> = annotations
        .iter()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect();
    let target = entry["digest"].as_str()?.to_owned();
    Some((labels.get(NAME)?.clone(), Record { target, labels }))
}
