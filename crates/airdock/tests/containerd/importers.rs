//! Where other importers go wrong; `docs/comparison.md` has the whole list.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use airdock_testkit::fixture::{Bundle, Image};
use airdock_testkit::proxy::{Fault, Proxy};
use airdock_testkit::{Daemon, Outcome, Suite, wait};

use crate::support::{
    DEADLINE, Records, digest_of, name_becomes, put, records, small, started, watch_through,
};
use crate::whole::every_name_is_whole;

const X: &str = "docker.io/library/x:1";
const PINNED: &str = "io.cri-containerd.pinned=pinned";

/// More than the 39 whose paths fill a label of containerd's.
const COPIES: usize = 60;

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .on_each_containerd(
            "a_bad_replacement_leaves_the_old_images_pinned",
            &[],
            replaced,
        )
        .on_each_containerd("an_image_may_be_in_any_number_of_bundles", &[], copies)
        .on_each_containerd(
            "what_cannot_be_named_or_run_leaves_no_record",
            &[],
            unusable,
        )
        .on_each_containerd("a_name_is_pinned_from_its_first_moment", &[], no_gap)
}

fn all_are_pinned(records: &Records) {
    for (name, (_, labels)) in records {
        assert!(labels.contains(PINNED), "{name}: {labels}");
    }
}

fn replaced(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &["--release-grace", "0"])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    let before = records(daemon)?;
    let layer = Image::small("two").layers()[0].blob().path();
    let new = small("x:1", "two").oci();
    let foreign = Image::small("two").platform("linux/s390x");
    for bad in [
        Bundle::new().with(&["x:1"], foreign).oci().tar(),
        new.clone().without(&layer).tar(),
        new.clone().flipped(&layer, 40).tar(),
        new.tar_without_end(),
    ] {
        let beside = dir.join("beside");
        fs::write(&beside, bad)?;
        fs::rename(beside, dir.join("bundles/x.tar"))?;
        agent.wait_for_line(&["x.tar", "last good version"], DEADLINE)?;
        assert_eq!(records(daemon)?, before);
    }
    all_are_pinned(&before);
    every_name_is_whole(daemon, &before)
}

fn copies(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &["--release-grace", "0"])?;
    for copy in 0..COPIES {
        put(
            dir,
            &format!("a-rather-long-name-{copy}.tar"),
            &small("x:1", "one"),
        )?;
    }
    let imported = |agent: &airdock_testkit::process::Running| {
        let said = agent.stderr();
        let lines = said.lines().filter(|line| {
            line.contains("bundle loaded") || line.contains("the store has all of this bundle")
        });
        lines.count()
    };
    wait::until("every copy", DEADLINE, || {
        (imported(&agent) >= COPIES).then_some(())
    })?;
    let before = records(daemon)?;
    all_are_pinned(&before);
    for copy in 1..COPIES {
        fs::remove_file(dir.join(format!("bundles/a-rather-long-name-{copy}.tar")))?;
    }
    agent.wait_for_line(&["bundle gone"], DEADLINE)?;
    put(dir, "y.tar", &small("y:1", "two"))?;
    name_becomes(daemon, "docker.io/library/y:1", &digest_of("two"))?;
    let mut after = records(daemon)?;
    after.retain(|name, _| before.contains_key(name));
    assert_eq!(after, before, "one copy is enough");
    Ok(())
}

fn unusable(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[])?;
    let foreign = Image::small("foreign").platform("linux/s390x");
    put(dir, "foreign.tar", &Bundle::new().with(&["x:1"], foreign))?;
    agent.wait_for_line(&["refused", "foreign.tar", "linux/s390x"], DEADLINE)?;
    put(
        dir,
        "unnamed.tar",
        &Bundle::new().with(&[], Image::small("one")),
    )?;
    agent.wait_for_line(&["unnamed", "unnamed.tar"], DEADLINE)?;
    let names: BTreeSet<String> = records(daemon)?.into_keys().collect();
    assert_eq!(names, BTreeSet::new());
    Ok(())
}

/// Holds the agent between two names; kubelet may collect what isn't pinned then.
fn no_gap(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let proxy = Proxy::before(&daemon.socket())?;
    proxy.spoil(Fault::stop("Images/Create").nth(2));
    let mut agent = watch_through(&proxy, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    wait::until("the second name", DEADLINE, || {
        (proxy.pending() == 0).then_some(())
    })?;
    let first = records(daemon)?;
    assert_eq!(first.len(), 1, "{first:?}");
    all_are_pinned(&first);
    proxy.heal();
    name_becomes(daemon, X, &digest_of("one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    all_are_pinned(&records(daemon)?);
    // Nothing was pinned afterwards: no record was written twice.
    let updates = proxy
        .calls()
        .into_iter()
        .filter(|call| call.path.ends_with("Images/Update"));
    assert_eq!(updates.count(), 0);
    Ok(())
}
