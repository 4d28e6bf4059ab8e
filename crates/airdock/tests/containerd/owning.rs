//! What is ours, what is others', and what is in use: what goes when a bundle goes.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use airdock_testkit::fixture::Bundle;
use airdock_testkit::process::{Running, Signal};
use airdock_testkit::{Daemon, Outcome, Suite, wait};

use crate::support::{DEADLINE, digest_of, leases, name_becomes, put, records, small, started};

const X: &str = "docker.io/library/x:1";
const Y: &str = "docker.io/library/y:1";

/// At once, and the names with it.
const DELETE: [&str; 4] = ["--release-grace", "0", "--on-remove", "delete"];

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .on_each_containerd("an_image_stays_until_its_last_bundle_goes", &[], shared)
        .on_each_containerd("what_a_container_uses_is_not_deleted", &[], in_use)
        .on_each_containerd(
            "what_a_container_runs_from_outlives_its_name",
            &[],
            outlives,
        )
        .on_each_containerd("a_name_that_others_copied_from_ours_is_theirs", &[], copied)
        .on_each_containerd("a_lost_ledger_loses_nothing", &[], lost_ledger)
        .on_each_containerd(
            "a_lost_ledger_and_a_missing_disk_lose_nothing",
            &[],
            missing,
        )
        .on_each_containerd(
            "what_comes_back_within_the_grace_never_went",
            &[],
            came_back,
        )
        .on_each_containerd("a_grace_goes_on_while_no_agent_runs", &[], went_meanwhile)
}

fn remove(dir: &Path, file: &str) -> io::Result<()> {
    fs::remove_file(dir.join("bundles").join(file))
}

fn target(daemon: &Daemon, name: &str) -> io::Result<Option<String>> {
    Ok(records(daemon)?.get(name).map(|record| record.0.clone()))
}

fn is_gone(daemon: &Daemon, name: &str) -> io::Result<()> {
    wait::until(&format!("{name} to be gone"), DEADLINE, || {
        (!records(daemon).ok()?.contains_key(name)).then_some(())
    })
}

fn shared(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &DELETE)?;
    let both = |name: &str| {
        let bundle = Bundle::new().with(&[name], airdock_testkit::fixture::Image::small("one"));
        bundle.with(&["shared:1"], airdock_testkit::fixture::Image::small("one"))
    };
    put(dir, "a.tar", &both("x:1"))?;
    put(dir, "b.tar", &both("y:1"))?;
    name_becomes(daemon, X, &digest_of("one"))?;
    name_becomes(daemon, Y, &digest_of("one"))?;
    let id = airdock_testkit::fixture::Image::small("one")
        .config()
        .digest()
        .to_owned();
    remove(dir, "a.tar")?;
    is_gone(daemon, X)?;
    agent.wait_for_line(&["released image docker.io/library/x:1"], DEADLINE)?;
    let held = [Y, "docker.io/library/shared:1", &id];
    for name in held {
        assert_eq!(target(daemon, name)?, Some(digest_of("one")), "{name}");
        daemon.ctr_text(&["images", "check", &format!("name=={name}")])?;
    }
    remove(dir, "b.tar")?;
    for name in held {
        is_gone(daemon, name)?;
    }
    Ok(())
}

/// A container that is made and not started is as good: its image is what would be missed.
fn container(daemon: &Daemon, id: &str) -> io::Result<()> {
    daemon
        .ctr_text(&["containers", "create", X, id, "/x"])
        .map(drop)
}

fn in_use(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[&DELETE[..], &["--resync", "1"]].concat())?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    put(dir, "y.tar", &small("y:1", "two"))?;
    name_becomes(daemon, X, &digest_of("one"))?;
    name_becomes(daemon, Y, &digest_of("two"))?;
    container(daemon, "c")?;
    remove(dir, "x.tar")?;
    remove(dir, "y.tar")?;
    // Both were looked at together: the one that nothing uses goes.
    agent.wait_for_line(&["released image docker.io/library/y:1"], DEADLINE)?;
    let mine: Vec<_> = records(daemon)?.into_iter().collect();
    assert_eq!(mine.len(), 3, "{mine:?}");
    assert!(mine.iter().all(|(_, record)| record.0 == digest_of("one")));
    daemon.ctr_text(&["containers", "rm", "c"])?;
    is_gone(daemon, X)?;
    Ok(())
}

fn outlives(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[&DELETE[..], &["--resync", "1"]].concat())?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    put(dir, "y.tar", &small("y:1", "two"))?;
    name_becomes(daemon, X, &digest_of("one"))?;
    name_becomes(daemon, Y, &digest_of("two"))?;
    container(daemon, "c")?;
    let old = format!("docker.io/library/x@{}", digest_of("one"));
    put(dir, "x.tar", &small("x:1", "three"))?;
    name_becomes(daemon, X, &digest_of("three"))?;
    remove(dir, "y.tar")?;
    agent.wait_for_line(&["released image docker.io/library/y:1"], DEADLINE)?;
    assert_eq!(target(daemon, &old)?, Some(digest_of("one")));
    daemon.ctr_text(&["images", "check", &format!("name=={old}")])?;
    daemon.ctr_text(&["containers", "rm", "c"])?;
    is_gone(daemon, &old)?;
    Ok(())
}

