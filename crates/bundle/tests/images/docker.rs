//! docker-archives.

use airdock_testkit::fixture::{Bundle, Image, Layer, Tree, sha256};
use serde_json::{Value, json};

use crate::seen::{NAME, bundle, see, see_on};

fn one(image: Image) -> Tree {
    Bundle::new().with(&[NAME], image).docker()
}

fn layer_path(layer: &Layer) -> String {
    format!("{}/layer.tar", &layer.digest()["sha256:".len()..])
}

/// The manifest that containerd's importer writes, spelt out.
fn expected_manifest(image: &Image, media_type: &str) -> String {
    let (config, layer) = (image.config(), image.layers()[0].blob());
    format!(
        concat!(
            r#"{{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","#,
            r#""config":{{"mediaType":"application/vnd.docker.container.image.v1+json","digest":"{}","size":{}}},"#,
            r#""layers":[{{"mediaType":"{}","digest":"{}","size":{}}}]}}"#
        ),
        config.digest(),
        config.descriptor.size,
        media_type,
        layer.digest(),
        layer.descriptor.size
    )
}

#[test]
fn the_manifest_is_what_containerd_would_write() {
    let plain = "application/vnd.docker.image.rootfs.diff.tar";
    let gzip = "application/vnd.docker.image.rootfs.diff.tar.gzip";
    for (layer, media_type) in [
        (Layer::file("a", b"a"), plain),
        (Layer::file("a", b"a").gzip(), gzip),
        (Layer::file("a", b"a").zstd(), gzip),
    ] {
        let image = Image::new().layer(layer);
        let opened = bundle(&one(image.clone()));
        let target = opened.images()[0].target.as_ref().unwrap();
        let manifest = expected_manifest(&image, media_type);
        assert_eq!(target.digest.as_str(), sha256(manifest.as_bytes()));
        assert_eq!(target.size, manifest.len() as u64);
    }
}

#[test]
fn an_image_without_layers_has_an_empty_list() {
    let opened = bundle(&one(Image::new()));
    let content = opened.images()[0].outcome.as_ref().unwrap();
    assert!(content.layers.is_empty());
    let null = one(Image::new()).with_json("manifest.json", "/0/Layers", Value::Null);
    see(&null).assert("ok", "");
}

#[test]
fn layers_may_be_links_and_repeated() {
    let layer = Layer::file("a", b"a");
    let path = layer_path(&layer);
    let image = Image::new().layer(layer.clone()).layer(layer);
    let tree = one(image).with_json("manifest.json", "/0/Layers/1", json!("again/layer.tar"));
    for tree in [
        tree.clone()
            .symlink("again/layer.tar", &format!("../{path}")),
        tree.clone().hardlink("again/layer.tar", &path),
        tree.clone().with_json(
            "manifest.json",
            "/0/Layers/1",
            json!(format!("./x/../{path}")),
        ),
    ] {
        see(&tree).assert("ok", "");
        let opened = bundle(&tree);
        let content = opened.images()[0].outcome.as_ref().unwrap();
        assert_eq!((content.layers.len(), content.blobs.len()), (2, 3));
    }
    let dangling = tree.symlink("again/layer.tar", "../nowhere");
    see(&dangling).assert("refused", "\"again/layer.tar\" links to");
}

#[test]
fn every_part_that_is_missing_is_named() {
    let image = Image::small("a");
    let tree = one(image.clone());
    let config = format!("{}.json", &image.config().digest()["sha256:".len()..]);
    for (part, words) in [
        (config, "which [0].Config of manifest.json names"),
        (
            layer_path(&image.layers()[0]),
            "which [0].Layers[0] of manifest.json names",
        ),
    ] {
        see(&tree.clone().without(&part)).assert("refused", words);
    }
    let empty = tree
        .clone()
        .with_json("manifest.json", "/0/Layers/0", json!(""));
    see(&empty).assert("refused", "[0].Layers[0] of manifest.json is empty");
    let null = tree.with_json("manifest.json", "/0/Config", Value::Null);
    see(&null).assert("refused", "[0].Config of manifest.json is empty");
}

