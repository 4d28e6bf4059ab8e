//! Full disks: containerd's, and that of the agent's memory.

use std::path::{Path, PathBuf};

use airdock_testkit::daemon::Options;
use airdock_testkit::fixture::{Bundle, Image, Layer, Target};
use airdock_testkit::mount::Mount;
use airdock_testkit::process::{Running, Signal, run};
use airdock_testkit::proxy::{Fault, Proxy};
use airdock_testkit::{Daemon, Need, Outcome, Suite, Version, wait};

use crate::support::{
    AIRDOCK, DEADLINE, digest_of, ingests, leases, load, name_becomes, put, records, small,
    started, text, watch, watch_through,
};
use crate::whole::every_name_is_whole;

/// The file system that the daemon's root is on.
const DISK: u64 = 64 << 20;
/// The layer of the bundle that doesn't fit.
const LAYER: usize = 20_000_000;
/// Room for the daemon's own records, and for small images.
const SOME: u64 = 8 << 20;

const X: &str = "docker.io/library/x:1";
const Y: &str = "docker.io/library/y:1";

type Test = fn(&mut Daemon, &Path) -> Outcome;

pub(crate) fn tests(suite: Suite) -> Suite {
    let tests: [(&str, Test); 5] = [
        ("a_load_that_does_not_fit_sends_nothing", load_too_large),
        ("a_bundle_that_does_not_fit_waits_for_room", waits),
        (
            "a_disk_that_fills_up_ends_a_load_without_a_trace",
            load_filled,
        ),
        ("a_disk_that_fills_up_is_waited_for", filled),
        ("a_full_state_directory_stops_nothing", full_state),
    ];
    Version::ALL.into_iter().fold(suite, |suite, version| {
        tests.into_iter().fold(suite, |suite, (name, test)| {
            let options = Options::in_memory(DISK);
            suite.on_containerd(version, options, name, &[Need::Root], test)
        })
    })
}

fn large_image() -> Image {
    Image::new().layer(Layer::noise(1, LAYER))
}

fn large() -> (Bundle, String) {
    let digest = Target::from(large_image()).digest();
    (Bundle::new().with(&[X], large_image()), digest)
}

fn large_file(dir: &Path) -> std::io::Result<PathBuf> {
    let path = dir.join("x.tar");
    large().0.oci().write_tar(&path)?;
    Ok(path)
}

fn nothing_is_left(daemon: &Daemon) -> Outcome {
    assert_eq!(leases(daemon)?, Vec::<String>::new());
    assert_eq!(ingests(daemon)?, Vec::<String>::new());
    every_name_is_whole(daemon, &records(daemon)?)
}

fn load_too_large(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let bundle = large_file(dir)?;
    let proxy = Proxy::before(&daemon.socket())?;
    let store = format!("containerd:{}", proxy.socket().display());
    let full = daemon.memory()?.fill(SOME)?;
    let ended = run(AIRDOCK, &["load", text(&bundle), "--store", &store])?;
    assert_eq!(ended.code, 10, "{}", ended.stderr);
    assert!(ended.stderr.contains("free some space"), "{}", ended.stderr);
    assert_eq!(proxy.sent("Content/Write"), 0);
    assert!(records(daemon)?.is_empty());
    drop(full);
    assert_eq!(load(daemon, &bundle).code, 0);
    Ok(())
}

fn waits(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let full = daemon.memory()?.fill(SOME)?;
    let mut agent = started(daemon, dir, &[])?;
    let (bundle, digest) = large();
    put(dir, "x.tar", &bundle)?;
    agent.wait_for_line(&["failed", "x.tar", "free some space"], DEADLINE)?;
    // What fits isn't held up.
    put(dir, "y.tar", &small("y:1", "two"))?;
    name_becomes(daemon, Y, &digest_of("two"))?;
    drop(full);
    name_becomes(daemon, X, &digest)?;
    agent.wait_for_line(&["bundle loaded", "x.tar"], DEADLINE)?;
    nothing_is_left(daemon)
}

/// Lets a write begin, and takes its room away.
fn fill_during_a_write(
    daemon: &Daemon,
    proxy: &Proxy,
) -> Result<airdock_testkit::mount::Filler, Box<dyn std::error::Error>> {
    wait::until("the write", DEADLINE, || {
        (proxy.pending() == 0).then_some(())
    })?;
    let full = daemon.memory()?.fill(0)?;
    proxy.heal();
    Ok(full)
}

fn before_a_write(daemon: &Daemon) -> std::io::Result<Proxy> {
    let proxy = Proxy::before(&daemon.socket())?;
    proxy.spoil(Fault::stop("Content/Write").after(2_000_000));
    Ok(proxy)
}

fn load_filled(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let bundle = large_file(dir)?;
    let proxy = before_a_write(daemon)?;
    let store = format!("containerd:{}", proxy.socket().display());
    let args = ["load", text(&bundle), "--store", &store];
    let mut loading = Running::start(AIRDOCK, &args)?;
    let full = fill_during_a_write(daemon, &proxy)?;
    let ended = loading.wait(DEADLINE)?.code();
    assert_eq!(ended, Some(10), "{}", loading.stderr());
    assert!(records(daemon)?.is_empty());
    drop(full);
    assert_eq!(load(daemon, &bundle).code, 0);
    nothing_is_left(daemon)
}

fn filled(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let proxy = before_a_write(daemon)?;
    let mut agent = watch_through(&proxy, dir, &[])?;
    let (bundle, digest) = large();
    put(dir, "x.tar", &bundle)?;
    let full = fill_during_a_write(daemon, &proxy)?;
    agent.wait_for_line(&["failed", "no space left"], DEADLINE)?;
    assert!(records(daemon)?.is_empty());
    drop(full);
    name_becomes(daemon, X, &digest)?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    wait::until("order", DEADLINE, || nothing_is_left(daemon).ok())?;
    Ok(())
}

fn full_state(daemon: &mut Daemon, dir: &Path) -> Outcome {
    const STATE: u64 = 1 << 20;
    let state = Mount::tmpfs(&dir.join("state"), STATE)?;
    let full = state.fill(0)?;
    let mut agent = started(daemon, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["cannot remember", "No space left"], DEADLINE)?;
    name_becomes(daemon, X, &digest_of("one"))?;
    put(dir, "y.tar", &small("y:1", "two"))?;
    name_becomes(daemon, Y, &digest_of("two"))?;
    drop(full);
    agent.wait_for_line(&["remembering what was done"], DEADLINE)?;
    assert_eq!(agent.stderr().matches("cannot remember").count(), 1);
    agent.signal(Signal::TERM)?;
    assert!(agent.wait(DEADLINE)?.success());
    // What was remembered late is remembered: neither bundle is looked at again.
    let mut again = watch(daemon, dir, &["--once"])?;
    assert!(again.wait(DEADLINE)?.success(), "{}", again.stderr());
    assert!(!again.stderr().contains(".tar"), "{}", again.stderr());
    Ok(())
}
