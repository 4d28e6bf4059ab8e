//! What fails is named, what may pass is tried again, and nothing half-written is left.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use airdock_testkit::fixture::{Image, Layer};
use airdock_testkit::mount::Mount;
use airdock_testkit::{Need, Outcome, Suite};

use crate::proxy::{Action, Answer, Proxy};
use crate::registry::Registry;
use crate::support::{NEEDS, Pack, digest_of, text};

const UNKNOWN: &str = r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}"#;

const FULL: &[Need] = &[NEEDS[0], NEEDS[1], Need::Root];

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test("a_missing_image_is_named", NEEDS, missing)
        .test("what_may_pass_is_tried_again", NEEDS, passing)
        .test("tries_come_to_an_end", NEEDS, lasting)
        .test("a_rate_limit_is_waited_for_or_told", NEEDS, limited)
        .test("a_broken_blob_gets_into_no_bundle", NEEDS, broken)
        .test(
            "a_document_that_is_another_is_refused",
            NEEDS,
            other_document,
        )
        .test("what_a_registry_says_steers_no_terminal", NEEDS, escaped)
        .test("nobody_there_is_said_with_the_reason", &[], nobody)
        .test("with_keep_going_the_rest_is_packed", NEEDS, keep_going)
        .test("a_full_disk_is_named", FULL, full)
}

/// A registry with `x:1`, and a proxy before it.
fn before(
    dir: &Path,
    decide: impl Fn(&crate::proxy::Request) -> Action + Send + Sync + 'static,
) -> std::io::Result<(Registry, Proxy, String)> {
    let registry = Registry::with_one(dir)?;
    let proxy = Proxy::before(&registry.authority, decide)?;
    let name = proxy.name("x:1");
    Ok((registry, proxy, name))
}

fn missing(dir: &Path) -> Outcome {
    let (registry, ..) = before(dir, |_| Action::Forward)?;
    for name in ["x:2", "y:1"] {
        let name = registry.name(name);
        let packed = Pack::of(dir, &["--plain-http", &name]).run()?;
        packed.failed(1, &[&name, "it is not in its registry"]);
    }
    Ok(())
}

fn passing(dir: &Path) -> Outcome {
    let (_registry, proxy, name) = before(dir, |request| match request.nth {
        0 => Answer::status(500),
        1 => Answer::status(503),
        2 => Action::Cut(1),
        _ => Action::Forward,
    })?;
    let args = ["--plain-http", "--retries", "3", &name];
    let packed = Pack::of(dir, &args).run()?.good();
    assert_eq!(packed.digest(&name), digest_of("one"));
    assert_eq!(proxy.calls("/manifests/1").len(), 4);
    Ok(())
}

fn lasting(dir: &Path) -> Outcome {
    let (_registry, proxy, name) = before(dir, |request| match request.path.contains("/blobs/") {
        true => Answer::with(502, &[], "upstream is\nill"),
        false => Action::Forward,
    })?;
    let args = ["--plain-http", "--retries", "2", &name];
    let words = ["answers 502 (upstream is)", &proxy.authority];
    Pack::of(dir, &args).run()?.failed(1, &words);
    let blobs = proxy.calls("/blobs/");
    assert_eq!(blobs.len(), 3, "{blobs:?}");
    Ok(())
}

fn limited(dir: &Path) -> Outcome {
    let (registry, proxy, name) = before(dir, |request| match request.nth {
        0 => Answer::with(429, &["Retry-After: 2"], ""),
        _ => Action::Forward,
    })?;
    let args = ["--plain-http", "--retries", "1", &name];
    let start = Instant::now();
    Pack::of(dir, &args).run()?.good();
    assert!(start.elapsed() >= Duration::from_secs(2));
    drop(proxy);
    let said = r#"{"errors":[{"code":"TOOMANYREQUESTS","message":"pull rate limit"}]}"#;
    let proxy = Proxy::before(&registry.authority, move |_| {
        Answer::with(429, &["Retry-After: 3600"], said)
    })?;
    let name = proxy.name("x:1");
    let words = ["3600 s", "TOOMANYREQUESTS: pull rate limit", &name];
    fs::remove_file(dir.join("out.tar"))?;
    Pack::of(dir, &["--plain-http", &name])
        .run()?
        .failed(1, &words);
    assert_eq!(proxy.calls("").len(), 1);
    Ok(())
}

