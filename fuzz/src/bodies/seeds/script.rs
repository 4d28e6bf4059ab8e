//! A sample's entries as parts that refer to each other.

use airdock_bundle::codec::Codec;
use airdock_bundle::tar::{Entry, Kind};
use airdock_testkit::fixture::sha256;

use crate::bodies::parts::{MOST, SEPARATOR, label};

/// Of a plain layer, enough to be looked at. References stay true, however long it is.
const LAYER: usize = 600;

/// What stands around a size in the documents of the samples.
const SIZE_FIELDS: [(&str, &str); 5] = [
    ("\"size\":", ","),
    ("\"size\":", "}"),
    ("\"size\": ", ","),
    ("\"size\": ", "}"),
    ("\"size\": ", "\n"),
];

/// A file on its way to a part.
struct File {
    /// What the part starts with, before the content.
    title: Option<String>,
    content: Vec<u8>,
}

/// The script of an image layout; `None` if it is none, or has too many parts.
pub(super) fn layout(entries: Vec<(Entry, Vec<u8>)>) -> Option<Vec<u8>> {
    let content = |name: &str| {
        let found = entries.iter().find(|(entry, _)| entry.name == name)?;
        Some(found.1.clone())
    };
    let (marker, index) = (content("oci-layout")?, content("index.json")?);
    let is_blob = |entry: &Entry| entry.name.starts_with("blobs/") && entry.kind == Kind::File;
    let blobs = entries.iter().filter(|(entry, _)| is_blob(entry));
    let blobs = blobs.map(|(_, content)| File {
        title: None,
        content: content.clone(),
    });
    let parts = referring(blobs.collect(), &index);
    let parts: Vec<Vec<u8>> = std::iter::once(marker).chain(parts).collect();
    joined(parts)
}

/// The script of a docker-archive; `None` if it is none, or has too many parts.
pub(super) fn saved(entries: Vec<(Entry, Vec<u8>)>) -> Option<Vec<u8>> {
    let list = entries
        .iter()
        .find(|(entry, _)| entry.name == "manifest.json")?;
    let list = list.1.clone();
    let text = String::from_utf8_lossy(&list);
    let is_wanted = |entry: &Entry| entry.name != "manifest.json" && text.contains(&entry.name);
    let targets: Vec<&str> = entries
        .iter()
        .filter_map(|(entry, _)| target(entry))
        .collect();
    let is_target = |entry: &Entry| targets.iter().any(|it| it.ends_with(&entry.name));
    let files = entries
        .iter()
        .filter(|(entry, _)| is_wanted(entry) || is_target(entry));
    let files = files.map(|(entry, content)| match target(entry) {
        Some(target) => File {
            title: Some(format!("{}{}", sign(&entry.kind), entry.name)),
            content: target.as_bytes().to_vec(),
        },
        None => File {
            title: Some(entry.name.clone()),
            content: content.clone(),
        },
    });
    joined(referring(files.collect(), &list))
}

fn target(entry: &Entry) -> Option<&str> {
    match &entry.kind {
        Kind::Symlink { target } | Kind::HardLink { target } => Some(target),
        Kind::File | Kind::Directory => None,
    }
}

fn sign(kind: &Kind) -> &'static str {
    match kind {
        Kind::Symlink { .. } => ">",
        _ => "=",
    }
}

fn joined(parts: Vec<Vec<u8>>) -> Option<Vec<u8>> {
    (parts.len() <= MOST).then(|| parts.join(SEPARATOR.as_bytes()))
}

/// The files as parts, each behind those that it mentions, and `last` behind them all.
fn referring(mut files: Vec<File>, last: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let mut known = Vec::new();
    while !files.is_empty() {
        let free = (0..files.len()).find(|at| mentions_none(&files[*at], &files));
        let file = files.remove(free.unwrap_or(0));
        let content = refer(&file.content, &known);
        known.push((hex(&file.content), file.content.len()));
        parts.push(with_title(&file, short(content), &known));
    }
    parts.push(refer(last, &known));
    parts
}

fn mentions_none(file: &File, files: &[File]) -> bool {
    let text = String::from_utf8_lossy(&file.content);
    let digests = files.iter().map(|other| hex(&other.content));
    !digests.into_iter().any(|digest| text.contains(&digest))
}

fn with_title(file: &File, content: Vec<u8>, known: &[(String, usize)]) -> Vec<u8> {
    match &file.title {
        Some(title) => [&refer(title.as_bytes(), known)[..], b"\n", &content].concat(),
        None => content,
    }
}

fn short(mut content: Vec<u8>) -> Vec<u8> {
    let is_layer = content.contains(&0) && Codec::sniff(&content) == Codec::Plain;
    if is_layer {
        content.truncate(LAYER);
    }
    content
}

fn hex(content: &[u8]) -> String {
    sha256(content).replace("sha256:", "")
}

/// `content` with what it says of known files as references to them.
fn refer(content: &[u8], known: &[(String, usize)]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(content) else {
        return content.to_vec();
    };
    let mut text = text.to_owned();
    for (index, (hex, size)) in known.iter().enumerate() {
        let label = label(index);
        text = text.replace(&format!("sha256:{hex}"), &format!("@d{label}"));
        text = text.replace(hex, &format!("@h{label}"));
        for (before, after) in SIZE_FIELDS {
            let from = format!("{before}{size}{after}");
            text = text.replace(&from, &format!("{before}@s{label}{after}"));
        }
    }
    text.into_bytes()
}
