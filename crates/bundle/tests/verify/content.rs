//! Blobs and layers that are not what is said of them.

use airdock_testkit::fixture::{
    Blob, Bundle, Image, Layer, Target, Tree, blob_path, gzip, gzip_members, media_type, sha512,
    zstd,
};
use serde_json::{Value, json};

use crate::seen::{NAME, see, see_directory};

fn one(image: impl Into<Target>) -> Tree {
    Bundle::new().with(&[NAME], image).oci()
}

/// A layer whose stored bytes are these, and whose diff id is that of `content`.
fn packed(media_type: &str, stored: Vec<u8>, content: &[u8]) -> (Image, Tree) {
    let blob = Blob::new(media_type, stored);
    let image = Image::new()
        .layer(Layer::raw(content.to_vec()))
        .with_manifest("/layers/0", serde_json::to_value(&blob.descriptor).unwrap());
    let tree = one(image.clone()).file(&blob.path(), &blob.content);
    (image, tree)
}

fn text() -> Vec<u8> {
    b"the same bytes again and again and again".repeat(5000)
}

fn foreign(seed: &str) -> Image {
    Image::small(seed).platform("linux/s390x")
}

#[test]
fn a_sound_bundle_is_read_once_and_whole() {
    let shared = Layer::file("shared", b"x");
    let (plain, gz, zst) = (
        Image::small("plain").layer(shared.clone()),
        Image::new()
            .layer(Layer::noise(1, 300_000).gzip())
            .layer(shared),
        foreign("zstd").layer(Layer::raw(text()).zstd()),
    );
    let tree = Bundle::new().with(&["example.com/a:1"], plain.clone());
    let tree = tree.with(&[NAME], Target::index([plain, gz, zst])).oci();
    let seen = see(&tree);
    seen.assert("ok", &[]);
    let blobs = tree
        .entries()
        .iter()
        .filter(|it| it.name.starts_with("blobs/"));
    let sizes = blobs
        .clone()
        .map(|it| tree.content(&it.name).unwrap().len());
    assert_eq!(seen.blobs, blobs.count());
    assert_eq!(seen.hashed, sizes.sum::<usize>() as u64);
    assert!(seen.unpacked > 300_000 + text().len() as u64);
}

#[test]
fn a_damaged_blob_of_a_foreign_platform_is_found() {
    let elsewhere = foreign("elsewhere");
    let tree = one(Target::index([Image::small("here"), elsewhere.clone()]));
    for blob in [elsewhere.layers()[0].blob().clone(), elsewhere.config()] {
        let path = blob.path();
        let seen = see(&tree.clone().flipped(&path, 7));
        let words = format!("linux/s390x: the content of \"{path}\" is damaged");
        seen.assert("refused", &[("differs", &words)]);
        assert!(seen.reason.contains(&words), "{seen:?}");
    }
}

#[test]
fn a_layer_that_unpacks_to_something_else_is_found() {
    for layer in [
        Layer::noise(1, 5000).gzip(),
        Layer::noise(1, 5000).zstd(),
        Layer::noise(1, 5000),
    ] {
        let other = json!([Layer::noise(2, 5000).diff_id()]);
        let image = Image::new()
            .layer(layer)
            .with_config("/rootfs/diff_ids", other);
        see(&one(image)).assert("refused", &[("diff-id-differs", "linux/amd64: layer 1")]);
    }
}

#[test]
fn all_members_and_frames_of_a_layer_count() {
    let content = text();
    let frames = content.chunks(70_000).flat_map(zstd).collect();
    for (media_type, stored) in [
        (media_type::LAYER_GZIP, gzip_members(&content, 70_000)),
        (media_type::LAYER_ZSTD, frames),
    ] {
        let (_, tree) = packed(media_type, stored, &content);
        see(&tree).assert("ok", &[]);
    }
}

#[test]
fn a_cut_layer_is_told_apart_from_a_damaged_one() {
    let content = text();
    let (gz, zst) = (gzip(&content), zstd(&content));
    let cut = |bytes: &[u8]| bytes[..bytes.len() - 5].to_vec();
    let flip = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        let end = bytes.len() - 2;
        bytes[end] ^= 1;
        bytes
    };
    let tail = |bytes: &[u8]| [bytes, b"foreign"].concat();
    let (gzip, zstd) = (media_type::LAYER_GZIP, media_type::LAYER_ZSTD);
    for (media_type, stored, what, words) in [
        (
            gzip,
            cut(&gz),
            "cut",
            "is cut: its gzip stream ends at byte",
        ),
        (
            zstd,
            cut(&zst),
            "cut",
            "is cut: its zstd stream ends at byte",
        ),
        (gzip, flip(&gz), "undecodable", "its gzip stream is damaged"),
        (
            zstd,
            flip(&zst),
            "undecodable",
            "its zstd stream is damaged",
        ),
        (
            gzip,
            tail(&gz),
            "undecodable",
            "foreign bytes follow its gzip stream",
        ),
    ] {
        let (_, tree) = packed(media_type, stored, &content);
        see(&tree).assert("refused", &[(what, words)]);
    }
}

