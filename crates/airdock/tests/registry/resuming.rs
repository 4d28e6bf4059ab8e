//! Blobs that were cut are gone on with, in one run and over several.

use std::fs;
use std::path::Path;

use airdock_testkit::fixture::{Image, Layer};
use airdock_testkit::process::Signal;
use airdock_testkit::{Outcome, Suite, wait};

use crate::proxy::{Action, Answer, Call, Proxy, Request};
use crate::registry::Registry;
use crate::support::{DEADLINE, NEEDS, Pack, text};

const MIB: usize = 1024 * 1024;
const SIZE: usize = 8 * MIB;

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test("a_cut_blob_is_gone_on_with", NEEDS, cut)
        .test("a_registry_without_ranges_gives_it_again", NEEDS, no_ranges)
        .test("a_run_that_was_killed_is_gone_on_with", NEEDS, killed)
        .test("a_second_run_fetches_no_blob", NEEDS, cached)
        .test("a_damaged_cache_is_mended", NEEDS, damaged)
        .test("two_runs_at_once_fetch_a_blob_once", NEEDS, two)
        .test("a_signal_ends_it_and_leaves_no_file", NEEDS, stopped)
}

/// A registry with an image of one large layer as `x:1`, and that layer's digest.
fn large(dir: &Path) -> std::io::Result<(Registry, String)> {
    let layer = Layer::noise(7, SIZE);
    let digest = layer.digest().to_owned();
    let registry = Registry::with(dir, Image::new().layer(layer))?;
    Ok((registry, digest))
}

fn is_of(request: &Request, digest: &str) -> bool {
    request.path.contains("/blobs/") && request.path.contains(digest)
}

fn bytes(calls: &[Call]) -> u64 {
    calls.iter().map(|call| call.bytes).sum()
}

fn cut(dir: &Path) -> Outcome {
    let (registry, digest) = large(dir)?;
    let of = digest.clone();
    let proxy = Proxy::before(&registry.authority, move |request| {
        match is_of(request, &of) && request.nth < 3 {
            true => Action::Cut(2 * MIB as u64),
            false => Action::Forward,
        }
    })?;
    let name = proxy.name("x:1");
    // Each try got on: they don't count against the one that is allowed.
    let args = ["--plain-http", "--retries", "1", &name];
    Pack::of(dir, &args).run()?.good().digest(&name);
    let calls = proxy.calls(&digest);
    let ranges: Vec<&str> = calls
        .iter()
        .map(|call| call.request.header("range"))
        .collect();
    let from = |mib: usize| format!("bytes={}-", mib * MIB);
    assert_eq!(ranges, ["", &from(2), &from(4), &from(6)]);
    // The proxy may have sent a little that was never read.
    let whole = calls.iter().map(|call| call.bytes).sum::<u64>();
    assert_eq!(whole, tar_size(&registry, &digest)?);
    Ok(())
}

fn tar_size(registry: &Registry, digest: &str) -> std::io::Result<u64> {
    Ok(fs::metadata(registry.blob(digest))?.len())
}

fn no_ranges(dir: &Path) -> Outcome {
    let (registry, digest) = large(dir)?;
    let of = digest.clone();
    let ranges = Proxy::before(&registry.authority, |_| Action::Whole)?;
    let proxy = Proxy::before(&ranges.authority, move |request| {
        match is_of(request, &of) && request.nth == 0 {
            true => Action::Cut(3 * MIB as u64),
            false => Action::Forward,
        }
    })?;
    let name = proxy.name("x:1");
    Pack::of(dir, &["--plain-http", &name])
        .run()?
        .good()
        .digest(&name);
    assert_eq!(proxy.calls(&digest).len(), 2);
    Ok(())
}

