use serde_json::{Value, json};

use super::media_type::{DOCKER_MANIFEST, OCI_CONFIG, OCI_INDEX, OCI_MANIFEST};
use super::*;

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

fn descriptor(media_type: &str) -> Value {
    json!({"mediaType": media_type, "digest": DIGEST, "size": 3})
}

fn image_manifest() -> Value {
    json!({"schemaVersion": 2, "config": descriptor(OCI_CONFIG), "layers": [descriptor(LAYER)]})
}

fn parse(document: &Value, media_type: &str) -> Result<Document, DocumentError> {
    Document::parse(document.to_string().as_bytes(), media_type)
}

fn manifest(document: &Value) -> Manifest {
    match parse(document, OCI_MANIFEST) {
        Ok(Document::Manifest(manifest)) => manifest,
        other => panic!("{other:?}"),
    }
}

fn with(mut document: Value, field: &str, value: Value) -> Value {
    document[field] = value;
    document
}

#[test]
fn documents_without_a_media_type_go_by_their_shape() {
    let index = json!({"schemaVersion": 2, "manifests": [descriptor(OCI_MANIFEST)]});
    assert!(matches!(parse(&index, ""), Ok(Document::Index(_))));
    assert!(matches!(parse(&index, OCI_INDEX), Ok(Document::Index(_))));
    let manifest = parse(&image_manifest(), "").unwrap();
    assert!(matches!(manifest, Document::Manifest(_)));
    assert_eq!(manifest.media_type(), OCI_MANIFEST);
    let docker = with(image_manifest(), "mediaType", json!(DOCKER_MANIFEST));
    assert_eq!(parse(&docker, "").unwrap().media_type(), DOCKER_MANIFEST);
}

#[test]
fn null_is_the_same_as_nothing() {
    let empty = json!({"schemaVersion": 2, "manifests": null, "annotations": null});
    assert!(matches!(parse(&empty, ""), Ok(Document::Index(index)) if index.manifests.is_empty()));
    let scratch = with(image_manifest(), "layers", Value::Null);
    assert!(manifest(&scratch).layers.is_empty());
}

#[test]
fn a_document_that_could_be_two_things_is_refused() {
    let both = with(image_manifest(), "manifests", json!([]));
    assert_eq!(parse(&both, ""), Err(DocumentError::Ambiguous));
    let index = json!({"schemaVersion": 2, "manifests": [], "config": null});
    assert_eq!(parse(&index, OCI_INDEX), Err(DocumentError::Ambiguous));
}