fn broken(dir: &Path) -> Outcome {
    let large = Layer::noise(3, 100_000);
    let digest = large.digest().to_owned();
    let registry = Registry::with(dir, Image::new().layer(large))?;
    let size = fs::metadata(registry.blob(&digest))?.len();
    let zeros = "0".repeat(usize::try_from(size)?);
    let of = digest.clone();
    let proxy = Proxy::before(&registry.authority, move |request| {
        match request.path.contains(&of) {
            true => Answer::with(200, &[], &zeros),
            false => Action::Forward,
        }
    })?;
    let name = proxy.name("x:1");
    let words = ["sent other bytes than", &digest, &name];
    Pack::of(dir, &["--plain-http", &name])
        .run()?
        .failed(7, &words);
    // Once more in case it was broken on its way.
    assert_eq!(proxy.calls(&digest).len(), 2);
    let kept = dir
        .join("cache/blobs/sha256")
        .join(&digest["sha256:".len()..]);
    assert!(!kept.exists());
    Ok(())
}

fn other_document(dir: &Path) -> Outcome {
    let (_registry, _proxy, name) = before(dir, |request| {
        match request.path.contains("/manifests/sha256:") {
            true => Answer::with(200, &[], "{}"),
            false => Action::Forward,
        }
    })?;
    let (repository, _) = name.rsplit_once(':').expect("a tag");
    let by_digest = format!("{repository}@{}", digest_of("one"));
    let words = ["sent other bytes than", &digest_of("one")];
    let args = ["--plain-http", "--retries", "0", &by_digest];
    Pack::of(dir, &args).run()?.failed(7, &words);
    Ok(())
}

fn escaped(dir: &Path) -> Outcome {
    let (_registry, _proxy, name) =
        before(dir, |_| Answer::with(418, &[], "tea\u{1b}[31m\u{202e}"))?;
    let packed = Pack::of(dir, &["--plain-http", &name]).run()?;
    let packed = packed.failed(1, &["answers 418 (tea", r"\u{1b}", r"\u{202e}"]);
    assert!(!packed.said.contains('\u{1b}'));
    Ok(())
}

fn nobody(dir: &Path) -> Outcome {
    let pack = |name: &str| Pack::of(dir, &["--plain-http", "--retries", "0", name]).run();
    pack("127.0.0.1:1/x:1")?.failed(1, &["127.0.0.1:1", "nothing listens there"]);
    let words = ["nowhere.invalid", "no address is known for"];
    pack("nowhere.invalid/x:1")?.failed(1, &words);
    Ok(())
}

fn keep_going(dir: &Path) -> Outcome {
    let registry = Registry::plain(dir)?;
    for tag in ["good", "also", "bad"] {
        registry.push(&format!("x:{tag}"), Image::small(tag))?;
    }
    let bad = Image::small("bad").layers()[0].digest().to_owned();
    let proxy = Proxy::before(&registry.authority, move |request| {
        match request.path.contains(&bad) {
            true => Answer::with(404, &[], UNKNOWN),
            false => Action::Forward,
        }
    })?;
    let name = |tag: &str| proxy.name(&format!("x:{tag}"));
    let names = ["good", "gone", "bad", "also"].map(name);
    let list = dir.join("list");
    fs::write(&list, names.join("\n"))?;
    let args = ["--plain-http", "--list", text(&list)];
    Pack::of(dir, &args).run()?.failed(1, &[&name("gone")]);
    let packed = Pack::of(dir, &[&args[..], &["--keep-going"]].concat()).run()?;
    assert_eq!(packed.code, 3, "{}", packed.said);
    for tag in ["good", "also"] {
        assert_eq!(packed.digest(&name(tag)), digest_of(tag));
    }
    for words in [name("gone"), name("bad"), "MANIFEST_UNKNOWN".to_owned()] {
        assert!(packed.said.contains(&words), "{words}: {}", packed.said);
    }
    Ok(())
}

fn full(dir: &Path) -> Outcome {
    let image = Image::new().layer(Layer::noise(5, 4 << 20));
    let registry = Registry::with(dir, image)?;
    let name = registry.name("x:1");
    let small = dir.join("small");
    fs::create_dir(&small)?;
    let _mounted = Mount::tmpfs(&small, 1 << 20)?;
    let out = dir.join("out.tar");
    let args = [
        "--plain-http",
        "--out",
        text(&out),
        "--cache",
        text(&small),
        &name,
    ];
    Pack::bare(dir, &args)
        .run()?
        .failed(10, &[text(&small), "No space left"]);
    Ok(())
}
