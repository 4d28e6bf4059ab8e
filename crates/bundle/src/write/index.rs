//! `index.json`, as containerd's exporter writes it, and Docker's `manifest.json`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Contents, DockerImage, Listed};
use crate::digest::Digest;
use crate::document::Descriptor;
use crate::document::media_type;
use crate::documents::entry_name;
use crate::layout::{BASE, IMAGE_NAME, MISSING, REF_NAME};
use crate::name::Name;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    schema_version: u32,
    media_type: &'static str,
    manifests: Vec<Descriptor>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<&'static str, String>,
}

/// The document that lists the images: those with names first, by name.
pub(super) fn index(contents: &Contents) -> Vec<u8> {
    let mut manifests: Vec<(Option<&Name>, Descriptor)> =
        contents.listed.values().flat_map(entries).collect();
    let key = |(name, descriptor): &(Option<&Name>, Descriptor)| {
        let name = name.map(ToString::to_string);
        (name.is_none(), name, descriptor.digest.clone())
    };
    manifests.sort_by_cached_key(key);
    json(&Index {
        schema_version: 2,
        media_type: media_type::OCI_INDEX,
        manifests: manifests.into_iter().map(|(_, it)| it).collect(),
        annotations: annotations(contents),
    })
}

/// One for each name; one without a name where there is none.
fn entries(listed: &Listed) -> Vec<(Option<&Name>, Descriptor)> {
    if listed.names.is_empty() {
        return vec![(None, listed.descriptor.clone())];
    }
    let names = listed.names.iter();
    names
        .map(|name| (Some(name), named(&listed.descriptor, name)))
        .collect()
}

fn named(descriptor: &Descriptor, name: &Name) -> Descriptor {
    let mut descriptor = descriptor.clone();
    let annotations = &mut descriptor.annotations;
    annotations.insert(IMAGE_NAME.to_owned(), name.to_string());
    match name.tag() {
        Some(tag) => annotations.insert(REF_NAME.to_owned(), tag.to_owned()),
        None => annotations.remove(REF_NAME),
    };
    descriptor
}

/// Bytes of one entry.
pub(super) fn entry_size(descriptor: &Descriptor, name: Option<&Name>) -> u64 {
    let entry = name.map(|name| named(descriptor, name));
    json(entry.as_ref().unwrap_or(descriptor)).len() as u64
}

fn annotations(contents: &Contents) -> BTreeMap<&'static str, String> {
    if contents.elsewhere.is_empty() {
        return BTreeMap::new();
    }
    let bases: Vec<&str> = contents.bases.iter().map(String::as_str).collect();
    let missing: Vec<&str> = contents.elsewhere.keys().map(Digest::as_str).collect();
    BTreeMap::from([(BASE, bases.join(" ")), (MISSING, missing.join(" "))])
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct DockerEntry {
    config: String,
    repo_tags: Vec<String>,
    layers: Vec<String>,
}

/// Docker's list. It knows tags only.
pub(super) fn docker(images: &BTreeSet<DockerImage>) -> Vec<u8> {
    let entry = |image: &DockerImage| DockerEntry {
        config: entry_name(&image.config),
        repo_tags: tags(&image.names),
        layers: image.layers.iter().map(entry_name).collect(),
    };
    json(&images.iter().map(entry).collect::<Vec<_>>())
}

fn tags(names: &[Name]) -> Vec<String> {
    let tagged = names.iter().filter(|name| name.tag().is_some());
    tagged
        .map(|name| name.clone().tag_first().to_string())
        .collect()
}

fn json(document: &impl Serialize) -> Vec<u8> {
    #[expect(
        clippy::expect_used,
        reason = "plain structs with string keys: nothing in them can fail to serialise"
    )]
    serde_json::to_vec(document).expect("serialises")
}