#[test]
fn a_media_type_must_fit_descriptor_and_shape() {
    for (document, said, reason) in [
        (
            with(image_manifest(), "mediaType", json!(DOCKER_MANIFEST)),
            OCI_MANIFEST,
            "descriptor says",
        ),
        (image_manifest(), OCI_INDEX, "has other fields"),
        (
            with(image_manifest(), "mediaType", json!(OCI_INDEX)),
            "",
            "has other fields",
        ),
        (
            with(image_manifest(), "mediaType", json!("text/plain")),
            "",
            "has other fields",
        ),
        (json!({"schemaVersion": 2}), "", "neither"),
        (
            json!({"schemaVersion": 2, "layers": []}),
            OCI_MANIFEST,
            "no field config",
        ),
    ] {
        let error = parse(&document, said).expect_err(reason).to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn schema_1_is_refused_by_name() {
    let signed = "application/vnd.docker.distribution.manifest.v1+prettyjws";
    for (document, said) in [
        (
            json!({"schemaVersion": 1, "fsLayers": [], "history": []}),
            "",
        ),
        (with(image_manifest(), "schemaVersion", json!(1)), ""),
        (with(image_manifest(), "fsLayers", Value::Null), ""),
        (image_manifest(), signed),
        (with(image_manifest(), "mediaType", json!(signed)), ""),
    ] {
        assert_eq!(
            parse(&document, said),
            Err(DocumentError::Schema1),
            "{document}"
        );
    }
    let third = with(image_manifest(), "schemaVersion", json!(3));
    assert_eq!(
        parse(&third, ""),
        Err(DocumentError::SchemaVersion { version: 3 })
    );
}

#[test]
fn an_unusable_descriptor_is_named_by_its_path() {
    let mut document = image_manifest();
    for (value, named) in [
        (
            json!("md5:00"),
            "layers[0].digest: digest algorithm \"md5\" is not supported",
        ),
        (json!("../../etc/passwd"), "layers[0].digest"),
        (Value::Null, "layers[0].digest"),
        (json!(1), "layers[0].digest: invalid type"),
    ] {
        document["layers"][0]["digest"] = value;
        let error = parse(&document, "").expect_err(named).to_string();
        assert!(error.contains(named), "{error}");
    }
    document["layers"][0] = json!({"mediaType": LAYER, "digest": DIGEST});
    let error = parse(&document, "").expect_err("no size").to_string();
    assert!(error.contains("layers[0].size"), "{error}");
}

#[test]
fn the_number_of_descriptors_is_limited() {
    let count = limits::DESCRIPTORS + 1;
    let layer = json!({"digest": DIGEST, "size": 0});
    let document = with(image_manifest(), "layers", json!(vec![layer; count]));
    assert_eq!(
        parse(&document, ""),
        Err(DocumentError::TooManyDescriptors { count })
    );
}

#[test]
fn what_is_no_image_is_told_by_its_fields() {
    let artifact = |document: Value| manifest(&document).is_artifact();
    assert!(!artifact(image_manifest()));
    assert!(!artifact(with(image_manifest(), "artifactType", json!(""))));
    assert!(!artifact(with(image_manifest(), "layers", json!([]))));
    assert!(artifact(with(
        image_manifest(),
        "artifactType",
        json!("application/spdx+json")
    )));
    for config in [
        "application/vnd.cncf.helm.config.v1+json",
        "application/vnd.oci.empty.v1+json",
    ] {
        assert!(
            artifact(with(image_manifest(), "config", descriptor(config))),
            "{config}"
        );
    }
    for layer in [
        "application/vnd.dev.cosign.simplesigning.v1+json",
        "application/vnd.in-toto+json",
        "text/spdx+json",
    ] {
        let posing = with(image_manifest(), "layers", json!([descriptor(layer)]));
        assert!(artifact(posing), "{layer}");
    }
}

#[test]
fn one_bad_entry_of_the_top_index_leaves_the_others() {
    let mut bad = descriptor(OCI_MANIFEST);
    bad["digest"] = json!("blake3:00");
    bad["annotations"] = json!({"io.containerd.image.name": "a:1", "empty": null});
    let index = json!({"schemaVersion": 2, "manifests": [bad, descriptor(OCI_MANIFEST)]});
    let entries = parse_top_index(index.to_string().as_bytes()).unwrap();
    assert!(entries[0].descriptor.is_err());
    assert_eq!(entries[0].annotations["io.containerd.image.name"], "a:1");
    assert!(entries[1].descriptor.is_ok());
    let manifest = parse_top_index(image_manifest().to_string().as_bytes());
    assert_eq!(manifest.err(), Some(DocumentError::NotAnIndex));
}

#[test]
fn a_config_needs_a_platform_and_a_root_file_system() {
    let rootfs = json!({"type": "layers", "diff_ids": [DIGEST]});
    let full = json!({"os": "Linux", "architecture": "aarch64", "variant": "v8", "rootfs": rootfs});
    let config = Config::parse(full.to_string().as_bytes()).unwrap();
    assert_eq!(config.platform.to_string(), "linux/arm64");
    assert_eq!(config.diff_ids[0].as_str(), DIGEST);
    for (field, value, reason) in [
        ("os", json!(""), "no platform"),
        ("architecture", Value::Null, "no platform"),
        ("rootfs", Value::Null, "no root file system"),
        ("rootfs", json!({"diff_ids": ["x"]}), "rootfs.diff_ids[0]"),
        ("rootfs", json!({"diff_ids": "x"}), "rootfs.diff_ids"),
    ] {
        let document = with(full.clone(), field, value);
        let error = Config::parse(document.to_string().as_bytes())
            .expect_err(reason)
            .to_string();
        assert!(error.contains(reason), "{error}");
    }
}
