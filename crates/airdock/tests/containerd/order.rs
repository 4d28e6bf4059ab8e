//! What comes before what: of bundles, and of the names in one.

use std::fs;
use std::path::Path;

use airdock_testkit::fixture::{Bundle, Image, Layer};
use airdock_testkit::process::Running;
use airdock_testkit::proxy::{Fault, Proxy};
use airdock_testkit::{Daemon, Outcome, Suite, wait};
use serde_json::Value;

use crate::support::{DEADLINE, name_becomes, put, records, small, status, watch_through};

const PAUSE: &str = "registry.k8s.io/pause:3.9";

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .on_each_containerd("the_smallest_come_first_and_two_at_a_time", &[], sizes)
        .on_each_containerd("what_pods_wait_for_is_named_first", &[], first)
}

/// States of bundles by their file names, as the agent tells them.
fn states(dir: &Path) -> Option<Vec<(String, String)>> {
    let status = status(dir)?;
    let state = |bundle: &Value| {
        let path = Path::new(bundle["path"].as_str()?);
        let file = path.file_name()?.to_string_lossy().into_owned();
        Some((file, bundle["state"].as_str()?.to_owned()))
    };
    status["bundles"].as_array()?.iter().map(state).collect()
}

/// The files in the order in which their import began.
fn begun(agent: &Running) -> Vec<String> {
    let said = agent.stderr();
    let lines = said.lines().filter(|line| line.contains("msg=importing"));
    let file = |line: &str| {
        let bundle = line.split("bundle=").nth(1)?.split_whitespace().next()?;
        Some(bundle.rsplit('/').next()?.to_owned())
    };
    lines.filter_map(file).collect()
}

fn sizes(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let of = |name: &str, seed, len| {
        let image = Image::new().layer(Layer::noise(seed, len));
        Bundle::new().with(&[name], image)
    };
    fs::create_dir_all(dir.join("bundles"))?;
    put(dir, "a.tar", &of("a:1", 1, 3_000_000))?;
    put(dir, "b.tar", &of("b:1", 2, 1_500_000))?;
    put(dir, "c.tar", &of("c:1", 3, 10_000))?;
    let proxy = Proxy::before(&daemon.socket())?;
    // More than two bundles could send.
    for _ in 0..20 {
        proxy.spoil(Fault::stop("Content/Write"));
    }
    let agent = watch_through(&proxy, dir, &[])?;
    let states_are = |wanted: [&str; 3]| {
        wait::until(&format!("{wanted:?}"), DEADLINE, || {
            let states = states(dir)?;
            let states: Vec<&str> = states.iter().map(|(_, state)| state.as_str()).collect();
            (states == wanted).then_some(())
        })
    };
    states_are(["waiting", "importing", "importing"])?;
    proxy.heal();
    states_are(["imported"; 3])?;
    let begun = begun(&agent);
    assert_eq!(begun.last().map(String::as_str), Some("a.tar"), "{begun:?}");
    assert_eq!(begun.len(), 3, "{begun:?}");
    Ok(())
}

fn first(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let proxy = Proxy::before(&daemon.socket())?;
    // Each image has three names.
    proxy.spoil(Fault::stop("Images/Create").nth(4));
    let _agent = watch_through(&proxy, dir, &[])?;
    let bundle = small("a:1", "one").with(&[PAUSE], Image::small("pause"));
    put(dir, "x.tar", &bundle)?;
    wait::until("the fourth name", DEADLINE, || {
        (proxy.pending() == 0).then_some(())
    })?;
    let named = records(daemon)?;
    assert_eq!(named.len(), 3, "{named:?}");
    assert!(named.contains_key(PAUSE), "{named:?}");
    proxy.heal();
    name_becomes(
        daemon,
        "docker.io/library/a:1",
        &crate::support::digest_of("one"),
    )?;
    Ok(())
}