#[test]
fn every_flipped_byte_is_noticed() {
    for layer in [
        Layer::noise(1, 5000),
        Layer::noise(1, 5000).gzip(),
        Layer::noise(1, 5000).zstd(),
    ] {
        let image = Image::new().layer(layer.clone());
        let config = format!("{}.json", &image.config().digest()["sha256:".len()..]);
        let tree = one(image.clone());
        let middle = image.config().content.len() / 2;
        see(&tree.clone().flipped(&config, middle)).assert("refused", &config);
        for at in [700, layer.blob().content.len() - 1] {
            let seen = see(&tree.clone().flipped(&layer_path(&layer), at));
            assert_eq!(seen.verdict, "refused", "{at}: {seen:?}");
        }
    }
}

#[test]
fn a_compressed_layer_must_unpack_to_its_diff_id() {
    let layer = Layer::file("a", b"a").gzip();
    let path = layer_path(&layer);
    let tree = one(Image::new().layer(layer));
    let other = Layer::file("b", b"b").gzip();
    let swapped = tree.clone().replaced(&path, &other.blob().content);
    see(&swapped).assert("refused", "layer 1");
    see(&swapped).assert("refused", &format!("unpacks to {}", other.diff_id()));
    let cut = other.blob().content.len() - 4;
    see(&swapped.shortened(&path, cut)).assert("refused", "can't be unpacked");
    let xz = tree.replaced(&path, b"\xfd7zXZ\0 and so on");
    see(&xz).assert(
        "refused",
        "is compressed with xz, which containerd can't unpack",
    );
}

#[test]
fn a_gzip_layer_of_several_members_is_whole() {
    let layer = Layer::noise(1, 5000);
    let members = airdock_testkit::fixture::gzip_members(&layer.blob().content, 1000);
    let path = layer_path(&layer);
    let tree = one(Image::new().layer(layer)).replaced(&path, &members);
    see(&tree).assert("ok", "");
}

#[test]
fn configs_may_have_any_name() {
    let image = Image::small("a");
    let digest = image.config().digest().to_owned();
    let hex = digest["sha256:".len()..].to_owned();
    let written = format!("{hex}.json");
    let tree = one(image);
    for name in [
        "config.json",
        &digest,
        &format!("blobs/sha256/{hex}"),
        "a/b/c",
    ] {
        let renamed = tree.clone().renamed(&written, name);
        see(&renamed.with_json("manifest.json", "/0/Config", json!(name))).assert("ok", "");
    }
    let other = format!("{}.json", "0f".repeat(32));
    let lying =
        tree.renamed(&written, &other)
            .with_json("manifest.json", "/0/Config", json!(other));
    see(&lying).assert("refused", "is damaged: its digest is");
}

#[test]
fn a_config_that_stands_twice_is_refused_unless_both_are_the_same() {
    let image = Image::small("a");
    let hex = image.config().digest()["sha256:".len()..].to_owned();
    let renamed = one(image.clone())
        .renamed(&format!("{hex}.json"), "config.json")
        .with_json("manifest.json", "/0/Config", json!("config.json"));
    let (same, other) = (
        image.config().content,
        image.entrypoint(&["/other"]).config().content,
    );
    let linked = |link: fn(Tree, &str, &str) -> Tree| {
        link(
            renamed.clone().renamed("config.json", "was.json"),
            "config.json",
            "was.json",
        )
    };
    for (tree, verdict) in [
        (renamed.clone().file("config.json", &same), "ok"),
        (renamed.clone().file("./config.json", &same), "ok"),
        (renamed.clone().file("config.json", &other), "refused"),
        (renamed.clone().file("./config.json", &other), "refused"),
        (linked(Tree::symlink), "ok"),
        (linked(Tree::symlink).file("was.json", &same), "ok"),
        (linked(Tree::symlink).file("was.json", &other), "refused"),
        (linked(Tree::hardlink).file("was.json", &other), "refused"),
        (linked(Tree::symlink).file("config.json", &other), "refused"),
    ] {
        let words = if verdict == "ok" { "" } else { "stands twice" };
        see(&tree).assert(verdict, words);
    }
}

