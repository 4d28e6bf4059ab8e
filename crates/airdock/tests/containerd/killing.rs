//! SIGKILL at any moment: every name is whole or absent, and the next start completes the job.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use airdock_testkit::fixture::{Bundle, Image, Layer};
use airdock_testkit::process::{Running, run};
use airdock_testkit::proxy::{Fault, Proxy};
use airdock_testkit::{Daemon, Need, Outcome, Suite, Version, wait};

use crate::support::{
    AIRDOCK, DEADLINE, ingests, leases, load, records, small, started, store_of, text,
};
use crate::whole::every_name_is_whole;

/// How often an import is killed; each time somewhere else on its way.
const KILLS: u32 = 50;

pub(crate) fn tests(suite: Suite) -> Suite {
    let options = airdock_testkit::daemon::Options::default();
    let name = "killed_at_any_moment_every_name_is_whole_or_absent";
    let suite = Version::ALL.into_iter().fold(suite, |suite, version| {
        suite.on_containerd(version, options.clone(), name, &[], killed)
    });
    suite
        .on_each_containerd(
            "what_a_killed_load_left_goes_and_what_a_living_one_has_stays",
            &[Need::Program("unshare")],
            orphaned,
        )
        .on_each_containerd(
            "an_agent_cleans_up_after_a_killed_load",
            &[],
            orphaned_beside_an_agent,
        )
}

fn images() -> Vec<(String, Image)> {
    let image = |n: u64| {
        let sizes = [300_000, 600_000, 900_000];
        let layers = sizes
            .into_iter()
            .zip(n * 10..)
            .map(|(size, seed)| Layer::noise(seed, size));
        let image = layers.fold(Image::new(), Image::layer);
        (format!("docker.io/library/i{n}:1"), image)
    };
    (0..6).map(image).collect()
}

fn killed(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let bundles = dir.join("bundles");
    std::fs::create_dir(&bundles)?;
    let images = images();
    let with =
        |bundle: Bundle, (name, image): &(String, Image)| bundle.with(&[name], image.clone());
    let bundle = images.iter().fold(Bundle::new(), with);
    bundle.oci().write_tar(&bundles.join("x.tar"))?;
    let whole = a_whole_import(daemon, dir)?;
    for kill in 0..KILLS {
        remove_everything(daemon)?;
        let mut agent = once(daemon, dir)?;
        // From before the first byte to after the last, evenly.
        pause(whole * kill / (KILLS - 10));
        agent.kill()?;
        every_name_is_whole(daemon, &records(daemon)?)?;
    }
    let mut last = once(daemon, dir)?;
    assert!(last.wait(DEADLINE)?.success(), "{}", last.stderr());
    let found: BTreeSet<String> = records(daemon)?.into_keys().collect();
    for (name, _) in &images {
        assert!(found.contains(name), "{name} in {found:?}");
    }
    every_name_is_whole(daemon, &records(daemon)?)?;
    assert_eq!(leases(daemon)?, Vec::<String>::new());
    assert_eq!(ingests(daemon)?, Vec::<String>::new());
    Ok(())
}

fn a_whole_import(daemon: &Daemon, dir: &Path) -> Result<Duration, std::io::Error> {
    let begun = Instant::now();
    let mut agent = once(daemon, dir)?;
    let status = agent.wait(DEADLINE)?;
    assert!(status.success(), "{}", agent.stderr());
    Ok(begun.elapsed())
}

/// The agent for one pass, that remembers nothing: the store alone tells it what is there.
fn once(daemon: &Daemon, dir: &Path) -> std::io::Result<Running> {
    let state = dir.join("state");
    if state.exists() {
        std::fs::remove_dir_all(&state)?;
    }
    let (bundles, store) = (dir.join("bundles"), store_of(daemon));
    let args = ["watch", "--once", text(&bundles), "--store", &store];
    Running::start(
        AIRDOCK,
        &[&args[..], &["--state-dir", text(&state)]].concat(),
    )
}

/// Lets time pass; what happens to be under way then is what is killed.
fn pause(time: Duration) {
    let begun = Instant::now();
    let over = wait::until("the moment", time + DEADLINE, || {
        (begun.elapsed() >= time).then_some(())
    });
    over.expect("time passes");
}

fn remove_everything(daemon: &Daemon) -> std::io::Result<()> {
    let names: Vec<String> = records(daemon)?.into_keys().collect();
    if !names.is_empty() {
        let mut rm = vec!["images", "rm", "--sync"];
        rm.extend(names.iter().map(String::as_str));
        daemon.ctr_text(&rm)?;
    }
    Ok(())
}

/// A `load` in the middle of sending a blob; healing lets it go on.
fn held_up(daemon: &Daemon, dir: &Path) -> std::io::Result<(Running, Proxy)> {
    let bundle = dir.join("large.tar");
    let image = Image::new().layer(Layer::noise(1, 6_000_000));
    let large = Bundle::new().with(&["large:1"], image);
    large.oci().write_tar(&bundle)?;
    let proxy = Proxy::before(&daemon.socket())?;
    proxy.spoil(Fault::stop("Content/Write").after(2_000_000));
    let store = format!("containerd:{}", proxy.socket().display());
    let loading = Running::start(AIRDOCK, &["load", text(&bundle), "--store", &store])?;
    wait::until("the write", DEADLINE, || {
        (proxy.pending() == 0).then_some(())
    })?;
    Ok((loading, proxy))
}

fn small_file(dir: &Path) -> std::io::Result<PathBuf> {
    let path = dir.join("small.tar");
    small("x:1", "one").oci().write_tar(&path)?;
    Ok(path)
}

fn nothing_is_left(daemon: &Daemon) -> std::io::Result<()> {
    wait::until("no lease and no ingest", DEADLINE, || {
        (leases(daemon).ok()?.is_empty() && ingests(daemon).ok()?.is_empty()).then_some(())
    })
}

fn orphaned(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let bundle = small_file(dir)?;
    let (mut loading, proxy) = held_up(daemon, dir)?;
    let its = leases(daemon)?;
    assert_eq!(load(daemon, &bundle).code, 0);
    assert_eq!(leases(daemon)?, its, "its owner lives");
    loading.kill()?;
    drop(proxy);
    // Who doesn't see the same processes can't tell.
    let store = store_of(daemon);
    let elsewhere = ["--pid", "--fork", "--mount-proc", AIRDOCK, "load"];
    let args = [&elsewhere[..], &[text(&bundle), "--store", &store]].concat();
    assert_eq!(run("unshare", &args)?.code, 0);
    assert_eq!(leases(daemon)?, its);
    assert_eq!(load(daemon, &bundle).code, 0);
    Ok(nothing_is_left(daemon)?)
}

fn orphaned_beside_an_agent(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let (mut loading, proxy) = held_up(daemon, dir)?;
    let its = leases(daemon)?;
    drop(started(daemon, dir, &[])?);
    assert_eq!(leases(daemon)?, its, "its owner lives");
    loading.kill()?;
    drop(proxy);
    let _agent = started(daemon, dir, &[])?;
    Ok(nothing_is_left(daemon)?)
}
