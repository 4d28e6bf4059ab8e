//! Layers that are unpacked ahead: beside the import, and never in its way.

use std::fs::File;
use std::path::{Path, PathBuf};

use airdock_testkit::fixture::{Bundle, Image, Layer, sha256};
use airdock_testkit::process::{Running, Signal, run};
use airdock_testkit::proxy::{Fault, Proxy};
use airdock_testkit::{Daemon, Need, Outcome, Suite, wait};

use crate::support::{AIRDOCK, DEADLINE, ingests, leases, load, records, small, store_of, text};

const NEEDS: &[Need] = &[Need::Root, Need::Overlay];

const AHEAD: &str = "example.com/airdock/ahead:1";
const LATER: &str = "example.com/airdock/later:1";

/// Bytes of blobs that pass before the rest is held up: more than all small ones together.
const PASSES: u64 = 2_000_000;

/// What containerd keeps a config's snapshots by.
const HOLDS: &str = "containerd.io/gc.ref.snapshot.overlayfs";

type Test = fn(&mut Daemon, &Path) -> Outcome;

pub(crate) fn tests(suite: Suite) -> Suite {
    let tests: [(&str, Test); 8] = [
        ("what_is_asked_for_is_unpacked_ahead", unpacked),
        ("what_was_unpacked_before_is_held_too", held),
        ("layers_are_unpacked_while_later_blobs_arrive", overlapping),
        ("an_import_that_fails_midway_leaves_no_snapshot", failed),
        ("names_do_not_wait_for_unpacking", stuck),
        ("an_image_is_imported_whatever_unpacking_meets", spoilt),
        ("a_killed_load_leaves_no_snapshot_after_the_next", killed),
        ("a_stopped_load_leaves_no_snapshot", stopped),
    ];
    tests.into_iter().fold(suite, |suite, (name, test)| {
        suite.on_each_containerd(name, NEEDS, test)
    })
}

/// Two layers of a file each, one of them compressed.
fn image(text: &str) -> Image {
    let layer = |n: &str| Layer::file(n, format!("{text} {n}").as_bytes());
    Image::new().layer(layer("one")).layer(layer("two").gzip())
}

/// Its last layer takes several messages.
fn large() -> Image {
    image("later").layer(Layer::noise(1, 6_000_000))
}

fn written(dir: &Path, later: Image) -> std::io::Result<PathBuf> {
    let path = dir.join("two.tar");
    let bundle = Bundle::new().with(&[AHEAD], image("ahead"));
    bundle.with(&[LATER], later).oci().write_tar(&path)?;
    Ok(path)
}

/// One of two images is meant. The second time nothing is left to do, and what is done later is
/// done without sending anything.
fn unpacked(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let path = written(dir, image("later"))?;
    let listed = load_unpacking(daemon, &path, "*/ahead:*")?;
    assert!(has_chain(&listed, &image("ahead")), "{listed}");
    assert!(!has_chain(&listed, &image("later")), "{listed}");
    assert_eq!(load_unpacking(daemon, &path, "*/ahead:*")?, listed);
    let listed = load_unpacking(daemon, &path, "*")?;
    assert!(has_chain(&listed, &image("later")), "{listed}");
    assert!(!listed.contains("airdock-"), "{listed}");
    assert_eq!(leases(daemon)?, Vec::<String>::new());
    Ok(())
}

/// Somebody else unpacked it, and nothing holds it.
fn held(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let path = written(dir, image("later"))?;
    let listed = load_unpacking(daemon, &path, "*")?;
    for image in [image("ahead"), image("later")] {
        let label = format!("{HOLDS}=");
        daemon.ctr_text(&["content", "label", image.config().digest(), &label])?;
    }
    assert_eq!(load_unpacking(daemon, &path, "*")?, listed);
    Ok(())
}

/// A `load` that has sent all but the rest of one layer, which is held up until all is healed.
fn held_up(daemon: &Daemon, bundle: &Path) -> std::io::Result<(Running, Proxy)> {
    let proxy = Proxy::before(&daemon.socket())?;
    proxy.spoil(Fault::stop("Content/Write").after(PASSES));
    let loading = through(&proxy, bundle)?;
    wait::until("the write", DEADLINE, || {
        (proxy.pending() == 0).then_some(())
    })?;
    Ok((loading, proxy))
}

fn overlapping(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let path = written(dir, large())?;
    let (mut loading, proxy) = held_up(daemon, &path)?;
    // All of the one image, and of the other what is there.
    comes(daemon, &image("ahead"))?;
    comes(daemon, &image("later"))?;
    assert!(records(daemon)?.is_empty());
    proxy.heal();
    assert_eq!(loading.wait(DEADLINE)?.code(), Some(0));
    let listed = collected(daemon)?;
    assert!(has_chain(&listed, &image("ahead")), "{listed}");
    assert!(has_chain(&listed, &large()), "{listed}");
    assert_eq!(leases(daemon)?, Vec::<String>::new());
    Ok(())
}

fn failed(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let path = written(dir, large())?;
    let (mut loading, proxy) = held_up(daemon, &path)?;
    comes(daemon, &image("ahead"))?;
    File::options()
        .write(true)
        .open(&path)?
        .set_len(3_000_000)?;
    proxy.heal();
    assert_ne!(loading.wait(DEADLINE)?.code(), Some(0));
    let said = loading.stderr();
    assert!(!said.contains("unpack"), "{said}");
    assert!(records(daemon)?.is_empty());
    nothing_is_left(daemon)
}