#[test]
fn the_list_of_names_is_a_list() {
    let tree = one(Image::small("a"));
    for (tags, verdict, words) in [
        (json!([]), "unnamed", "no usable name"),
        (Value::Null, "unnamed", "no usable name"),
        (
            json!("a:1"),
            "refused",
            "an unusable field [0].RepoTags: invalid type: string \"a:1\"",
        ),
        (json!([1]), "refused", "[0].RepoTags[0]"),
        (json!({}), "refused", "[0].RepoTags"),
    ] {
        see(&tree.clone().with_json("manifest.json", "/0/RepoTags", tags)).assert(verdict, words);
    }
    see(&tree.clone().replaced("manifest.json", b"[]")).assert("empty", "lists no image");
    see(&tree.clone().replaced("manifest.json", b"{}")).assert("refused", "is of another type");
    let twice = br#"[{"Config":"a","Config":"b"}]"#;
    see(&tree.replaced("manifest.json", twice)).assert("refused", "the key \"Config\" twice");
}

#[test]
fn entries_of_the_same_image_are_one() {
    let image = Image::small("a");
    let tree = Bundle::new()
        .with(&["b:1"], image.clone())
        .with(&["a:1", "b:1"], image)
        .docker();
    let opened = bundle(&tree);
    assert_eq!(opened.images().len(), 1);
    assert_eq!(
        see(&tree).names,
        ["docker.io/library/a:1", "docker.io/library/b:1"]
    );
}

#[test]
fn an_image_for_another_platform_is_refused_alone() {
    let arm = Image::small("a").platform("linux/arm64");
    let tree = Bundle::new()
        .with(&["example.com/arm:1"], arm)
        .with(&[NAME], Image::small("b"));
    let seen = see(&tree.docker());
    seen.assert(
        "partial",
        "example.com/arm:1: it has no image for linux/amd64, only for linux/arm64",
    );
    assert_eq!(seen.names, [NAME]);
    assert_eq!(
        see_on("linux/arm64", &tree.docker()).names,
        ["example.com/arm:1"]
    );
    see(&one(Image::small("a").platform("windows/amd64"))).assert("refused", "a Windows image");
}

#[test]
fn configs_must_fit_their_layers() {
    for (pointer, value, words) in [
        (
            "/rootfs/diff_ids",
            json!([]),
            "lists 0 diff_ids for 1 layers",
        ),
        ("/rootfs", Value::Null, "has no root file system"),
        ("/os", json!(""), "has no platform"),
        (
            "/rootfs/diff_ids/0",
            json!(format!("sha512:{}", "0".repeat(128))),
            "sha256 only",
        ),
    ] {
        see(&one(Image::small("a").with_config(pointer, value))).assert("refused", words);
    }
}

#[test]
fn with_both_lists_the_layout_is_used() {
    let image = Image::small("a");
    let bundle = Bundle::new().with(&[NAME], image.clone());
    let both = bundle.oci().joined(bundle.docker());
    let opened = crate::seen::bundle(&both);
    assert_eq!(opened.format().to_string(), "oci-layout");
    let target = opened.images()[0].target.as_ref().unwrap();
    assert_eq!(target.digest.as_str(), image.manifest().digest());
    let unnamed = Bundle::new().with(&[], image);
    see(&unnamed.oci().joined(unnamed.docker())).assert("unnamed", "no usable name");
}

#[test]
fn two_lists_that_name_different_images_are_refused() {
    let layout = Bundle::new().with(&[NAME], Image::small("a")).oci();
    let words = "index.json and manifest.json disagree about";
    for other in [
        Bundle::new().with(&["example.com/other:1"], Image::small("a")),
        Bundle::new().with(&[NAME, "example.com/other:1"], Image::small("a")),
        Bundle::new().with(&[NAME], Image::small("b")),
    ] {
        see(&layout.clone().joined(other.docker())).assert("refused", words);
    }
    let fewer = Bundle::new().with(&[], Image::small("a")).docker();
    see(&layout.joined(fewer)).assert("ok", "");
}
