//! What happens to a bundle, or to the daemon, while a bundle is being sent.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use airdock_testkit::daemon::Options;
use airdock_testkit::fixture::{Bundle, Image, Layer, Target};
use airdock_testkit::process::Running;
use airdock_testkit::proxy::{Fault, Proxy};
use airdock_testkit::{Daemon, Need, Outcome, Suite, Version, wait};

use crate::support::{
    AIRDOCK, DEADLINE, digest_of, ingests, leases, name_becomes, put, records, small, store_of,
    text, watch_through,
};
use crate::whole::every_name_is_whole;

const X: &str = "docker.io/library/x:1";
/// Bytes of the first layer that pass before the rest is held up.
const PASSES: u64 = 2_000_000;

type Test = fn(&mut Daemon, &Path) -> Outcome;

pub(crate) fn tests(suite: Suite) -> Suite {
    let tests: [(&str, &'static [Need], Test); 6] = [
        (
            "a_bundle_that_is_replaced_midway_is_never_named",
            &[],
            replaced,
        ),
        ("a_bundle_that_is_cut_midway_is_never_named", &[], cut),
        (
            "a_bundle_that_is_removed_midway_leaves_nothing",
            &[],
            removed,
        ),
        (
            "a_compressed_bundle_that_is_cut_midway_is_never_named",
            &[],
            cut_compressed,
        ),
        ("a_daemon_that_is_killed_midway_is_met_again", &[], killed),
        (
            "a_socket_that_may_not_be_used_is_told_of_and_waited_for",
            &[Need::Program("setpriv")],
            denied,
        ),
    ];
    Version::ALL.into_iter().fold(suite, |suite, version| {
        tests.into_iter().fold(suite, |suite, (name, needs, test)| {
            suite.on_containerd(version, Options::default(), name, needs, test)
        })
    })
}

/// Three layers of several messages each.
fn large_image() -> Image {
    let layers = (0..3).map(|seed| Layer::noise(seed, 6_000_000));
    layers.fold(Image::new(), Image::layer)
}

fn large() -> Bundle {
    Bundle::new().with(&[X], large_image())
}

/// An agent in the middle of sending the bundle in `bundles/FILE`; healing lets it go on.
fn held_up(daemon: &Daemon, dir: &Path) -> std::io::Result<(Running, Proxy)> {
    let proxy = Proxy::before(&daemon.socket())?;
    proxy.spoil(Fault::stop("Content/Write").after(PASSES));
    let agent = watch_through(&proxy, dir, &["--release-grace", "0"])?;
    wait::until("the write", DEADLINE, || {
        (proxy.pending() == 0).then_some(())
    })?;
    Ok((agent, proxy))
}

fn place(dir: &Path, file: &str, bundle: &[u8]) -> std::io::Result<()> {
    fs::create_dir_all(dir.join("bundles"))?;
    fs::write(dir.join("bundles").join(file), bundle)
}

fn nothing_is_left(daemon: &Daemon) -> Outcome {
    wait::until("no lease and no ingest", DEADLINE, || {
        (leases(daemon).ok()?.is_empty() && ingests(daemon).ok()?.is_empty()).then_some(())
    })?;
    every_name_is_whole(daemon, &records(daemon)?)
}

fn never_imported(agent: &Running, image: &Image) {
    let digest = Target::from(image.clone()).digest();
    assert!(!agent.stderr().contains(&digest), "{}", agent.stderr());
}

fn replaced(daemon: &mut Daemon, dir: &Path) -> Outcome {
    place(dir, "x.tar", &large().oci().tar())?;
    let (mut agent, proxy) = held_up(daemon, dir)?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    proxy.heal();
    agent.wait_for_line(&["x.tar", "changed while"], DEADLINE)?;
    name_becomes(daemon, X, &digest_of("one"))?;
    never_imported(&agent, &large_image());
    nothing_is_left(daemon)
}

fn cut(daemon: &mut Daemon, dir: &Path) -> Outcome {
    cut_midway(daemon, dir, &large().oci().tar())
}

fn cut_compressed(daemon: &mut Daemon, dir: &Path) -> Outcome {
    cut_midway(
        daemon,
        dir,
        &airdock_testkit::fixture::gzip(&large().oci().tar()),
    )
}

fn cut_midway(daemon: &mut Daemon, dir: &Path, bundle: &[u8]) -> Outcome {
    place(dir, "x.tar", bundle)?;
    let (mut agent, proxy) = held_up(daemon, dir)?;
    let file = File::options()
        .write(true)
        .open(dir.join("bundles/x.tar"))?;
    file.set_len(3_500_000)?;
    drop(file);
    proxy.heal();
    agent.wait_for_line(&["x.tar", "changed while"], DEADLINE)?;
    agent.wait_for_line(&["x.tar", "incomplete"], DEADLINE)?;
    assert!(records(daemon)?.is_empty());
    place(dir, "x.tar", bundle)?;
    name_becomes(daemon, X, &Target::from(large_image()).digest())?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    nothing_is_left(daemon)
}

fn removed(daemon: &mut Daemon, dir: &Path) -> Outcome {
    place(dir, "x.tar", &large().oci().tar())?;
    let (mut agent, proxy) = held_up(daemon, dir)?;
    fs::remove_file(dir.join("bundles/x.tar"))?;
    agent.wait_for_line(&["bundle gone", "x.tar"], DEADLINE)?;
    proxy.heal();
    put(dir, "y.tar", &small("y:1", "two"))?;
    name_becomes(daemon, "docker.io/library/y:1", &digest_of("two"))?;
    wait::until("no name", DEADLINE, || {
        (!records(daemon).ok()?.contains_key(X)).then_some(())
    })?;
    nothing_is_left(daemon)
}

fn killed(daemon: &mut Daemon, dir: &Path) -> Outcome {
    place(dir, "x.tar", &large().oci().tar())?;
    let (mut agent, proxy) = held_up(daemon, dir)?;
    daemon.kill()?;
    agent.wait_for_line(&["the store does not answer"], DEADLINE)?;
    daemon.restart()?;
    proxy.heal();
    name_becomes(daemon, X, &Target::from(large_image()).digest())?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    nothing_is_left(daemon)
}

/// Without the capability that makes root pass every check.
fn denied(daemon: &mut Daemon, dir: &Path) -> Outcome {
    place(dir, "x.tar", &small("x:1", "one").oci().tar())?;
    let allow = |mode| fs::set_permissions(daemon.socket(), Permissions::from_mode(mode));
    allow(0)?;
    let store = store_of(daemon);
    let limited = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set=-dac_override,-dac_read_search", AIRDOCK]);
        command.args(args).args(["--store", &store]);
        Running::spawn(&mut command)
    };
    let (bundles, state) = (dir.join("bundles"), dir.join("state"));
    let mut load = limited(&["load", text(&bundles.join("x.tar"))])?;
    assert_eq!(load.wait(DEADLINE)?.code(), Some(9));
    let mut agent = limited(&["watch", text(&bundles), "--state-dir", text(&state)])?;
    agent.wait_for_line(
        &["the store does not answer", "permission denied"],
        DEADLINE,
    )?;
    allow(0o600)?;
    name_becomes(daemon, X, &digest_of("one"))?;
    Ok(())
}