fn stuck(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let path = written(dir, image("later"))?;
    let (mut loading, proxy) = hanging(daemon, &path)?;
    wait::until("both names", DEADLINE, || {
        let records = records(daemon).ok()?;
        (records.contains_key(AHEAD) && records.contains_key(LATER)).then_some(())
    })?;
    assert!(!loading.has_ended());
    proxy.heal();
    assert_eq!(loading.wait(DEADLINE)?.code(), Some(0));
    assert!(loading.stderr().contains("cannot unpack an image ahead"));
    assert_eq!(leases(daemon)?, Vec::<String>::new());
    Ok(())
}

/// A `load` whose first layers are never unpacked.
fn hanging(daemon: &Daemon, bundle: &Path) -> std::io::Result<(Running, Proxy)> {
    let proxy = Proxy::before(&daemon.socket())?;
    for _ in 0..2 {
        proxy.spoil(Fault::hang("Diff/Apply"));
    }
    let loading = through(&proxy, bundle)?;
    wait::until("both calls", DEADLINE, || {
        (proxy.pending() == 0).then_some(())
    })?;
    Ok((loading, proxy))
}

fn spoilt(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let path = written(dir, image("later"))?;
    for call in ["Snapshots/Prepare", "Diff/Apply", "Snapshots/Commit"] {
        let failing = Fault::status(call, 13, "made up");
        for fault in [failing, Fault::cut(call)] {
            remove_everything(daemon)?;
            let proxy = Proxy::before(&daemon.socket())?;
            proxy.spoil(fault.clone());
            let mut loading = through(&proxy, &path)?;
            let ended = loading.wait(DEADLINE)?;
            let said = loading.stderr();
            assert_eq!(ended.code(), Some(0), "{fault:?}: {said}");
            assert!(said.contains("cannot unpack"), "{fault:?}: {said}");
            let records = records(daemon)?;
            assert!(records.contains_key(AHEAD) && records.contains_key(LATER));
            let listed = collected(daemon)?;
            assert!(!listed.contains("airdock-"), "{fault:?}: {listed}");
            assert_eq!(leases(daemon)?, Vec::<String>::new());
        }
    }
    Ok(())
}

fn killed(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let path = written(dir, image("later"))?;
    let (mut loading, proxy) = hanging(daemon, &path)?;
    loading.kill()?;
    drop(proxy);
    assert!(daemon.ctr_text(&["snapshots", "ls"])?.contains("airdock-"));
    let next = dir.join("next.tar");
    small("next:1", "next").oci().write_tar(&next)?;
    assert_eq!(load(daemon, &next).code, 0);
    nothing_is_left(daemon)
}

fn stopped(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let path = written(dir, large())?;
    let (mut loading, proxy) = held_up(daemon, &path)?;
    comes(daemon, &image("ahead"))?;
    loading.signal(Signal::TERM)?;
    assert_ne!(loading.wait(DEADLINE)?.code(), Some(0));
    drop(proxy);
    nothing_is_left(daemon)
}

fn through(proxy: &Proxy, bundle: &Path) -> std::io::Result<Running> {
    let store = format!("containerd:{}", proxy.socket().display());
    let args = ["load", text(bundle), "--store", &store, "--unpack", "*"];
    Running::start(AIRDOCK, &args)
}

/// Loads, and lists the snapshots that stay.
fn load_unpacking(
    daemon: &Daemon,
    bundle: &Path,
    pattern: &str,
) -> Result<String, Box<dyn std::error::Error>> {
    let store = store_of(daemon);
    let args = ["load", text(bundle), "--store", &store, "--unpack", pattern];
    let ended = run(AIRDOCK, &args)?;
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    Ok(collected(daemon)?)
}

/// Lets containerd collect what nothing refers to, and lists the snapshots.
fn collected(daemon: &Daemon) -> std::io::Result<String> {
    // The end of a lease that is waited for collects.
    let lease = daemon.ctr_text(&["leases", "create"])?;
    daemon.ctr_text(&["leases", "rm", "--sync", lease.trim()])?;
    daemon.ctr_text(&["snapshots", "ls"])
}

fn nothing_is_left(daemon: &Daemon) -> Outcome {
    wait::until("no lease, no ingest and no snapshot", DEADLINE, || {
        let is_empty = leases(daemon).ok()?.is_empty() && ingests(daemon).ok()?.is_empty();
        let snapshots = collected(daemon).ok()?;
        (is_empty && snapshots.lines().count() == 1).then_some(())
    })?;
    Ok(())
}

fn remove_everything(daemon: &Daemon) -> std::io::Result<()> {
    for name in records(daemon)?.keys() {
        daemon.ctr_text(&["images", "rm", "--sync", name])?;
    }
    Ok(())
}

/// Waits until an image is unpacked.
fn comes(daemon: &Daemon, image: &Image) -> std::io::Result<()> {
    wait::until("its snapshots", DEADLINE, || {
        let listed = daemon.ctr_text(&["snapshots", "ls"]).ok()?;
        has_chain(&listed, image).then_some(())
    })
}

fn has_chain(listed: &str, image: &Image) -> bool {
    let mut below = String::new();
    image.layers().iter().all(|layer| {
        below = match below.as_str() {
            "" => layer.diff_id(),
            chain => sha256(format!("{chain} {}", layer.diff_id()).as_bytes()),
        };
        listed.contains(&below)
    })
}
