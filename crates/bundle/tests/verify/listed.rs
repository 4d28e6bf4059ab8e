//! What is looked at: everything that a bundle lists and holds.

use std::fs::File;
use std::time::{Duration, Instant};

use airdock_bundle::Verdict;
use airdock_testkit::fixture::{Blob, Bundle, Image, Target, Tree, media_type};
use serde_json::{Value, json};

use crate::seen::{NAME, file, see, survey, verified};

const CHART: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// A layout with an image, and with `descriptor` beside it.
fn beside(descriptor: &Value, blobs: &[&Blob]) -> Tree {
    let tree = Bundle::new().with(&[NAME], Image::small("a")).oci();
    let index: Value = serde_json::from_slice(tree.content("index.json").unwrap()).unwrap();
    let manifests = json!([index["manifests"][0], descriptor]);
    let tree = tree.with_json("index.json", "/manifests", manifests);
    let add = |tree: Tree, blob: &&Blob| tree.file(&blob.path(), &blob.content);
    blobs.iter().fold(tree, add)
}

#[test]
fn what_is_no_image_is_verified_as_well() {
    let config = Blob::new("application/vnd.cncf.helm.config.v1+json", b"{}".to_vec());
    let chart = Blob::new(CHART, b"a chart".to_vec());
    let manifest = json!({
        "schemaVersion": 2, "mediaType": media_type::MANIFEST,
        "config": config.descriptor, "layers": [chart.descriptor],
    });
    let manifest = Blob::new(media_type::MANIFEST, manifest.to_string().into_bytes());
    let entry = serde_json::to_value(&manifest.descriptor).unwrap();
    let tree = beside(&entry, &[&config, &chart, &manifest]);
    see(&tree).assert("ok", &[]);
    for blob in [&config, &chart] {
        let damaged = tree.clone().flipped(&blob.path(), 0);
        let words = format!("the content of \"{}\" is damaged", blob.path());
        see(&damaged).assert("partial", &[("differs", &words)]);
    }
    see(&tree.without(&chart.path())).assert("ok", &[]);
}

#[test]
fn a_blob_that_the_list_names_itself_is_verified() {
    let blob = Blob::new("text/plain", b"read me".to_vec());
    let tree = beside(&serde_json::to_value(&blob.descriptor).unwrap(), &[&blob]);
    see(&tree).assert("ok", &[]);
    see(&tree.flipped(&blob.path(), 0)).assert("partial", &[("differs", "is damaged")]);
}

#[test]
fn what_nothing_lists_is_nobodys_concern() {
    let blob = Blob::new("text/plain", b"left over".to_vec());
    let tree = Bundle::new().with(&[NAME], Image::small("a")).oci();
    let tree = tree.file(&blob.path(), b"something else");
    see(&tree).assert("ok", &[]);
}

#[test]
fn an_image_for_another_platform_alone_is_verified_though_it_is_refused() {
    let image = Image::small("a").platform("linux/s390x");
    let tree = Bundle::new().with(&[NAME], image.clone()).oci();
    let seen = see(&tree);
    assert_eq!((seen.verdict.as_str(), seen.findings.len()), ("refused", 0));
    assert!(seen.reason.contains("no image for linux/amd64"), "{seen:?}");
    let damaged = tree.flipped(&image.layers()[0].blob().path(), 0);
    see(&damaged).assert("refused", &[("differs", "linux/s390x: ")]);
}

#[test]
fn an_index_of_many_paths_to_few_documents_is_quick() {
    let image = Image::small("a");
    let damaged = image.layers()[0].blob().path();
    let mut blobs = image.blobs();
    let mut below = serde_json::to_value(image.manifest().descriptor).unwrap();
    for _ in 0..8 {
        // Of different sizes, so that no two are the same.
        let children = vec![&below; 10];
        let index = json!({"schemaVersion": 2, "manifests": children});
        let index = Blob::new(media_type::INDEX, index.to_string().into_bytes());
        below = serde_json::to_value(&index.descriptor).unwrap();
        blobs.push(index);
    }
    let started = Instant::now();
    let tree = beside(&below, &[]);
    let add = |tree: Tree, blob: &Blob| match tree.has(&blob.path()) {
        true => tree,
        false => tree.file(&blob.path(), &blob.content),
    };
    let tree = blobs.iter().fold(tree, add);
    assert_eq!(
        verified(&tree).verdict().unwrap().to_string(),
        "partial",
        "unnamed"
    );
    let verified = verified(&tree.flipped(&damaged, 3));
    let findings = verified.images().map(|(_, checked)| checked.findings.len());
    assert_eq!(findings.collect::<Vec<_>>(), [1, 1]);
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn an_index_that_is_too_deep_stays_refused() {
    let mut target = Target::from(Image::small("a"));
    for _ in 0..9 {
        target = Target::Index(vec![target]);
    }
    let tree = Bundle::new().with(&[NAME], target).oci();
    see(&tree).assert("refused", &[("unusable", "nested over 8 levels")]);
}

#[test]
fn a_bundle_that_changes_meanwhile_is_incomplete() {
    let image = Image::small("a");
    let tree = Bundle::new().with(&[NAME], image.clone()).oci();
    let path = image.layers()[0].blob().path();
    for shorten in [true, false] {
        let file = file(&tree.tar());
        let survey = survey(file.try_clone().unwrap());
        file.set_len(if shorten { 512 } else { 1 << 20 }).unwrap();
        let error = survey.verify(&|_| ()).unwrap_err();
        assert_eq!(error.verdict(), Some(Verdict::Incomplete), "{error}");
    }
    let dir = tempfile::tempdir().unwrap();
    tree.write_dir(dir.path()).unwrap();
    let survey = survey(File::open(dir.path()).unwrap());
    std::fs::write(dir.path().join(&path), "other").unwrap();
    let error = survey.verify(&|_| ()).unwrap_err();
    assert_eq!(error.verdict(), Some(Verdict::Incomplete), "{error}");
    assert!(error.to_string().contains(&path), "{error}");
}
