//! Lists over several pages, and what refers to what refers.

use std::path::Path;

use airdock_testkit::fixture::Image;
use airdock_testkit::{Outcome, Suite};

use super::{JSON, artifact, index, listing, pack_all, sign, tag};
use crate::proxy::{Action, Answer, Proxy};
use crate::registry::Registry;
use crate::support::{NEEDS, digest_of};

pub(super) fn tests(suite: Suite) -> Suite {
    suite
        .test("every_page_of_a_list_is_read", NEEDS, pages)
        .test("a_list_that_is_too_long_is_refused", NEEDS, too_many)
        .test("a_list_without_an_end_is_given_up", NEEDS, unending)
        .test("what_refers_to_what_refers_comes_along", NEEDS, levels)
        .test("a_chain_without_an_end_is_refused", NEEDS, endless)
}

/// Artifacts in `x`, of which the first refers to an image and each other one to that before it.
fn chain(registry: &Registry, subject: &str, length: usize) -> std::io::Result<Vec<Image>> {
    let mut chain: Vec<Image> = Vec::new();
    for at in 0..length {
        let before = chain.last().map(|it| it.manifest().digest().to_owned());
        let subject = before.as_deref().unwrap_or(subject);
        let link = artifact(&format!("link {at}"), subject);
        registry.push(&format!("x:link-{at}"), link.clone())?;
        chain.push(link);
    }
    Ok(chain)
}

/// What refers to an image and to each artifact of its chain.
fn links<'a>(subject: &str, chain: &'a [Image]) -> Vec<(String, Vec<&'a Image>)> {
    let digests = chain.iter().map(|it| it.manifest().digest().to_owned());
    let subjects = [subject.to_owned()].into_iter().chain(digests);
    subjects.zip(chain.iter().map(|link| vec![link])).collect()
}

fn pages(dir: &Path) -> Outcome {
    let registry = Registry::with_one(dir)?;
    let subject = digest_of("one");
    let artifacts = ["a", "b", "c"].map(|text| artifact(text, &subject));
    for (at, artifact) in artifacts.iter().enumerate() {
        registry.push(&format!("x:artifact-{at}"), artifact.clone())?;
    }
    let pages = artifacts.clone().map(|artifact| index(&[&artifact]));
    let question = format!("/v2/x/referrers/{subject}");
    let proxy = Proxy::before(&registry.authority, move |request| {
        let next = |at: usize| format!("Link: <{question}?page={at}>; rel=\"next\"");
        match request.path.strip_prefix(&question) {
            Some("") => Answer::with(200, &[JSON, &next(1)], &pages[0]),
            Some("?page=1") => Answer::with(200, &[JSON, &next(2)], &pages[1]),
            Some(_) => Answer::with(200, &[JSON], &pages[2]),
            None => Action::Forward,
        }
    })?;
    let packed = pack_all(dir, &proxy.name("x:1"))?.good();
    for artifact in &artifacts {
        assert!(packed.has(artifact.layers()[0].digest())?);
    }
    Ok(())
}

fn levels(dir: &Path) -> Outcome {
    let registry = Registry::with_one(dir)?;
    let subject = digest_of("one");
    let chain = chain(&registry, &subject, 2)?;
    let [sbom, signature] = [&chain[0], &chain[1]];
    let by_tag = sign(&registry, sbom.manifest().digest())?;
    // They are listed for each other as well, which must come to an end.
    let signed = sbom.manifest().digest().to_owned();
    let last = signature.manifest().digest().to_owned();
    let lists = [
        (subject, vec![sbom]),
        (signed.clone(), vec![signature, sbom]),
        (last, vec![signature, sbom]),
    ];
    let proxy = listing(&registry, lists)?;
    let packed = pack_all(dir, &proxy.name("x:1"))?.good();
    packed.digest(&proxy.name(&format!("x:{}.sig", tag(&signed))));
    for layer in [&sbom.layers()[0], &signature.layers()[0], &by_tag] {
        assert!(packed.has(layer.digest())?, "{}", packed.said);
    }
    for link in &chain {
        assert_eq!(packed.said.matches(link.manifest().digest()).count(), 1);
    }
    Ok(())
}

fn endless(dir: &Path) -> Outcome {
    const FOLLOWED: usize = 5;
    let registry = Registry::with_one(dir)?;
    let subject = digest_of("one");
    let chain = chain(&registry, &subject, FOLLOWED + 1)?;
    let proxy = listing(&registry, links(&subject, &chain[..FOLLOWED]))?;
    let packed = pack_all(dir, &proxy.name("x:1"))?.good();
    assert!(packed.has(chain[FOLLOWED - 1].layers()[0].digest())?);
    std::fs::remove_file(&packed.out)?;
    let proxy = listing(&registry, links(&subject, &chain))?;
    let words = ["over 5 levels deep", "--with-referrers"];
    pack_all(dir, &proxy.name("x:1"))?.failed(1, &words);
    Ok(())
}

fn too_many(dir: &Path) -> Outcome {
    let registry = Registry::with_one(dir)?;
    let subject = digest_of("one");
    let artifacts: Vec<Image> = (0..1_001)
        .map(|at| artifact(&at.to_string(), &subject))
        .collect();
    let lists = [(subject, artifacts.iter().collect())];
    let proxy = listing(&registry, lists)?;
    let words = ["over 1000 signatures", "--with-referrers"];
    pack_all(dir, &proxy.name("x:1"))?.failed(1, &words);
    assert!(proxy.calls("/manifests/sha256:").is_empty());
    Ok(())
}

fn unending(dir: &Path) -> Outcome {
    let registry = Registry::with_one(dir)?;
    let question = format!("/v2/x/referrers/{}", digest_of("one"));
    let proxy = Proxy::before(&registry.authority, move |request| {
        let link = format!("Link: <{question}?page={}>; rel=\"next\"", request.nth);
        match request.path.starts_with(&question) {
            true => Answer::with(200, &[JSON, &link], &index(&[])),
            false => Action::Forward,
        }
    })?;
    pack_all(dir, &proxy.name("x:1"))?.failed(1, &["goes on and on"]);
    Ok(())
}