#[test]
fn a_blob_that_lacks_bytes_is_cut() {
    let layer = Layer::noise(1, 5000).gzip();
    let path = layer.blob().path();
    let tree = one(Image::new().layer(layer)).shortened(&path, 4000);
    see(&tree).assert(
        "refused",
        &[("cut", "is cut: it has 4000 bytes, but its descriptor")],
    );
    let layer = Layer::noise(1, 5000).claim_size(3);
    see(&one(Image::new().layer(layer))).assert("refused", &[("differs", "\" has ")]);
}

#[test]
fn layers_of_docker_archives_are_checked_for_all_platforms() {
    let (here, elsewhere) = (
        Image::small("here"),
        foreign("elsewhere").layer(Layer::noise(1, 5000).gzip()),
    );
    let bundle = Bundle::new().with(&["example.com/a:1"], here.clone());
    let tree = bundle.with(&[NAME], elsewhere.clone()).docker();
    let seen = see(&tree);
    assert_eq!((seen.verdict.as_str(), seen.findings.len()), ("partial", 0));
    let path = |layer: &Layer| format!("{}/layer.tar", &layer.digest()[7..]);
    let damaged = tree.clone().flipped(&path(&elsewhere.layers()[0]), 600);
    see(&damaged).assert("partial", &[("differs", "linux/s390x: the content of")]);
    let [_, packed] = elsewhere.layers() else {
        unreachable!()
    };
    let cut = packed.blob().content.len() - 5;
    see(&tree.clone().shortened(&path(packed), cut))
        .assert("partial", &[("cut", "linux/s390x: layer 2")]);
    let damaged = tree.flipped(&path(&here.layers()[0]), 600);
    see(&damaged).assert("refused", &[("differs", "linux/amd64: the content of")]);
}

#[test]
fn what_a_512_bit_digest_names_is_verified_and_then_refused() {
    let layer = Layer::file("a", b"a");
    let digest = sha512(&layer.blob().content);
    let image = Image::new()
        .layer(layer.clone())
        .with_manifest("/layers/0/digest", digest.clone().into())
        .platform("linux/s390x");
    let tree = one(Target::index([Image::small("here"), image]));
    let tree = tree.file(&blob_path(&digest), &layer.blob().content);
    let unstorable = ("unusable", "containerd stores sha256 only");
    see_directory(&tree).assert("refused", &[unstorable]);
    see_directory(&tree.flipped(&blob_path(&digest), 3)).assert(
        "refused",
        &[("differs", "is damaged: its digest is sha512:"), unstorable],
    );
}

#[test]
fn many_findings_are_told_up_to_a_limit_and_counted_beyond() {
    let layers = (0..40).map(|n| Layer::noise(n, 600));
    let image = layers.fold(Image::new(), Image::layer);
    let paths: Vec<String> = image.layers().iter().map(|it| it.blob().path()).collect();
    let tree = paths
        .iter()
        .fold(one(image), |tree, path| tree.flipped(path, 512));
    let seen = see(&tree);
    let listed = airdock_bundle::limits::FINDINGS;
    assert_eq!((seen.findings.len(), seen.unlisted), (listed, 40 - listed));
}

#[test]
fn a_platform_need_not_be_there_whole() {
    let elsewhere = foreign("elsewhere").layer(Layer::noise(1, 600));
    let tree = one(Target::index([Image::small("here"), elsewhere.clone()]));
    let [first, second] = elsewhere.layers() else {
        unreachable!()
    };
    let sparse = elsewhere
        .blobs()
        .iter()
        .fold(tree.clone(), |tree, blob| tree.without(&blob.path()));
    let seen = see(&sparse);
    seen.assert("ok", &[]);
    assert_eq!(seen.notices, [""; 0]);
    let partly = tree.without(&second.blob().path());
    let seen = see(&partly);
    seen.assert("ok", &[]);
    let words = format!(
        "linux/s390x: the layer {} is not in the archive",
        second.digest()
    );
    assert!(seen.notices[0].contains(&words), "{seen:?}");
    let damaged = partly.flipped(&first.blob().path(), 3);
    see(&damaged).assert("refused", &[("differs", "linux/s390x: the content of")]);
}

