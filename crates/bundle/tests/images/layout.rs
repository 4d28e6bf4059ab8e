//! OCI image layouts.

use airdock_bundle::image::{RefKind, Role};
use airdock_testkit::fixture::{Blob, Bundle, Image, Layer, Target, Tree, blob_path, media_type};
use serde_json::{Value, json};

use crate::seen::{NAME, bundle, see, see_on};

fn one(image: Image) -> Tree {
    Bundle::new().with(&[NAME], image).oci()
}

/// A layout whose `index.json` has this one entry, named, and these blobs.
fn layout(entry: &Value, blobs: &[Blob]) -> Tree {
    let mut entry = entry.clone();
    entry["annotations"]["io.containerd.image.name"] = json!(NAME);
    let index = json!({"schemaVersion": 2, "manifests": [entry]});
    let tree = Tree::new()
        .file("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)
        .file("index.json", index.to_string().as_bytes());
    blobs
        .iter()
        .fold(tree, |tree, blob| match tree.has(&blob.path()) {
            true => tree,
            false => tree.file(&blob.path(), &blob.content),
        })
}

fn entry(blob: &Blob) -> Value {
    serde_json::to_value(&blob.descriptor).unwrap()
}

fn index_of(children: &[Value]) -> Blob {
    let index = json!({"schemaVersion": 2, "manifests": children});
    Blob::new(media_type::INDEX, index.to_string().into_bytes())
}

/// An index around these children, below them their blobs.
fn indexed(children: &[Value], blobs: Vec<Blob>) -> Tree {
    let index = index_of(children);
    layout(&entry(&index), &[blobs, vec![index.clone()]].concat())
}

#[test]
fn a_whole_layout_is_ok_in_any_order_of_entries() {
    let tree = one(Image::small("a"));
    for tree in [
        tree.clone(),
        tree.clone().last("index.json").last("oci-layout"),
        tree.prefixed("./"),
    ] {
        let seen = see(&tree);
        seen.assert("ok", "");
        assert_eq!(seen.names, [NAME]);
    }
}

#[test]
fn every_part_that_is_missing_is_named() {
    let image = Image::small("a");
    let tree = one(image.clone());
    for (part, words) in [
        (
            "oci-layout".to_owned(),
            "oci-layout is not; run `echo '{\"imageLayoutVersion\":\"1.0.0\"}'",
        ),
        ("index.json".to_owned(), "index.json is not"),
        (image.manifest().path(), "the manifest sha256:"),
        (image.config().path(), "the config sha256:"),
        (image.layers()[0].blob().path(), "the layer sha256:"),
    ] {
        see(&tree.clone().without(&part)).assert("refused", words);
    }
}

#[test]
fn every_flipped_byte_is_noticed() {
    let image = Image::small("a").layer(Layer::noise(1, 5000).gzip());
    let tree = one(image.clone());
    for blob in image.blobs() {
        for at in [0, blob.content.len() / 2, blob.content.len() - 1] {
            let seen = see(&tree.clone().flipped(&blob.path(), at));
            assert_eq!(seen.verdict, "refused", "{} at {at}: {seen:?}", blob.path());
            assert!(seen.names.is_empty());
        }
    }
}

#[test]
fn a_changed_document_is_noticed_though_it_makes_sense() {
    let image = Image::small("a");
    let config = image.config();
    let text = String::from_utf8(config.content.clone()).unwrap();
    let changed = text.replace("\"layers\"", "\"Layers\"");
    let tree = one(image).replaced(&config.path(), changed.as_bytes());
    see(&tree).assert(
        "refused",
        &format!("the content of \"{}\" is damaged", config.path()),
    );
}

#[test]
fn a_damaged_layer_is_found_by_the_check_alone() {
    let image = Image::small("a");
    let tree = one(image.clone()).flipped(&image.layers()[0].blob().path(), 600);
    assert_eq!(bundle(&tree).verdict().to_string(), "ok");
    see(&tree).assert("refused", "is damaged: its digest is sha256:");
}

#[test]
fn the_check_says_how_much_it_reads() {
    let shared = Layer::file("shared", b"x");
    let image = |text| Image::small(text).layer(shared.clone());
    let tree = Bundle::new().with(&["example.com/a:1"], image("a"));
    let tree = tree.with(&["example.com/b:1"], image("b")).oci();
    let mut opened = bundle(&tree);
    let mut hashed = 0;
    opened.check(&mut |bytes| hashed += bytes).unwrap();
    assert_eq!(hashed, opened.check_size());
    assert_eq!(hashed, 3 * shared.blob().descriptor.size);
}

#[test]
fn a_size_that_is_not_the_descriptors_is_refused() {
    let layer = Layer::file("a", b"a").claim_size(7);
    see(&one(Image::new().layer(layer))).assert("refused", "bytes, but its descriptor says 7");
    let tree = one(Image::small("a")).with_json("index.json", "/manifests/0/size", json!(1));
    see(&tree).assert("refused", "bytes, but its descriptor says 1");
}

#[test]
fn control_documents_are_read_strictly() {
    let tree = one(Image::small("a"));
    for (document, content, words) in [
        (
            "index.json",
            r#"{"schemaVersion":2,"manifests":[],"manifests":[]}"#,
            "the key \"manifests\" twice",
        ),
        ("index.json", "<html>", "\"index.json\" is not JSON"),
        ("index.json", "[]", "\"index.json\" is of another type"),
        (
            "index.json",
            r#"{"schemaVersion":2}"#,
            "has the fields of neither",
        ),
        (
            "index.json",
            r#"{"schemaVersion":2,"manifests":{}}"#,
            "an unusable field manifests",
        ),
        (
            "oci-layout",
            r#"{"imageLayoutVersion":"2.0.0"}"#,
            "imageLayoutVersion \"2.0.0\"",
        ),
        ("oci-layout", "{}", "imageLayoutVersion \"\""),
        (
            "oci-layout",
            r#"{"imageLayoutVersion":"1.0.0","x":{"a":1,"a":1}}"#,
            "the key \"a\" twice",
        ),
    ] {
        see(&tree.clone().replaced(document, content.as_bytes())).assert("refused", words);
    }
    let empty = br#"{"schemaVersion":2,"manifests":null}"#;
    see(&tree.replaced("index.json", empty)).assert("empty", "lists no image");
}

#[test]
fn a_duplicate_key_in_a_manifest_refuses_its_image_alone() {
    let manifest = Blob::new(
        media_type::MANIFEST,
        br#"{"config":{"a":1,"a":1}}"#.to_vec(),
    );
    let sound = Bundle::new()
        .with(&["example.com/sound:1"], Image::small("a"))
        .oci();
    let both = |tree: &Tree| {
        let mut index: Value = serde_json::from_slice(tree.content("index.json").unwrap()).unwrap();
        index["manifests"]
            .as_array_mut()
            .unwrap()
            .push(entry(&manifest));
        tree.clone()
            .replaced("index.json", index.to_string().as_bytes())
    };
    let seen = see(&both(&sound).file(&manifest.path(), &manifest.content));
    seen.assert("partial", "1 of 2 images");
    seen.assert("partial", "holds the key \"a\" twice");
    assert_eq!(seen.names, ["example.com/sound:1"]);
}

#[test]
fn foreign_children_may_be_absent() {
    let arm = Image::small("arm").platform("linux/arm64");
    let tree = Bundle::new()
        .with(&[NAME], Target::index([Image::small("amd"), arm.clone()]))
        .oci();
    let sparse = arm
        .blobs()
        .iter()
        .fold(tree.clone(), |tree, blob| tree.without(&blob.path()));
    see(&sparse).assert("ok", "");
    see_on("linux/arm64", &sparse).assert(
        "refused",
        &format!("the manifest {}", arm.manifest().digest()),
    );
    see_on("linux/arm64", &tree).assert("ok", "");
}

#[test]
fn without_a_child_for_the_platform_those_there_are_are_listed() {
    let children = ["linux/arm64", "linux/s390x"].map(|it| Image::small(it).platform(it));
    let seen = see(&Bundle::new().with(&[NAME], Target::index(children)).oci());
    seen.assert(
        "refused",
        "no image for linux/amd64, only for linux/arm64, linux/s390x",
    );
    let single = see(&one(Image::small("a").platform("linux/arm64")));
    single.assert("refused", "no image for linux/amd64, only for linux/arm64");
}

#[test]
fn the_better_of_two_platforms_is_chosen() {
    let children = ["linux/386", "linux/amd64"].map(|it| Image::small(it).platform(it));
    let tree = Bundle::new().with(&[NAME], Target::index(children)).oci();
    let opened = bundle(&tree);
    let content = opened.images()[0].outcome.as_ref().unwrap();
    assert_eq!(content.platform.to_string(), "linux/amd64");
    assert_eq!(opened.images()[0].platforms.len(), 2);
    let old = Bundle::new().with(
        &[NAME],
        Target::index([Image::small("a").platform("linux/386")]),
    );
    see(&old.oci()).assert("ok", "");
}

#[test]
fn of_two_children_of_one_platform_the_first_is_used() {
    let (first, second) = (Image::small("first"), Image::small("second"));
    let tree = Bundle::new()
        .with(&[NAME], Target::index([first.clone(), second.clone()]))
        .oci();
    let seen = see(&tree);
    seen.assert("ok", "");
    let warning = format!(
        "two manifests for linux/amd64: {} is used, {} is not",
        first.manifest().digest(),
        second.manifest().digest()
    );
    assert_eq!(seen.warnings, [warning]);
    assert!(see(&tree.without(&second.manifest().path())).warnings.len() == 1);
}

#[test]
fn a_child_without_a_platform_has_its_configs() {
    let images = ["linux/arm64", "linux/amd64"].map(|it| Image::small(it).platform(it));
    let children = images.each_ref().map(|image| {
        let mut child = entry(&image.manifest());
        child.as_object_mut().unwrap().remove("platform");
        child
    });
    let blobs: Vec<Blob> = images.iter().flat_map(Image::blobs).collect();
    let tree = indexed(&children, blobs);
    see(&tree).assert("ok", "");
    let absent = images[0].manifest();
    see(&tree.clone().without(&absent.path())).assert("ok", "");
    let wanted = images[1].manifest();
    see(&tree.without(&wanted.path()))
        .assert("refused", &format!("the manifest {}", wanted.digest()));
}

#[test]
fn a_config_that_contradicts_its_index_is_a_warning() {
    let image = Image::small("a").with_config("/architecture", json!("arm64"));
    let seen = see(&indexed(&[entry(&image.manifest())], image.blobs()));
    seen.assert("ok", "");
    assert_eq!(
        seen.warnings,
        ["its index says linux/amd64, but its config says linux/arm64"]
    );
    let windows = Image::small("a").with_config("/os", json!("windows"));
    see(&indexed(&[entry(&windows.manifest())], windows.blobs()))
        .assert("refused", "a Windows image");
}

#[test]
fn windows_images_are_refused_by_that_name() {
    let image = Image::small("a").platform("windows/amd64");
    see(&one(image.clone())).assert("refused", "it is a Windows image (windows/amd64)");
    let tree = Bundle::new().with(&[NAME], Target::index([image])).oci();
    see(&tree).assert("refused", "it is a Windows image (windows/amd64)");
}

#[test]
fn attestations_and_artifacts_are_listed_apart() {
    let image = Image::small("a");
    let attestation = Blob::new(media_type::MANIFEST, b"{}".to_vec());
    let mut statement = entry(&attestation);
    statement["platform"] = json!({"os": "unknown", "architecture": "unknown"});
    statement["annotations"] = json!({"vnd.docker.reference.type": "attestation-manifest"});
    let chart = image.clone().with_manifest(
        "/config/mediaType",
        json!("application/vnd.cncf.helm.config.v1+json"),
    );
    let mut chart_entry = entry(&chart.manifest());
    chart_entry.as_object_mut().unwrap().remove("platform");
    let children = [statement, chart_entry, entry(&image.manifest())];
    let blobs = [image.blobs(), vec![chart.manifest()]].concat();
    let seen = see(&indexed(&children, blobs));
    seen.assert("ok", "");
    assert_eq!(
        seen.others,
        [
            "attestation application/vnd.oci.image.manifest.v1+json",
            "artifact application/vnd.cncf.helm.config.v1+json"
        ]
    );
}

#[test]
fn platform_or_annotation_alone_make_an_attestation() {
    let image = Image::small("a");
    let statement = Blob::new(media_type::MANIFEST, b"{}".to_vec());
    let unknown = json!({"os": "unknown", "architecture": "unknown"});
    let marked = json!({"vnd.docker.reference.type": "attestation-manifest"});
    for (field, value) in [("platform", unknown), ("annotations", marked)] {
        let mut child = entry(&statement);
        child[field] = value;
        let seen = see(&indexed(
            &[child.clone(), entry(&image.manifest())],
            image.blobs(),
        ));
        seen.assert("ok", "");
        assert!(seen.others[0].starts_with("attestation"), "{seen:?}");
        see(&layout(&child, &[])).assert("empty", "1 of another kind (attestation");
    }
}

#[test]
fn a_bundle_of_artifacts_alone_is_empty() {
    let signature = "application/vnd.dev.cosign.simplesigning.v1+json";
    let signed = Image::new().layer(Layer::raw(b"{}".to_vec()).claim_media_type(signature));
    let sbom = Image::small("a").with_manifest("/artifactType", json!("application/spdx+json"));
    let empty = "application/vnd.oci.empty.v1+json";
    let attached = Image::small("a").with_manifest("/config/mediaType", json!(empty));
    for image in [signed, sbom, attached] {
        see(&one(image.clone())).assert(
            "empty",
            "it holds no image, only 1 of another kind (artifact",
        );
        let mut child = entry(&image.manifest());
        child.as_object_mut().unwrap().remove("platform");
        see(&indexed(&[child], image.blobs())).assert("empty", "it holds no image");
    }
    let text = Blob::new("text/plain", b"hello".to_vec());
    see(&layout(&entry(&text), std::slice::from_ref(&text))).assert("empty", "it holds no image");
}

#[test]
fn layers_are_what_their_media_types_say() {
    let plain = || Layer::file("a", b"a");
    let xz = Layer::raw(b"\xfd7zXZ\0 and so on".to_vec());
    let foreign = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip";
    let encrypted = "application/vnd.oci.image.layer.v1.tar+gzip+encrypted";
    for (layer, words) in [
        (
            plain().gzip().claim_media_type(media_type::LAYER),
            "is gzip, but its media type",
        ),
        (
            plain().zstd().claim_media_type(media_type::LAYER_GZIP),
            "is zstd, but its media type",
        ),
        (
            plain().claim_media_type(media_type::LAYER_GZIP),
            "is plain, but its media type",
        ),
        (plain().claim_media_type(""), "has no media type"),
        (
            plain().claim_media_type("text/plain"),
            "which is no image layer",
        ),
        (plain().gzip().claim_media_type(encrypted), "is encrypted"),
        (xz, "is compressed with xz, which containerd can't unpack"),
    ] {
        // A second, sound layer: with bad ones alone it would be an artifact.
        let image = Image::new().layer(Layer::file("b", b"b")).layer(layer);
        see(&one(image)).assert("refused", words);
    }
    for layer in [
        plain().gzip(),
        plain().zstd(),
        plain().gzip().claim_media_type(foreign),
    ] {
        see(&one(Image::new().layer(layer))).assert("ok", "");
    }
}

#[test]
fn a_foreign_layer_without_its_blob_is_refused_by_that_name() {
    let foreign = "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip";
    let layer = Layer::file("a", b"a").gzip().claim_media_type(foreign);
    let tree = one(Image::new().layer(layer.clone())).without(&layer.blob().path());
    see(&tree).assert(
        "refused",
        "is a foreign layer whose blob is not in the archive",
    );
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
        ("/os", Value::Null, "has no platform"),
        ("/architecture", json!(""), "has no platform"),
    ] {
        see(&one(Image::small("a").with_config(pointer, value))).assert("refused", words);
    }
    see(&one(Image::new())).assert("ok", "");
}