fn killed(dir: &Path) -> Outcome {
    let (registry, digest) = large(dir)?;
    let of = digest.clone();
    let proxy = Proxy::before(&registry.authority, move |request| {
        match is_of(request, &of) && request.nth == 0 {
            true => Action::Stall(4 * MIB as u64),
            false => Action::Forward,
        }
    })?;
    let name = proxy.name("x:1");
    let mut first = Pack::of(dir, &["--plain-http", &name]).start()?;
    wait::until("four MiB in the cache", DEADLINE, || {
        let entry = fs::read_dir(dir.join("cache/partial")).ok()?;
        let sizes = entry.filter_map(|entry| entry.ok()?.metadata().ok());
        let large = sizes.map(|metadata| metadata.len()).max()?;
        (large >= 4 * MIB as u64).then_some(())
    })?;
    first.kill()?;
    assert!(!dir.join("out.tar").exists());
    Pack::of(dir, &["--plain-http", &name])
        .run()?
        .good()
        .digest(&name);
    let second = proxy.calls(&digest).pop().expect("a second call");
    assert_eq!(
        second.request.header("range"),
        format!("bytes={}-", 4 * MIB)
    );
    Ok(())
}

fn cached(dir: &Path) -> Outcome {
    let (registry, _) = large(dir)?;
    let proxy = Proxy::before(&registry.authority, |_| Action::Forward)?;
    let name = proxy.name("x:1");
    let pack = || Pack::of(dir, &["--plain-http", &name]).run();
    pack()?.good();
    let before = bytes(&proxy.calls("/blobs/"));
    pack()?.good().digest(&name);
    assert_eq!(bytes(&proxy.calls("/blobs/")), before);
    Ok(())
}

fn damaged(dir: &Path) -> Outcome {
    let (registry, digest) = large(dir)?;
    let name = registry.name("x:1");
    let pack = || Pack::of(dir, &["--plain-http", &name]).run();
    pack()?.good();
    let hex = digest.trim_start_matches("sha256:");
    let blob = dir.join("cache/blobs/sha256").join(hex);
    let mut bytes = fs::read(&blob)?;
    bytes[MIB] ^= 1;
    fs::write(&blob, bytes)?;
    pack()?.good().digest(&name);
    Ok(())
}

fn two(dir: &Path) -> Outcome {
    let (registry, digest) = large(dir)?;
    let proxy = Proxy::before(&registry.authority, |_| Action::Forward)?;
    let name = proxy.name("x:1");
    let outs = ["a.tar", "b.tar"].map(|out| dir.join(out));
    let mut running = Vec::new();
    for out in &outs {
        let cache = dir.join("cache");
        let own = ["--out", text(out), "--cache", text(&cache)];
        let args = [&own[..], &["--plain-http", &name]].concat();
        running.push(Pack::bare(dir, &args).start()?);
    }
    for mut one in running {
        let status = one.wait(DEADLINE)?;
        assert!(status.success(), "{}", one.stderr());
    }
    assert!(fs::read(&outs[0])? == fs::read(&outs[1])?);
    assert_eq!(bytes(&proxy.calls(&digest)), tar_size(&registry, &digest)?);
    Ok(())
}

fn stopped(dir: &Path) -> Outcome {
    let (registry, digest) = large(dir)?;
    let proxy = Proxy::before(&registry.authority, move |request| {
        match is_of(request, &digest) {
            true => Action::Stall(MIB as u64),
            false => Action::Forward,
        }
    })?;
    let name = proxy.name("x:1");
    let mut running = Pack::of(dir, &["--plain-http", &name]).start()?;
    wait::until("the layer to be asked for", DEADLINE, || {
        (bytes(&proxy.calls("/blobs/")) >= MIB as u64).then_some(())
    })?;
    running.signal(Signal::TERM)?;
    let status = running.wait(DEADLINE)?;
    assert_eq!(status.code(), Some(130), "{}", running.stderr());
    let files = fs::read_dir(dir)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let left: Vec<String> = files
        .filter(|name| name.ends_with(".tar") || name.ends_with(".tmp"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
    // A registry that is asked for something else is left as well.
    let waiting = Proxy::before(&registry.authority, |_| Answer::status(503))?;
    let name = waiting.name("x:1");
    let mut running = Pack::of(dir, &["--plain-http", "--retries", "50", &name]).start()?;
    wait::until("a request", DEADLINE, || {
        (!waiting.calls("").is_empty()).then_some(())
    })?;
    running.signal(Signal::INT)?;
    assert_eq!(running.wait(DEADLINE)?.code(), Some(130));
    Ok(())
}
