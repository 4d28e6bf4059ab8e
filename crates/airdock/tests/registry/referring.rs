//! Signatures and SBOMs come along where they are asked for.

mod following;

use std::collections::HashMap;
use std::path::Path;

use airdock_testkit::fixture::{Image, Layer, Target};
use airdock_testkit::{Outcome, Suite};
use serde_json::{Value, json};

use crate::proxy::{Action, Answer, Proxy};
use crate::registry::Registry;
use crate::support::{NEEDS, Pack, Packed, digest_of, skopeo_raw, text};

const SIGNATURE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

pub(crate) fn tests(suite: Suite) -> Suite {
    following::tests(suite)
        .test("signatures_under_cosigns_tags_come_along", NEEDS, cosign)
        .test("what_the_registry_lists_comes_along", NEEDS, listed)
        .test("a_mirror_that_lists_nothing_hides_nothing", NEEDS, mirrored)
        .test(
            "what_stands_under_the_tag_for_lists_comes_along",
            NEEDS,
            fallback,
        )
        .test(
            "what_refers_to_a_chosen_platforms_image_comes_along_once",
            NEEDS,
            each,
        )
        .test(
            "attestations_of_a_chosen_platform_come_along",
            NEEDS,
            attested,
        )
}

/// An artifact that refers to an image.
fn artifact(text: &str, subject: &str) -> Image {
    let layer = Layer::raw(text.as_bytes().to_vec()).claim_media_type(SIGNATURE);
    let refers = json!({"mediaType": airdock_testkit::fixture::media_type::MANIFEST,
        "digest": subject, "size": 1});
    Image::new()
        .layer(layer)
        .with_manifest("/artifactType", Value::from("application/example"))
        .with_manifest("/subject", refers)
}

fn tag(digest: &str) -> String {
    digest.replace(':', "-")
}

fn cosign(dir: &Path) -> Outcome {
    let registry = Registry::with_one(dir)?;
    let name = registry.name("x:1");
    let subject = digest_of("one");
    let mut signed = Vec::new();
    for kind in ["sig", "att", "sbom"] {
        let layer = Layer::raw(kind.as_bytes().to_vec()).claim_media_type(SIGNATURE);
        let image = Image::new().layer(layer.clone());
        let name = registry.push(&format!("x:{}.{kind}", tag(&subject)), image.clone())?;
        signed.push((name, image, layer));
    }
    let without = Pack::of(dir, &["--plain-http", &name]).run()?.good();
    assert!(!without.has(signed[0].2.digest())?);
    let packed = pack_all(dir, &name)?.good();
    for (name, image, layer) in &signed {
        assert_eq!(packed.digest(name), Target::from(image.clone()).digest());
        assert!(packed.has(layer.digest())?);
        let tag = name.rsplit(':').next().unwrap_or_default();
        let archive = format!("oci-archive:{}:{tag}", text(&packed.out));
        assert!(skopeo_raw(&archive)?.contains(layer.digest()));
    }
    Ok(())
}

/// An index of what refers to an image, as the distribution specification has it.
fn index(artifacts: &[&Image]) -> String {
    let manifest = |image: &&Image| {
        let blob = image.manifest();
        json!({"mediaType": airdock_testkit::fixture::media_type::MANIFEST,
            "digest": blob.digest(), "size": blob.content.len(),
            "artifactType": "application/example"})
    };
    let manifests: Vec<Value> = artifacts.iter().map(manifest).collect();
    json!({"schemaVersion": 2, "mediaType": airdock_testkit::fixture::media_type::INDEX,
        "manifests": manifests})
    .to_string()
}

const JSON: &str = "Content-Type: application/vnd.oci.image.index.v1+json";

/// A proxy that lists what refers to a digest: this registry is too old for the question.
fn listing<'a>(
    registry: &Registry,
    lists: impl IntoIterator<Item = (String, Vec<&'a Image>)>,
) -> std::io::Result<Proxy> {
    let path = |subject: &str| format!("/v2/x/referrers/{subject}");
    let lists: HashMap<String, String> = lists
        .into_iter()
        .map(|(subject, artifacts)| (path(&subject), index(&artifacts)))
        .collect();
    Proxy::before(&registry.authority, move |request| {
        match lists.get(&request.path) {
            Some(list) => Answer::with(200, &[JSON], list),
            None => Action::Forward,
        }
    })
}

fn pack_all(dir: &Path, name: &str) -> std::io::Result<Packed> {
    Pack::of(dir, &["--plain-http", "--with-referrers", name]).run()
}

fn listed(dir: &Path) -> Outcome {
    let registry = Registry::with_one(dir)?;
    let subject = digest_of("one");
    let artifact = artifact("sbom", &subject);
    registry.push("x:artifact", artifact.clone())?;
    let proxy = listing(&registry, [(subject.clone(), vec![&artifact])])?;
    let name = proxy.name("x:1");
    let packed = pack_all(dir, &name)?.good();
    assert_eq!(packed.digest(&name), subject);
    assert!(packed.has(artifact.manifest().digest())?);
    assert!(packed.has(artifact.layers()[0].digest())?);
    assert!(packed.said.contains(artifact.manifest().digest()));
    Ok(())
}