#[test]
fn what_a_descriptor_claims_of_size_and_kind_is_looked_at_each_time() {
    let image = Image::small("a");
    let manifest: Value = serde_json::to_value(image.manifest().descriptor).unwrap();
    let mut lie = manifest.clone();
    lie["size"] = json!(1);
    let mut other = manifest.clone();
    other["annotations"] = json!({"vnd.docker.reference.type": "attestation-manifest"});
    let path = image.layers()[0].blob().path();
    let wrong = json!([Layer::noise(2, 5).diff_id()]);
    let index = |children: &[&Value]| {
        let index = json!({"schemaVersion": 2, "manifests": children});
        Blob::new(media_type::INDEX, index.to_string().into_bytes())
    };
    let tree = |index: &Blob| {
        let entry = json!({"schemaVersion": 2, "manifests": [index.descriptor]});
        one(image.clone())
            .replaced("index.json", entry.to_string().as_bytes())
            .file(&index.path(), &index.content)
    };
    assert_eq!(see(&tree(&index(&[&other, &manifest]))).findings, [""; 0]);
    let seen = see(&tree(&index(&[&manifest, &lie])));
    seen.assert("refused", &[("differs", "but its descriptor says 1")]);
    let damaged = tree(&index(&[&other, &manifest])).flipped(&path, 3);
    assert_eq!(see(&damaged).findings.len(), 2, "as an image and as none");
    // Nor is a layer excused because the same manifest is called an attestation first.
    let image = Image::small("a").with_config("/rootfs/diff_ids", wrong);
    let manifest = serde_json::to_value(image.manifest().descriptor).unwrap();
    let mut other = manifest.clone();
    other["annotations"] = json!({"vnd.docker.reference.type": "attestation-manifest"});
    let index = index(&[&other, &manifest]);
    let entry = json!({"schemaVersion": 2, "manifests": [index.descriptor]});
    let tree = one(image)
        .replaced("index.json", entry.to_string().as_bytes())
        .file(&index.path(), &index.content);
    see(&tree).assert("refused", &[("diff-id-differs", "linux/amd64: layer 1")]);
}

#[test]
fn what_opening_refuses_is_said_once_and_with_its_platform() {
    let layer = Layer::noise(1, 5000);
    let tree = one(Image::new().layer(layer.clone()));
    let seen = see(&tree.clone().shortened(&layer.blob().path(), 9));
    let finding = seen.findings[0].strip_prefix("cut ").unwrap();
    assert!(finding.starts_with("linux/amd64: "), "{seen:?}");
    assert_eq!(seen.reason, format!("{NAME}: {finding}"));
    let seen = see(&tree.without(&layer.blob().path()));
    seen.assert("refused", &[]);
    assert!(seen.reason.contains("is not in the archive"), "{seen:?}");
    assert_eq!(seen.notices, [""; 0]);
}

#[test]
fn a_platform_that_no_descriptor_says_is_the_configs() {
    let image = Image::small("a");
    let tree = one(image.clone()).with_json("index.json", "/manifests/0/platform", Value::Null);
    let damaged = tree.flipped(&image.layers()[0].blob().path(), 0);
    see(&damaged).assert("refused", &[("differs", "linux/amd64: ")]);
}

#[test]
fn documents_of_docker_archives_are_checked_for_all_platforms() {
    let bundle = |image| Bundle::new().with(&[NAME], image).docker();
    let image = foreign("a");
    let config = image.config();
    let path = format!("{}.json", &config.digest()[7..]);
    let spaced = [config.content.as_slice(), b" "].concat();
    see(&bundle(image.clone()).replaced(&path, &spaced)).assert(
        "refused",
        &[(
            "differs",
            &format!("linux/s390x: the content of \"{path}\""),
        )],
    );
    let digest = sha512(&image.layers()[0].blob().content);
    let image = image.with_config("/rootfs/diff_ids/0", digest.into());
    see(&bundle(image)).assert("refused", &[("unusable", "containerd stores sha256 only")]);
}

#[test]
fn diff_ids_and_documents_of_512_bits_are_verified() {
    let layer = Layer::raw(text()).gzip();
    let image = |content: &[u8]| {
        let diff_id = sha512(content).into();
        Image::new()
            .layer(layer.clone())
            .with_config("/rootfs/diff_ids/0", diff_id)
    };
    see(&one(image(&text()))).assert("ok", &[]);
    see(&one(image(b"other"))).assert("refused", &[("diff-id-differs", "to sha512:")]);
    let manifest = foreign("a").manifest();
    let mut descriptor = serde_json::to_value(&manifest.descriptor).unwrap();
    let digest = sha512(&manifest.content);
    descriptor["digest"] = digest.clone().into();
    let index = json!({"schemaVersion": 2, "manifests": [descriptor]});
    let index = Blob::new(media_type::INDEX, index.to_string().into_bytes());
    let list = json!({"schemaVersion": 2, "manifests": [index.descriptor]});
    let tree = one(foreign("a"))
        .replaced("index.json", list.to_string().as_bytes())
        .file(&index.path(), &index.content)
        .file(&blob_path(&digest), &manifest.content);
    let unstorable = ("unusable", "the manifest has the digest sha512:");
    see_directory(&tree).assert("refused", &[unstorable]);
    see_directory(&tree.flipped(&blob_path(&digest), 3)).assert(
        "refused",
        &[("differs", "is damaged: its digest is sha512:"), unstorable],
    );
}