fn copied(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &DELETE)?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    name_becomes(daemon, X, &digest_of("one"))?;
    // `ctr` copies the labels as well.
    daemon.ctr_text(&["images", "tag", X, "example.org/mine:1"])?;
    remove(dir, "x.tar")?;
    agent.wait_for_line(&["released image docker.io/library/x:1"], DEADLINE)?;
    let names: Vec<String> = records(daemon)?.into_keys().collect();
    assert_eq!(names, ["example.org/mine:1"]);
    daemon.ctr_text(&["images", "check", "name==example.org/mine:1"])?;
    Ok(())
}

/// Ends the agent, and forgets what it remembers.
fn lose_ledger(agent: &mut Running, dir: &Path) -> io::Result<()> {
    agent.signal(Signal::TERM)?;
    agent.wait(DEADLINE)?;
    fs::remove_dir_all(dir.join("state"))
}

fn metadata_written(daemon: &Daemon) -> io::Result<SystemTime> {
    let metadata = daemon.root().join("io.containerd.metadata.v1.bolt/meta.db");
    fs::metadata(metadata)?.modified()
}

/// Has the daemon collect its garbage now, so that none is left to be collected later.
fn collect(daemon: &Daemon) -> io::Result<()> {
    wait::until("no lease", DEADLINE, || {
        leases(daemon).ok()?.is_empty().then_some(())
    })?;
    daemon.ctr_text(&["leases", "create", "--id", "collect"])?;
    daemon.ctr_text(&["leases", "rm", "--sync", "collect"])?;
    Ok(())
}

fn lost_ledger(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &DELETE)?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    put(dir, "y.tar", &small("y:1", "two"))?;
    name_becomes(daemon, X, &digest_of("one"))?;
    name_becomes(daemon, Y, &digest_of("two"))?;
    lose_ledger(&mut agent, dir)?;
    collect(daemon)?;
    let (before, written) = (records(daemon)?, metadata_written(daemon)?);
    let mut again = started(daemon, dir, &DELETE)?;
    for _ in ["x", "y"] {
        again.wait_for_line(&["the store has all of this bundle"], DEADLINE)?;
    }
    // A third bundle, of which nothing can be imported, shows that all was looked at.
    put(dir, "bad.tar", &small("Bad:1", "three"))?;
    again.wait_for_line(&["refused bundle"], DEADLINE)?;
    assert_eq!(metadata_written(daemon)?, written, "metadata was written");
    assert_eq!(records(daemon)?, before);
    remove(dir, "x.tar")?;
    is_gone(daemon, X)?;
    assert_eq!(target(daemon, Y)?, Some(digest_of("two")));
    Ok(())
}

fn missing(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &DELETE)?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    name_becomes(daemon, X, &digest_of("one"))?;
    lose_ledger(&mut agent, dir)?;
    let before = records(daemon)?;
    let (there, away) = (dir.join("bundles"), dir.join("away"));
    fs::rename(&there, &away)?;
    let more = [&DELETE[..], &["--resync", "0.2"]].concat();
    let mut again = crate::support::watch_only(daemon, dir, &more)?;
    again.wait_for_line(&["cannot list the directory"], DEADLINE)?;
    again.wait_for_line(&["the store answers"], DEADLINE)?;
    // It is looked at again when somebody changes something.
    daemon.ctr_text(&["images", "tag", X, "example.org/mine:1"])?;
    daemon.ctr_text(&["images", "rm", "example.org/mine:1"])?;
    fs::rename(&away, &there)?;
    again.wait_for_line(&["the store has all of this bundle"], DEADLINE)?;
    assert_eq!(records(daemon)?, before);
    assert!(!again.stderr().contains("released"), "{}", again.stderr());
    Ok(())
}

fn came_back(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &["--on-remove", "delete"])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    name_becomes(daemon, X, &digest_of("one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    collect(daemon)?;
    let (before, written) = (records(daemon)?, metadata_written(daemon)?);
    remove(dir, "x.tar")?;
    agent.wait_for_line(&["bundle gone"], DEADLINE)?;
    put(dir, "again.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["the store has all of this bundle"], DEADLINE)?;
    assert_eq!(metadata_written(daemon)?, written, "metadata was written");
    assert_eq!(records(daemon)?, before);
    assert!(!agent.stderr().contains("released"), "{}", agent.stderr());
    Ok(())
}

fn went_meanwhile(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let grace = ["--release-grace", "4", "--on-remove", "delete"];
    let mut agent = started(daemon, dir, &grace)?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    name_becomes(daemon, X, &digest_of("one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    remove(dir, "x.tar")?;
    agent.wait_for_line(&["bundle gone"], DEADLINE)?;
    agent.kill()?;
    let mut again = started(daemon, dir, &grace)?;
    assert_eq!(target(daemon, X)?, Some(digest_of("one")));
    again.wait_for_line(&["released image docker.io/library/x:1"], DEADLINE)?;
    assert!(!again.stderr().contains("bundle gone"), "it went before");
    is_gone(daemon, X)?;
    Ok(())
}
