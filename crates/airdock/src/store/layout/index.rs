//! `index.json` of a layout: read, changed and replaced as a whole. What others wrote into it
//! stays as it is.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Map, Value, json};

use super::{LayoutStore, StoreError};
use crate::agent::plan::{Orphan, Step};
use crate::config::OnRemove;
use crate::store::labels;
use crate::store::view::Record;

/// The OCI image layout specification, "index.json file".
pub(super) const FILE: &str = "index.json";

/// The full name, as containerd and `ctr` read it.
const NAME: &str = "io.containerd.image.name";
/// The name as skopeo, umoci and podman read it.
const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// The layout's index.
#[derive(Debug)]
pub(super) struct Index {
    document: Map<String, Value>,
    entries: Vec<Value>,
}

impl Default for Index {
    fn default() -> Self {
        let mut document = Map::new();
        document.insert("schemaVersion".to_owned(), json!(2));
        let media_type = "application/vnd.oci.image.index.v1+json";
        document.insert("mediaType".to_owned(), json!(media_type));
        let entries = Vec::new();
        Self { document, entries }
    }
}

impl Index {
    pub(super) fn read(store: &LayoutStore) -> Result<Self, StoreError> {
        let path = store.directory().join(FILE);
        let bytes = fs::read(&path).map_err(|e| StoreError::layout("read", &path, e))?;
        Self::parse(&bytes).map_err(|reason| StoreError::Malformed { path, reason })
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let document: Value = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        let Value::Object(mut document) = document else {
            return Err("not a JSON object".to_owned());
        };
        match document.remove("manifests") {
            Some(Value::Array(entries)) => Ok(Self { document, entries }),
            None | Some(Value::Null) => {
                let entries = Vec::new();
                Ok(Self { document, entries })
            }
            Some(_) => Err("\"manifests\" is not a list".to_owned()),
        }
    }

    pub(super) fn write(&self, store: &LayoutStore) -> Result<(), StoreError> {
        let mut document = self.document.clone();
        document.insert("manifests".to_owned(), Value::Array(self.entries.clone()));
        store.replace(FILE, Value::Object(document).to_string().as_bytes())
    }

    pub(super) fn records(&self) -> BTreeMap<String, Record> {
        self.entries.iter().filter_map(record).collect()
    }

    /// The digests of everything that is named or listed.
    pub(super) fn targets(&self) -> impl Iterator<Item = &str> {
        self.entries
            .iter()
            .filter_map(|entry| entry.get("digest")?.as_str())
    }

    pub(super) fn apply(&mut self, step: &Step) {
        let before = self.take(&step.name);
        let mut annotations = before
            .as_ref()
            .and_then(|entry| entry.get("annotations")?.as_object().cloned())
            .unwrap_or_default();
        let labels = match before {
            Some(_) => &step.labels,
            None => &step.fresh,
        };
        for (key, value) in labels {
            annotations.insert(key.clone(), json!(value));
        }
        annotations.insert(NAME.to_owned(), json!(step.name));
        annotations.insert(REF_NAME.to_owned(), json!(step.name));
        self.entries.push(json!({
            "mediaType": step.target.media_type,
            "digest": step.target.digest.to_string(),
            "size": step.target.size,
            "annotations": annotations,
        }));
        self.entries
            .sort_by_key(|entry| name(entry).map(str::to_owned));
    }

    /// Gives up a name; false where it isn't ours, or not what it was. A name that was there
    /// before us stays, without our annotations.
    pub(super) fn let_go(&mut self, orphan: &Orphan, policy: OnRemove) -> bool {
        let as_it_was = |record: &Record| {
            record.target == orphan.target
                && record.labels.get(labels::BUNDLE) == Some(&orphan.bundle)
        };
        if !self.records().get(&orphan.name).is_some_and(as_it_was) {
            return false;
        }
        let Some(mut entry) = self.take(&orphan.name) else {
            return false;
        };
        if policy == OnRemove::Keep || !orphan.created {
            forget_us(&mut entry);
            self.entries.push(entry);
        }
        true
    }

    fn take(&mut self, wanted: &str) -> Option<Value> {
        let position = self.entries.iter().position(|e| name(e) == Some(wanted))?;
        Some(self.entries.remove(position))
    }
}

fn forget_us(entry: &mut Value) {
    if let Some(annotations) = entry.get_mut("annotations").and_then(Value::as_object_mut) {
        for label in [labels::BUNDLE, labels::SOURCE, labels::CREATED] {
            annotations.remove(label);
        }
    }
}

fn name(entry: &Value) -> Option<&str> {
    let annotations = entry.get("annotations")?;
    annotations
        .get(NAME)
        .or_else(|| annotations.get(REF_NAME))?
        .as_str()
}

fn record(entry: &Value) -> Option<(String, Record)> {
    let target = entry.get("digest")?.as_str()?.parse().ok()?;
    let annotations = entry.get("annotations")?.as_object()?;
    let labels = annotations
        .iter()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect();
    Some((name(entry)?.to_owned(), Record { target, labels }))
}
