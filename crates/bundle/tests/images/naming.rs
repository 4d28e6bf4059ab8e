//! Which names images get, and what becomes of those that can't be used.

use airdock_testkit::fixture::{Bundle, Image, Tree};
use serde_json::{Value, json};

use crate::seen::{NAME, see};

/// A layout with an entry of `index.json` for each image, annotated like this.
fn annotated(entries: &[(&Image, Value)]) -> Tree {
    let mut bundle = Bundle::new();
    for (image, _) in entries {
        bundle = bundle.with(&[], (*image).clone());
    }
    let mut tree = bundle.oci();
    for (at, (_, annotations)) in entries.iter().enumerate() {
        let pointer = format!("/manifests/{at}/annotations");
        tree = tree.with_json("index.json", &pointer, annotations.clone());
    }
    tree
}

#[test]
fn names_come_from_the_annotations_in_their_order() {
    let full = "org.opencontainers.image.ref.name";
    let containerd = "io.containerd.image.name";
    for (annotations, expected) in [
        (json!({full: "example.com/a:1"}), Some("example.com/a:1")),
        (json!({full: "a:1"}), Some("docker.io/library/a:1")),
        (json!({full: "1.2.3"}), None),
        (json!({full: ""}), None),
        (
            json!({containerd: "a", full: "example.com/b:1"}),
            Some("docker.io/library/a:latest"),
        ),
        (
            json!({containerd: "", full: "example.com/b:1"}),
            Some("example.com/b:1"),
        ),
        (json!({"org.opencontainers.image.title": "a"}), None),
        (Value::Null, None),
    ] {
        let seen = see(&annotated(&[(&Image::small("a"), annotations.clone())]));
        let names: Vec<&str> = seen.names.iter().map(String::as_str).collect();
        assert_eq!(
            names,
            expected.into_iter().collect::<Vec<_>>(),
            "{annotations}"
        );
        assert_eq!(
            seen.verdict,
            if expected.is_some() { "ok" } else { "unnamed" }
        );
    }
}

#[test]
fn one_digest_under_several_names_is_one_image() {
    let image = Image::small("a");
    let digest = image.manifest().digest().to_owned();
    let name = |name: &str| (&image, json!({"io.containerd.image.name": name}));
    let both = format!("example.com/b:2@{digest}");
    let by_digest = format!("example.com/c@{digest}");
    let seen = see(&annotated(&[
        name("b:1"),
        name(&both),
        name("a:1"),
        name(&by_digest),
    ]));
    seen.assert("ok", "");
    let expected = [
        "docker.io/library/a:1",
        "docker.io/library/b:1",
        "example.com/b:2",
        &by_digest,
    ];
    assert_eq!(seen.names, expected);
}

#[test]
fn an_image_keeps_its_good_names_and_the_bundle_is_partial() {
    for tree in [
        Bundle::new()
            .with(&[NAME, "Foo/Bar:1"], Image::small("a"))
            .oci(),
        Bundle::new()
            .with(&[NAME, "Foo/Bar:1"], Image::small("a"))
            .docker(),
    ] {
        let seen = see(&tree);
        seen.assert("partial", "the name \"Foo/Bar:1\" is refused: upper case");
        assert_eq!(seen.names, [NAME]);
    }
}

#[test]
fn refused_names_alone_refuse_the_image() {
    let hex = "0f".repeat(32);
    let id = format!("sha256:{hex}");
    let foreign = format!("example.com/a@{id}");
    for name in ["Foo/Bar:1", "a\tb", &hex, &id, &foreign, "a:b:c"] {
        let bundle = Bundle::new().with(&[name], Image::small("a"));
        for tree in [bundle.oci(), bundle.docker()] {
            let seen = see(&tree);
            seen.assert("refused", "is refused: ");
            assert!(!seen.reason.contains('\t'));
        }
    }
}

#[test]
fn good_and_unnamed_images_together_are_partial() {
    let bundle = Bundle::new()
        .with(&[NAME], Image::small("a"))
        .with(&[], Image::small("b"));
    for tree in [bundle.oci(), bundle.docker()] {
        let seen = see(&tree);
        seen.assert("partial", "1 of 2 images");
        assert_eq!(seen.names, [NAME]);
    }
}

#[test]
fn unnamed_and_refused_images_together_are_refused() {
    let bundle = Bundle::new()
        .with(&["Foo:1"], Image::small("a"))
        .with(&[], Image::small("b"));
    for tree in [bundle.oci(), bundle.docker()] {
        see(&tree).assert("refused", "the name \"Foo:1\" is refused");
    }
    see(&Bundle::new().with(&[], Image::small("a")).oci()).assert("unnamed", "no usable name");
}

#[test]
fn a_name_is_the_first_images_that_has_it() {
    let images = Bundle::new().with(&[NAME], Image::small("a"));
    let bundle = images.with(&[NAME, "example.com/b:1"], Image::small("b"));
    for tree in [bundle.oci(), bundle.docker()] {
        let seen = see(&tree);
        seen.assert("partial", "it names another image of this bundle too");
        assert_eq!(seen.names, [NAME, "example.com/b:1"]);
    }
}

#[test]
fn entries_for_other_platforms_under_one_name_are_no_images_of_their_own() {
    let arm = Image::small("a").platform("linux/arm64");
    let bundle = Bundle::new()
        .with(&[NAME], arm)
        .with(&[NAME], Image::small("b"));
    let seen = see(&bundle.oci());
    seen.assert("ok", "");
    assert_eq!(seen.names, [NAME]);
    assert_eq!(
        seen.others,
        ["platform application/vnd.oci.image.manifest.v1+json"]
    );
    see(&bundle.docker()).assert("ok", "");
}
