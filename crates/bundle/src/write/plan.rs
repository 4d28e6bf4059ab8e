//! Which entries a bundle has, in their order.

use bytes::Bytes;

use super::{Contents, index};
use crate::digest::Digest;
use crate::docker;
use crate::documents::entry_name;
use crate::layout;
use crate::limits;

/// What makes a directory an image layout.
const MARKER: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;

/// An entry of the tar.
pub(super) struct Entry<'a> {
    pub(super) path: String,
    pub(super) body: Body<'a>,
}

pub(super) enum Body<'a> {
    Directory,
    Bytes(Bytes),
    Layer(&'a Digest, u64),
}

impl Entry<'_> {
    pub(super) fn size(&self) -> u64 {
        match &self.body {
            Body::Directory => 0,
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::Layer(_, size) => *size,
        }
    }

    /// Whether its content is worth a place of its own: aligned, and in frames of its own.
    pub(super) fn is_large(&self) -> bool {
        matches!(self.body, Body::Layer(_, size) if size >= limits::ALIGNMENT)
    }
}

/// All entries. Some readers make no directories on their own, so those are there too.
pub(super) fn entries(contents: &Contents) -> Vec<Entry<'_>> {
    let file = |path: &str, bytes: Vec<u8>| Entry {
        path: path.to_owned(),
        body: Body::Bytes(bytes.into()),
    };
    let mut entries = vec![
        file(layout::MARKER, MARKER.to_vec()),
        file(layout::INDEX, index::index(contents)),
    ];
    if !contents.docker.is_empty() {
        entries.push(file(docker::LIST, index::docker(&contents.docker)));
    }
    entries.extend(directories(contents));
    entries.extend(contents.documents.iter().map(|(digest, bytes)| Entry {
        path: entry_name(digest),
        body: Body::Bytes(bytes.clone()),
    }));
    entries.extend(contents.layers.iter().map(|(digest, size)| Entry {
        path: entry_name(digest),
        body: Body::Layer(digest, *size),
    }));
    entries
}

fn directories(contents: &Contents) -> impl Iterator<Item = Entry<'_>> {
    let digests = contents.documents.keys().chain(contents.layers.keys());
    let mut algorithms: Vec<_> = digests.map(Digest::algorithm).collect();
    algorithms.sort_unstable();
    algorithms.dedup();
    let below = algorithms.into_iter().map(|it| format!("blobs/{it}/"));
    std::iter::once("blobs/".to_owned())
        .chain(below)
        .map(|path| Entry {
            path,
            body: Body::Directory,
        })
}