/// The registry is asked only where the mirror, which has the image, knows of nothing.
fn mirrored(dir: &Path) -> Outcome {
    let registry = Registry::with_one(dir)?;
    let subject = digest_of("one");
    let artifact = artifact("sbom", &subject);
    registry.push("x:artifact", artifact.clone())?;
    for (lists, asked) in [(vec![], true), (vec![&artifact], false)] {
        let own = listing(&registry, [(subject.clone(), vec![&artifact])])?;
        let nothing_more = (artifact.manifest().digest().to_owned(), Vec::new());
        let mirror = listing(&registry, [(subject.clone(), lists), nothing_more])?;
        let of = format!("{}={}", own.authority, mirror.authority);
        let name = own.name("x:1");
        let args = ["--plain-http", "--with-referrers", "--mirror", &of, &name];
        let packed = Pack::of(dir, &args).run()?.good();
        assert!(packed.has(artifact.layers()[0].digest())?);
        let question = format!("referrers/{subject}");
        assert_eq!(mirror.calls(&question).len(), 1);
        assert_eq!(!own.calls(&question).is_empty(), asked);
    }
    Ok(())
}

fn fallback(dir: &Path) -> Outcome {
    let registry = Registry::with_one(dir)?;
    let subject = digest_of("one");
    let artifact = artifact("sbom", &subject);
    let index = Target::index([artifact.clone()]);
    registry.push(&format!("x:{}", tag(&subject)), index)?;
    // There are many ways not to know the question.
    for (status, body) in [(404, ""), (405, ""), (400, "{}"), (200, "<html>")] {
        let proxy = Proxy::before(&registry.authority, move |request| {
            match request.path.contains("/referrers/") {
                true => Answer::with(status, &[], body),
                false => Action::Forward,
            }
        })?;
        let name = proxy.name("x:1");
        let packed = pack_all(dir, &name)?.good();
        assert_eq!(packed.digest(&name), subject);
        assert!(packed.has(artifact.layers()[0].digest())?, "{status}");
    }
    Ok(())
}

/// Pushes a signature of a manifest under cosign's tag.
fn sign(registry: &Registry, subject: &str) -> std::io::Result<Layer> {
    let text = format!("signature of {subject}").into_bytes();
    let layer = Layer::raw(text).claim_media_type(SIGNATURE);
    let image = Image::new().layer(layer.clone());
    registry.push(&format!("x:{}.sig", tag(subject)), image)?;
    Ok(layer)
}

fn each(dir: &Path) -> Outcome {
    let images = ["linux/amd64", "linux/arm64"].map(|it| Image::small(it).platform(it));
    let [ours, foreign] = [0, 1].map(|at: usize| images[at].manifest().digest().to_owned());
    let target = Target::index(images);
    let subject = target.digest();
    let registry = Registry::with(dir, target)?;
    let signed = sign(&registry, &ours)?;
    let other = sign(&registry, &foreign)?;
    let sbom = artifact("sbom", &ours);
    registry.push("x:artifact", sbom.clone())?;
    // Listed for the index as well.
    let lists = [&ours, &subject].map(|it| (it.clone(), vec![&sbom]));
    let proxy = listing(&registry, lists)?;
    let name = proxy.name("x:1");
    let packed = pack_all(dir, &name)?.good();
    assert_eq!(packed.digest(&name), subject);
    let name = proxy.name(&format!("x:{}.sig", tag(&ours)));
    assert!(packed.said.contains(&name), "{}", packed.said);
    assert!(packed.has(signed.digest())? && !packed.has(other.digest())?);
    assert!(packed.has(sbom.layers()[0].digest())?);
    assert_eq!(packed.said.matches(sbom.manifest().digest()).count(), 1);
    for (subject, asked) in [(&subject, 1), (&ours, 1), (&foreign, 0)] {
        let calls = proxy.calls(&format!("referrers/{subject}"));
        assert_eq!(calls.len(), asked, "{subject}");
        let calls = proxy.calls(&format!("{}.sig", tag(subject)));
        assert!(calls.is_empty() == (asked == 0), "{subject}");
    }
    Ok(())
}

fn attested(dir: &Path) -> Outcome {
    let registry = Registry::plain(dir)?;
    let mut descriptors = Vec::new();
    let mut statements = Vec::new();
    for (at, platform) in ["linux/amd64", "linux/arm64"].into_iter().enumerate() {
        let image = Image::small(platform).platform(platform);
        let statement = artifact("attestation", image.manifest().digest());
        let about = json!({"vnd.docker.reference.type": "attestation-manifest",
            "vnd.docker.reference.digest": image.manifest().digest()});
        let unknown = json!({"os": "unknown", "architecture": "unknown"});
        let mut stated = serde_json::to_value(&statement.manifest().descriptor)?;
        stated["annotations"] = about;
        stated["platform"] = unknown;
        descriptors.push(serde_json::to_value(&image.manifest().descriptor)?);
        descriptors.push(stated);
        for (kind, image) in [("image", &image), ("statement", &statement)] {
            registry.push(&format!("x:{kind}-{at}"), image.clone())?;
        }
        statements.push(statement);
    }
    let index = json!({"schemaVersion": 2, "manifests": descriptors,
        "mediaType": airdock_testkit::fixture::media_type::INDEX})
    .to_string();
    let digest = airdock_testkit::fixture::sha256(index.as_bytes());
    let proxy = Proxy::before(&registry.authority, move |request| {
        match request.path.ends_with("/manifests/1") {
            true => Answer::with(200, &[], &index),
            false => Action::Forward,
        }
    })?;
    let name = proxy.name("x:1");
    let packed = Pack::of(dir, &["--plain-http", &name]).run()?.good();
    assert_eq!(packed.digest(&name), digest);
    let has = |statement: &Image| packed.has(statement.layers()[0].digest());
    assert!(packed.has(statements[0].manifest().digest())? && has(&statements[0])?);
    assert!(!packed.has(statements[1].manifest().digest())?);
    Ok(())
}
