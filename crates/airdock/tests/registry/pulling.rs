//! What comes out of a registry is what was pushed.

use std::fs;
use std::path::Path;

use airdock_testkit::fixture::{Image, Layer, Target};
use airdock_testkit::{Need, Outcome, Suite};

use crate::proxy::{Action, Answer, Proxy};
use crate::registry::Registry;
use crate::support::{NEEDS, Pack, digest_of, skopeo_digest, text};

const MIB: usize = 1024 * 1024;

const HOSTS: &[Need] = &[NEEDS[0], NEEDS[1], Need::Root, Need::Program("unshare")];

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test("a_packed_image_is_what_skopeo_sees", NEEDS, one)
        .test("two_runs_give_the_same_bytes", NEEDS, twice)
        .test(
            "an_index_is_kept_with_the_chosen_platforms",
            NEEDS,
            platforms,
        )
        .test(
            "a_tag_with_a_digest_is_checked_and_both_are_kept",
            NEEDS,
            both,
        )
        .test(
            "a_mirror_is_asked_first_and_stands_in_for_docker_hub",
            NEEDS,
            mirror,
        )
        .test(
            "what_a_mirror_lacks_or_breaks_comes_from_the_registry",
            NEEDS,
            fallback,
        )
        .test(
            "a_redirect_elsewhere_is_followed_without_the_credential",
            NEEDS,
            redirect,
        )
        .test(
            "names_of_this_machine_need_no_name_server",
            NEEDS,
            localhost,
        )
        .test("a_host_of_this_machines_list_is_found", HOSTS, hosts)
        .test("a_proxy_of_the_environment_is_used", NEEDS, through_proxy)
}

fn one(dir: &Path) -> Outcome {
    let registry = Registry::plain(dir)?;
    let image = Image::new()
        .layer(Layer::noise(1, 3 * MIB).gzip())
        .layer(Layer::file("a", b"two").zstd());
    let name = registry.push("team/x:1", image)?;
    let packed = Pack::of(dir, &["--plain-http", &name]).run()?.good();
    let digest = packed.digest(&name);
    assert_eq!(digest, skopeo_digest(&format!("docker://{name}"))?);
    let archive = format!("oci-archive:{}:1", text(&packed.out));
    assert_eq!(digest, skopeo_digest(&archive)?);
    Ok(())
}

fn twice(dir: &Path) -> Outcome {
    let registry = Registry::plain(dir)?;
    let mut names = Vec::new();
    for tag in ["a", "b", "c"] {
        names.push(registry.push(&format!("x:{tag}"), Image::small(tag))?);
    }
    let args = |order: [usize; 3]| order.map(|at| names[at].as_str());
    let plain = ["--plain-http"];
    let first = Pack::of(dir, &[&plain[..], &args([0, 1, 2])].concat()).run()?;
    let bytes = fs::read(first.good().out)?;
    fs::remove_dir_all(dir.join("cache"))?;
    let second = Pack::of(dir, &[&plain[..], &args([2, 0, 1])].concat()).run()?;
    assert!(bytes == fs::read(second.good().out)?);
    Ok(())
}

fn platforms(dir: &Path) -> Outcome {
    let images: Vec<Image> = ["linux/amd64", "linux/arm64", "linux/s390x"]
        .map(|platform| Image::small(platform).platform(platform))
        .into();
    let index = Target::index(images.clone());
    let registry = Registry::with(dir, index.clone())?;
    let name = registry.name("x:1");
    let args = ["--plain-http", "--platform", "linux/arm64", &name];
    let packed = Pack::of(dir, &args).run()?.good();
    assert_eq!(packed.digest(&name), index.digest());
    let has = |image: &Image| packed.has(&image.manifest().descriptor.digest);
    assert!(has(&images[0])? && has(&images[1])? && !has(&images[2])?);
    let other = ["--plain-http", "--platform", "linux/riscv64", &name];
    fs::remove_file(&packed.out)?;
    let words = ["linux/riscv64", "linux/s390x"];
    Pack::of(dir, &other).run()?.failed(1, &words);
    Ok(())
}

fn both(dir: &Path) -> Outcome {
    let registry = Registry::with_one(dir)?;
    let tag = registry.name("x:1");
    let digest = digest_of("one");
    let name = format!("{tag}@{digest}");
    let packed = Pack::of(dir, &["--plain-http", &name]).run()?.good();
    let by_digest = registry.name(&format!("x@{digest}"));
    assert_eq!(packed.digest(&tag), digest);
    assert_eq!(packed.digest(&by_digest), digest);
    fs::remove_file(&packed.out)?;
    registry.push("x:1", Image::small("two"))?;
    let moved = Pack::of(dir, &["--plain-http", &name]).run()?;
    moved.failed(1, &[&digest_of("two")]);
    let alone = Pack::of(dir, &["--plain-http", &by_digest]).run()?.good();
    assert_eq!(alone.digest(&by_digest), digest);
    Ok(())
}

