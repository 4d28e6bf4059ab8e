//! The agent with real daemons: what is undone is put right, what goes is released.

use std::fs;
use std::path::Path;

use airdock_testkit::{Daemon, Outcome, Suite, wait};

use crate::support::{
    DEADLINE, digest_of, ingests, leases, name_becomes, put, records, small, started, watch,
};

const X: &str = "docker.io/library/x:1";

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .on_each_containerd("a_bundle_that_appears_is_imported", &[], appears)
        .on_each_containerd("an_image_that_is_deleted_comes_back", &[], deleted)
        .on_each_containerd("a_pin_that_is_dropped_comes_back", &[], unpinned)
        .on_each_containerd("a_removed_bundle_is_unpinned", &[], removed)
        .on_each_containerd("delete_removes_the_names_of_a_removed_bundle", &[], delete)
        .on_each_containerd("nothing_is_written_for_what_is_unchanged", &[], unchanged)
        .on_each_containerd("a_daemon_that_starts_late_is_waited_for", &[], late)
        .on_each_containerd("a_daemon_that_restarts_is_met_again", &[], restarted)
        .on_each_containerd("a_foreign_pin_stays_when_a_bundle_goes", &[], foreign_pin)
}

fn appears(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    name_becomes(daemon, X, &digest_of("one"))?;
    put(dir, "x.tar", &small("x:1", "two"))?;
    name_becomes(daemon, X, &digest_of("two"))?;
    Ok(())
}

fn deleted(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    let names: Vec<String> = records(daemon)?.into_keys().collect();
    let mut rm = vec!["images", "rm", "--sync"];
    rm.extend(names.iter().map(String::as_str));
    daemon.ctr_text(&rm)?;
    for name in &names {
        name_becomes(daemon, name, &digest_of("one"))?;
    }
    agent.wait_for_line(&["putting them right"], DEADLINE)?;
    daemon.ctr_text(&["images", "check", &format!("name=={X}")])?;
    Ok(())
}

fn labels_of(daemon: &Daemon, name: &str) -> std::io::Result<String> {
    let records = records(daemon)?;
    Ok(records.get(name).map(|r| r.1.clone()).unwrap_or_default())
}

fn unpinned(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    daemon.ctr_text(&[
        "images",
        "label",
        X,
        "io.cri-containerd.pinned=",
        "mine=kept",
    ])?;
    wait::until("the pin", DEADLINE, || {
        let labels = labels_of(daemon, X).ok()?;
        labels
            .contains("io.cri-containerd.pinned=pinned")
            .then_some(())
    })?;
    assert!(labels_of(daemon, X)?.contains("mine=kept"));
    Ok(())
}

fn removed(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &["--release-grace", "0"])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    fs::remove_file(dir.join("bundles/x.tar"))?;
    agent.wait_for_line(&["released image docker.io/library/x:1"], DEADLINE)?;
    for (name, (_, labels)) in records(daemon)? {
        assert!(!labels.contains("pinned"), "{name}: {labels}");
        assert!(!labels.contains("io.airdock"), "{name}: {labels}");
    }
    assert_eq!(records(daemon)?.len(), 3, "unpin takes no name away");
    Ok(())
}

fn delete(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let more = ["--release-grace", "0", "--on-remove", "delete"];
    let mut agent = started(daemon, dir, &more)?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    put(dir, "y.tar", &small("y:1", "two"))?;
    name_becomes(daemon, X, &digest_of("one"))?;
    name_becomes(daemon, "docker.io/library/y:1", &digest_of("two"))?;
    fs::remove_file(dir.join("bundles/x.tar"))?;
    agent.wait_for_line(&["released image docker.io/library/x:1"], DEADLINE)?;
    let records = records(daemon)?;
    assert!(!records.contains_key(X), "{records:?}");
    assert_eq!(records.len(), 3, "what the other bundle holds stays");
    Ok(())
}

fn unchanged(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    drop(agent);
    collect(daemon)?;
    let metadata = daemon.root().join("io.containerd.metadata.v1.bolt/meta.db");
    let written = || Ok::<_, std::io::Error>(fs::metadata(&metadata)?.modified()?);
    let before = written()?;
    let mut again = started(daemon, dir, &["--log-level", "debug"])?;
    // A second bundle shows that the first has been passed over, without waiting for nothing.
    put(dir, "bad.tar", &small("Bad:1", "two"))?;
    again.wait_for_line(&["refused bundle"], DEADLINE)?;
    assert_eq!(written()?, before, "the daemon's metadata was written");
    assert!(!again.stderr().contains("x.tar"), "{}", again.stderr());
    Ok(())
}

/// Has the daemon collect its garbage now, so that none is left to be collected later.
fn collect(daemon: &Daemon) -> std::io::Result<()> {
    daemon.ctr_text(&["leases", "create", "--id", "collect"])?;
    daemon.ctr_text(&["leases", "rm", "--sync", "collect"])?;
    Ok(())
}

fn late(daemon: &mut Daemon, dir: &Path) -> Outcome {
    daemon.stop()?;
    let mut agent = watch(daemon, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["the store does not answer"], DEADLINE)?;
    daemon.restart()?;
    name_becomes(daemon, X, &digest_of("one"))?;
    Ok(())
}

fn restarted(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    daemon.restart()?;
    put(dir, "y.tar", &small("y:1", "two"))?;
    name_becomes(daemon, "docker.io/library/y:1", &digest_of("two"))?;
    // Its events are heard again too.
    daemon.ctr_text(&["images", "rm", X])?;
    name_becomes(daemon, X, &digest_of("one"))?;
    assert_eq!(ingests(daemon)?, Vec::<String>::new());
    wait::until("no lease of ours", DEADLINE, || {
        leases(daemon).ok()?.is_empty().then_some(())
    })?;
    Ok(())
}

fn foreign_pin(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let bundle = dir.join("x.tar");
    small(X, "one").oci().write_tar(&bundle)?;
    daemon.ctr_text(&["images", "import", "--no-unpack", &bundle.to_string_lossy()])?;
    daemon.ctr_text(&["images", "label", X, "io.cri-containerd.pinned=pinned"])?;
    let mut agent = started(
        daemon,
        dir,
        &["--release-grace", "0", "--on-remove", "delete"],
    )?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    fs::remove_file(dir.join("bundles/x.tar"))?;
    agent.wait_for_line(&["released image docker.io/library/x:1"], DEADLINE)?;
    let labels = labels_of(daemon, X)?;
    assert!(
        labels.contains("io.cri-containerd.pinned=pinned"),
        "{labels}"
    );
    assert!(!labels.contains("io.airdock"), "{labels}");
    Ok(())
}
