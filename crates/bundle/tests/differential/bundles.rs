//! skopeo and umoci, over whole bundles: what both accept under a name is the same image.

use std::collections::BTreeMap;
use std::path::Path;

use airdock_bundle::Bundle;
use airdock_bundle::archive::Archive;
use airdock_bundle::image::{Content, Image};
use airdock_bundle::platform::{Matcher, Platform};
use airdock_testkit::fixture::{self, Tree, sha256};
use airdock_testkit::process::run;
use airdock_testkit::{Need, Outcome, Suite};
use serde_json::{Value, json};

use super::variants::{self, TAGS};

const SKOPEO: &[Need] = &[Need::Program("skopeo")];
const UMOCI: &[Need] = &[Need::Program("umoci")];

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test(
            "skopeo_sees_the_same_manifests_in_layouts",
            SKOPEO,
            skopeo_on_layouts,
        )
        .test(
            "skopeo_sees_the_same_images_in_docker_archives",
            SKOPEO,
            skopeo_on_docker_archives,
        )
        .test(
            "umoci_sees_the_same_layers_in_layouts",
            UMOCI,
            umoci_on_layouts,
        )
}

/// Ours, by name: what may be imported after every digest was compared.
fn ours(path: &Path) -> BTreeMap<String, (String, Content)> {
    let platform = Matcher::only(Platform::new("linux", "amd64", ""));
    let opened = Archive::open(path).map_err(Into::into);
    let bundle = opened.and_then(|archive| Bundle::open(archive, &platform));
    let Ok(mut bundle) = bundle else {
        return BTreeMap::new();
    };
    match bundle.check(&mut |_| ()) {
        Ok(()) => bundle.images().iter().flat_map(named).collect(),
        Err(_) => BTreeMap::new(),
    }
}

fn named(image: &Image) -> Vec<(String, (String, Content))> {
    let (Ok(content), Some(target)) = (&image.outcome, &image.target) else {
        return Vec::new();
    };
    let seen = || (target.digest.to_string(), content.clone());
    let names = image.names.iter();
    names.map(|name| (name.to_string(), seen())).collect()
}

/// What skopeo calls the manifest of a source; `None` if it finds none.
fn skopeo(source: &str) -> Option<String> {
    let ended = run("skopeo", &["inspect", "--raw", source]).expect("skopeo starts");
    (ended.code == 0).then_some(ended.stdout)
}

fn skopeo_on_layouts(dir: &Path) -> Outcome {
    let mut agreed = 0;
    for (what, tree) in variants::layouts() {
        let path = dir.join(what);
        tree.write_tar(&path)?;
        let ours = ours(&path);
        for tag in TAGS {
            let theirs = skopeo(&format!("oci-archive:{}:{tag}", path.display()));
            let ours = ours.get(&variants::name(tag));
            if let (Some(theirs), Some((digest, _))) = (theirs, ours) {
                assert_eq!(*digest, sha256(theirs.as_bytes()), "{what}:{tag}");
                agreed += 1;
            }
        }
    }
    assert!(agreed > 8, "only {agreed} images were accepted by both");
    Ok(())
}

/// A docker-archive has no manifest: each tool makes its own, of the same config and layers.
fn skopeo_on_docker_archives(dir: &Path) -> Outcome {
    let mut agreed = 0;
    for (what, tree) in variants::docker_archives() {
        let path = dir.join(what);
        tree.write_tar(&path)?;
        let ours = ours(&path);
        for tag in TAGS {
            let name = variants::name(tag);
            let theirs = skopeo(&format!("docker-archive:{}:{name}", path.display()));
            if let (Some(theirs), Some((_, content))) = (theirs, ours.get(&name)) {
                assert_eq!(parts(content), listed(&theirs)?, "{what}:{tag}");
                agreed += 1;
            }
        }
    }
    assert!(agreed > 8, "only {agreed} images were accepted by both");
    Ok(())
}

/// Digests of the config and of the layers.
fn parts(content: &Content) -> Vec<String> {
    let layers = content.layers.iter().map(|layer| &layer.descriptor.digest);
    let digests = std::iter::once(&content.config.digest).chain(layers);
    digests.map(ToString::to_string).collect()
}

/// The same, as a manifest lists them.
fn listed(manifest: &str) -> Result<Vec<String>, serde_json::Error> {
    let manifest: Value = serde_json::from_str(manifest)?;
    let layers = manifest["layers"].as_array().into_iter().flatten();
    let parts = std::iter::once(&manifest["config"]).chain(layers);
    Ok(parts.map(|part| digest(&part["digest"])).collect())
}

fn digest(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn umoci_on_layouts(dir: &Path) -> Outcome {
    let path = dir.join("layout");
    with_history().write_dir(&path)?;
    let ours = ours(&path);
    for tag in TAGS {
        let image = format!("{}:{tag}", path.display());
        let ended = run("umoci", &["stat", "--json", "--image", &image])?;
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let stat: Value = serde_json::from_str(&ended.stdout)?;
        let history = stat["history"].as_array().into_iter().flatten();
        let theirs = history.map(|step| digest(&step["layer"]["digest"]));
        let (_, content) = ours.get(&variants::name(tag)).expect("an image of ours");
        let ours = parts(content).split_off(1);
        assert_eq!(ours, theirs.collect::<Vec<_>>(), "{tag}");
    }
    Ok(())
}

/// umoci shows layers as steps of the history.
fn with_history() -> Tree {
    let step = json!({ "created_by": "a test" });
    let with = |(bundle, tag): (fixture::Bundle, &&str)| {
        let image = variants::image(tag).with_config("/history", json!([step, step]));
        bundle.with(&[&variants::name(tag)], image)
    };
    let empty = fixture::Bundle::new();
    TAGS.iter()
        .fold(empty, |bundle, tag| with((bundle, tag)))
        .oci()
}