fn mirror(dir: &Path) -> Outcome {
    let registry = Registry::plain(dir)?;
    registry.push("hub/library/x:1", Image::small("one"))?;
    let authority = &registry.authority;
    let mirror = format!("docker.io={authority}/hub");
    let plain = format!("--plain-http={authority}");
    let packed = Pack::of(dir, &[&plain, "--mirror", &mirror, "x:1"]).run()?;
    let digest = packed.good().digest("docker.io/library/x:1");
    assert_eq!(digest, digest_of("one"));
    Ok(())
}

fn fallback(dir: &Path) -> Outcome {
    let registry = Registry::plain(dir)?;
    let authority = &registry.authority;
    for name in ["lacks", "breaks"] {
        registry.push(&format!("{name}:1"), Image::small(name))?;
    }
    let mirror = Proxy::before(authority, |request| match request.path.as_str() {
        path if path.contains("/lacks/") => Answer::status(404),
        path if path.contains("/blobs/") => Answer::with(200, &[], "not it"),
        _ => Action::Forward,
    })?;
    let of = format!("{authority}={}", mirror.authority);
    for name in ["lacks", "breaks"] {
        let name = registry.name(&format!("{name}:1"));
        let args = ["--plain-http", "--mirror", &of, "--retries", "1", &name];
        let packed = Pack::of(dir, &args).run()?.good();
        packed.digest(&name);
    }
    assert!(!mirror.calls("/lacks/").is_empty());
    assert!(!mirror.calls("/breaks/blobs/").is_empty());
    let silent = format!("{authority}=127.0.0.1:1");
    let name = registry.name("lacks:1");
    let args = ["--plain-http", "--mirror", &silent, "--retries", "0", &name];
    Pack::of(dir, &args).run()?.good();
    Ok(())
}

fn redirect(dir: &Path) -> Outcome {
    let registry = Registry::with_one(dir)?;
    let storage = Proxy::before(&registry.authority, |_| Action::Forward)?;
    let elsewhere = storage.authority.clone();
    let front = Proxy::before(&registry.authority, move |request| {
        let location = format!("Location: http://{elsewhere}{}", request.path);
        match request.header("authorization") {
            "" => Answer::with(401, &["WWW-Authenticate: Basic realm=\"r\""], ""),
            _ if request.path.contains("/blobs/") => Answer::with(307, &[&location], ""),
            _ => Action::Forward,
        }
    })?;
    let auth = dir.join("auth.json");
    let entry = format!(
        r#"{{"auths":{{"{}":{{"auth":"dGVzdDpzZWNyZXQ="}}}}}}"#,
        front.authority
    );
    fs::write(&auth, entry)?;
    let name = front.name("x:1");
    let pack = |plain: &str| {
        let pack = Pack::of(dir, &[plain, "--retries", "0", &name]);
        pack.env("REGISTRY_AUTH_FILE", text(&auth)).run()
    };
    // Only the front may speak plain http: the storage may not.
    let words = ["plain http at", &storage.authority, "--plain-http="];
    pack(&format!("--plain-http={}", front.authority))?.failed(1, &words);
    pack("--plain-http")?.good().digest(&name);
    let calls = storage.calls("/blobs/");
    assert!(!calls.is_empty());
    assert!(
        calls
            .iter()
            .all(|call| call.request.header("authorization").is_empty())
    );
    Ok(())
}

fn localhost(dir: &Path) -> Outcome {
    let registry = Registry::with_one(dir)?;
    let name = format!("localhost:{}/x:1", registry.port());
    let packed = Pack::of(dir, &["--plain-http", &name]).run()?.good();
    assert_eq!(packed.digest(&name), digest_of("one"));
    Ok(())
}

fn hosts(dir: &Path) -> Outcome {
    let registry = Registry::with_one(dir)?;
    let hosts = dir.join("hosts");
    fs::write(&hosts, "127.0.0.1 registry.invalid other\n")?;
    for host in ["registry.invalid", "other"] {
        let name = format!("{host}:{}/x:1", registry.port());
        let packed = Pack::of(dir, &["--plain-http", &name])
            .hosts(&hosts)
            .run()?;
        assert_eq!(packed.good().digest(&name), digest_of("one"));
    }
    Ok(())
}

fn through_proxy(dir: &Path) -> Outcome {
    let registry = Registry::with_one(dir)?;
    // It is asked for whole addresses, as proxies are; a registry takes them too.
    let proxy = Proxy::before(&registry.authority, |_| Action::Forward)?;
    let name = "registry.invalid:5000/x:1";
    let pack = || Pack::of(dir, &["--plain-http", "--retries", "0", name]);
    let address = format!("http://{}", proxy.authority);
    let packed = pack().env("HTTP_PROXY", &address).run()?.good();
    assert_eq!(packed.digest(name), digest_of("one"));
    assert!(!proxy.calls("http://registry.invalid:5000/v2/x/").is_empty());
    fs::remove_file(&packed.out)?;
    fs::remove_dir_all(dir.join("cache"))?;
    let without = pack()
        .env("HTTP_PROXY", &address)
        .env("NO_PROXY", "registry.invalid");
    without.run()?.failed(1, &["registry.invalid:5000"]);
    Ok(())
}
