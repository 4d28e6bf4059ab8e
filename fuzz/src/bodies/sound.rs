//! What must hold of every bundle that was opened and checked.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use airdock_bundle::archive::{Archive, EntryId};
use airdock_bundle::image::{Blob, Content, Place, RefKind, Role};
use airdock_bundle::{Bundle, Verdict, limits};
use airdock_testkit::fixture::sha256;

/// Every image that may be imported is whole: nothing that it needs is absent, out of order, or
/// something else than its digest says. What may not be imported has a reason that can be shown.
pub(crate) fn assert_sound(bundle: &Bundle) {
    assert_told(bundle.verdict(), bundle.reason());
    let stored = stored(bundle);
    for image in bundle.images() {
        assert_told(image.verdict(), image.reason());
        if let Ok(content) = &image.outcome {
            assert_whole(content);
            content.blobs.iter().for_each(|it| assert_true(it, &stored));
        }
    }
}

fn assert_told(verdict: Verdict, reason: Option<String>) {
    assert_eq!(
        verdict == Verdict::Ok,
        reason.is_none(),
        "{verdict}: {reason:?}"
    );
    let hidden = reason
        .iter()
        .flat_map(|it| it.chars())
        .any(char::is_control);
    assert!(!hidden, "{reason:?}");
}

/// What the archive itself holds of the importable images, each entry once.
fn stored(bundle: &Bundle) -> BTreeMap<EntryId, Vec<u8>> {
    let contents = bundle
        .images()
        .iter()
        .filter_map(|it| it.outcome.as_ref().ok());
    let entries = contents
        .flat_map(|content| &content.blobs)
        .filter_map(entry);
    contents_of(bundle.archive(), &entries.collect::<Vec<_>>())
}

fn entry(blob: &Blob) -> Option<EntryId> {
    match blob.place {
        Place::Entry(entry) => Some(entry),
        Place::Memory(_) | Place::Elsewhere => None,
    }
}

/// The content of entries, read in one pass.
pub(crate) fn contents_of(archive: &Archive, entries: &[EntryId]) -> BTreeMap<EntryId, Vec<u8>> {
    let mut contents: BTreeMap<EntryId, Vec<u8>> = BTreeMap::new();
    let visited = archive.visit(entries, &mut |entry, piece| {
        contents.entry(entry).or_default().extend_from_slice(piece);
        ControlFlow::Continue(())
    });
    assert!(visited.is_ok(), "{visited:?}");
    contents
}

/// A blob has the size and the digest that its descriptor gives, by another hash function.
fn assert_true(blob: &Blob, stored: &BTreeMap<EntryId, Vec<u8>>) {
    let bytes = match &blob.place {
        Place::Memory(bytes) => bytes.as_ref(),
        Place::Entry(entry) => stored.get(entry).expect("an entry that was visited"),
        // Nobody has its bytes here.
        Place::Elsewhere => return,
    };
    assert_eq!(bytes.len() as u64, blob.descriptor.size, "{blob:?}");
    assert_eq!(sha256(bytes), blob.descriptor.digest.as_str(), "{blob:?}");
}

fn assert_whole(content: &Content) {
    let mut present: BTreeMap<&str, Role> = BTreeMap::new();
    for blob in &content.blobs {
        for (_, digest) in &blob.refs {
            assert!(
                present.contains_key(digest.as_str()),
                "{digest} is not before {blob:?}"
            );
        }
        let before = present.insert(blob.descriptor.digest.as_str(), blob.role);
        assert_eq!(before, None, "{blob:?} stands twice");
    }
    assert!(content.layers.len() <= limits::LAYERS);
    assert!(present.contains_key(content.config.digest.as_str()));
    for layer in &content.layers {
        assert!(
            present.contains_key(layer.descriptor.digest.as_str()),
            "{layer:?}"
        );
    }
    assert_described(content);
}

/// The manifest's own text names the config and the layers that the content has.
fn assert_described(content: &Content) {
    let manifest = content
        .blobs
        .iter()
        .find(|blob| blob.role == Role::Manifest);
    let manifest = manifest.expect("a manifest among the blobs");
    assert_eq!(manifest.descriptor.digest, content.manifest.digest);
    let Place::Memory(bytes) = &manifest.place else {
        panic!("a manifest that was not read");
    };
    let document: serde_json::Value = serde_json::from_slice(bytes).expect("a manifest in JSON");
    let said = |pointer: &str| document.pointer(pointer).and_then(|it| it.as_str());
    assert_eq!(said("/config/digest"), Some(content.config.digest.as_str()));
    for (position, layer) in content.layers.iter().enumerate() {
        let digest = layer.descriptor.digest.as_str();
        assert_eq!(said(&format!("/layers/{position}/digest")), Some(digest));
        let refers = |(kind, to): &(RefKind, _)| {
            *kind == RefKind::Layer(position) && *to == layer.descriptor.digest
        };
        assert!(
            manifest.refs.iter().any(refers),
            "{layer:?} is not referred to"
        );
    }
}