#[test]
fn too_many_layers_are_refused() {
    let image = (0..1001).fold(Image::new(), |image, _| image.layer(Layer::file("a", b"a")));
    see(&one(image)).assert("refused", "it has 1001 layers, over the 1000 allowed");
}

#[test]
fn schema_1_and_sha512_are_refused_by_name() {
    let signed = "application/vnd.docker.distribution.manifest.v1+prettyjws";
    let old = Blob::new(signed, br#"{"schemaVersion":1,"fsLayers":[]}"#.to_vec());
    see(&layout(&entry(&old), std::slice::from_ref(&old))).assert("refused", "is of schema 1");
    let long = format!("sha512:{}", "0".repeat(128));
    let image = Image::small("a").with_manifest("/layers/0/digest", json!(long));
    see(&one(image)).assert("refused", "the layer has the digest sha512:");
}

#[test]
fn ambiguous_documents_are_refused() {
    let image = Image::small("a").with_manifest("/manifests", json!([]));
    see(&one(image)).assert("refused", "the fields of both an index and a manifest");
    let image = Image::small("a").with_manifest("/mediaType", json!(media_type::INDEX));
    see(&one(image)).assert("refused", "but its descriptor says");
}

#[test]
fn an_unusable_entry_of_the_index_harms_itself_alone() {
    let tree = Bundle::new().with(&["example.com/a:1"], Image::small("a"));
    let tree = tree.with(&["example.com/b:1"], Image::small("b")).oci();
    let tree = tree.with_json("index.json", "/manifests/1/digest", json!("blake3:00"));
    let seen = see(&tree);
    seen.assert(
        "partial",
        "example.com/b:1: \"index.json\" has an unusable field manifests[1].digest",
    );
    assert_eq!(seen.names, ["example.com/a:1"]);
}

#[test]
fn two_descriptions_of_one_digest_are_refused() {
    let names = ["example.com/a:1", "example.com/b:1"];
    let tree = Bundle::new().with(&names, Image::small("a")).oci();
    let tree = tree.with_json("index.json", "/manifests/1/size", json!(5));
    see(&tree).assert("refused", "in two ways");
}

#[test]
fn an_absent_media_type_is_filled_in_at_the_top_only() {
    let image = Image::small("a");
    let tree = one(image.clone()).with_json("index.json", "/manifests/0/mediaType", Value::Null);
    let opened = bundle(&tree);
    let target = opened.images()[0].target.as_ref().unwrap();
    assert_eq!(target.media_type, media_type::MANIFEST);
    let mut child = entry(&image.manifest());
    child.as_object_mut().unwrap().remove("mediaType");
    see(&indexed(&[child], image.blobs())).assert("refused", "no media type");
}

#[test]
fn indexes_nest_to_the_limit() {
    let nest = |levels| {
        let image = Target::Image(Image::small("a"));
        (0..levels).fold(image, |inner, _| Target::Index(vec![inner]))
    };
    let see = |levels| see(&Bundle::new().with(&[NAME], nest(levels)).oci());
    see(8).assert("ok", "");
    see(9).assert("refused", "over 8 levels deep");
    // What is too deep below one name need not be so below another.
    let tree = Bundle::new().with(&["example.com/deep:1"], nest(9));
    let seen = crate::seen::see(&tree.with(&["example.com/flat:1"], nest(8)).oci());
    seen.assert("partial", "example.com/deep:1");
    assert_eq!(seen.names, ["example.com/flat:1"]);
}

#[test]
fn a_chain_of_indexes_is_not_followed_to_its_end() {
    let mut blobs = Image::small("a").blobs();
    for _ in 0..3000 {
        blobs.push(index_of(&[entry(&blobs[blobs.len() - 1])]));
    }
    let top = entry(&blobs[blobs.len() - 1]);
    // Unlike `layout`, which looks for repetitions.
    let tree = blobs.iter().fold(layout(&top, &[]), |tree, blob| {
        tree.file(&blob.path(), &blob.content)
    });
    see(&tree).assert("refused", "over 8 levels deep");
}

#[test]
fn a_child_listed_ten_times_at_every_level_is_visited_once() {
    let mut target = Target::Image(Image::small("a"));
    let mut blobs = target.blobs();
    for _ in 0..8 {
        target = Target::Index(vec![target; 1]);
        let index = index_of(&vec![entry(&blobs[blobs.len() - 1]); 10]);
        blobs.push(index);
    }
    drop(target);
    let top = entry(&blobs[blobs.len() - 1]);
    see(&layout(&top, &blobs)).assert("ok", "");
}

#[test]
fn the_descriptors_of_all_indexes_are_limited_together() {
    let image = Image::small("a");
    let children = vec![entry(&image.manifest()); 3400];
    let indexes: Vec<Blob> = (0..3)
        .map(|n| {
            let index = json!({"schemaVersion": 2, "manifests": children, "annotations": {"n": n.to_string()}});
            Blob::new(media_type::INDEX, index.to_string().into_bytes())
        })
        .collect();
    let entries: Vec<Value> = indexes.iter().map(entry).collect();
    see(&indexed(&entries, [image.blobs(), indexes].concat()))
        .assert("refused", "over 10000 manifests");
}

#[test]
fn blobs_come_before_what_refers_to_them() {
    let shared = Layer::file("a", b"a");
    let image = Image::new()
        .layer(shared.clone())
        .layer(Layer::file("b", b"b"))
        .layer(shared);
    let arm = Image::small("arm").platform("linux/arm64");
    let target = Target::Index(vec![Target::Image(arm), Target::index([image])]);
    let opened = bundle(&Bundle::new().with(&[NAME], target.clone()).oci());
    let content = opened.images()[0].outcome.as_ref().unwrap();
    let roles: Vec<Role> = content.blobs.iter().map(|blob| blob.role).collect();
    assert_eq!(
        roles,
        [
            Role::Layer,
            Role::Layer,
            Role::Config,
            Role::Manifest,
            Role::Index,
            Role::Index
        ]
    );
    for (at, blob) in content.blobs.iter().enumerate() {
        for (_, child) in &blob.refs {
            assert!(
                content.blobs[..at]
                    .iter()
                    .any(|it| it.descriptor.digest == *child)
            );
        }
    }
    let kinds = |at: usize| {
        content.blobs[at]
            .refs
            .iter()
            .map(|(kind, _)| *kind)
            .collect::<Vec<_>>()
    };
    let layers = [0, 1, 2].map(RefKind::Layer);
    assert_eq!(kinds(3), [&[RefKind::Config][..], &layers].concat());
    assert_eq!(kinds(4), [RefKind::Manifest(0)]);
    assert_eq!(kinds(5), [RefKind::Manifest(1)]);
    assert_eq!(content.layers.len(), 3);
    assert_eq!(content.blobs[5].descriptor.digest.as_str(), target.digest());
    assert_eq!(
        opened.images()[0].target.as_ref().unwrap().digest.as_str(),
        target.digest()
    );
}

#[test]
fn a_layer_with_the_bytes_of_the_config_is_written_once() {
    let image = Image::small("a");
    let mut config = image.config().descriptor;
    config.media_type = media_type::LAYER.to_owned();
    let odd = image.with_manifest("/layers/0", serde_json::to_value(config).unwrap());
    let opened = bundle(&one(odd));
    let content = opened.images()[0].outcome.as_ref().unwrap();
    let roles: Vec<Role> = content.blobs.iter().map(|blob| blob.role).collect();
    assert_eq!(roles, [Role::Config, Role::Manifest]);
}

#[test]
fn images_that_share_a_config_are_told_apart_by_their_manifests() {
    let image = Image::small("a");
    let twin = image
        .clone()
        .with_manifest("/annotations", json!({"n": "2"}));
    let tree = Bundle::new()
        .with(&["example.com/a:1"], image)
        .with(&["example.com/b:1"], twin);
    let seen = see(&tree.oci());
    seen.assert("ok", "");
    assert_eq!(seen.names, ["example.com/a:1", "example.com/b:1"]);
}

#[test]
fn a_blob_may_be_a_link_within_the_archive() {
    let image = Image::small("a");
    let layer = image.layers()[0].blob().clone();
    let tree = one(image)
        .without(&layer.path())
        .file("elsewhere", &layer.content);
    see(&tree.clone().symlink(&layer.path(), "../../elsewhere")).assert("ok", "");
    let dangling = tree.symlink(&layer.path(), "../nowhere");
    see(&dangling).assert("refused", &blob_path(layer.digest()));
    see(&dangling).assert("refused", "blobs/nowhere");
}
