//! From a bundle that is dropped into a directory to a pod that runs from it.

use std::fs;
use std::path::Path;

use airdock_testkit::daemon::Options;
use airdock_testkit::pods::Kubelet;
use airdock_testkit::process::run;
use airdock_testkit::{Daemon, Outcome, Suite, Version, examples};

use crate::support::{AIRDOCK, DEADLINE, started, text};

pub(crate) fn tests(suite: Suite) -> Suite {
    let by_tag = "a_pod_runs_from_a_bundle_by_tag_and_by_digest";
    let script = "a_script_that_waits_can_start_a_pod_at_once";
    let removal = "an_image_that_kubelet_removes_comes_back";
    Version::ALL.into_iter().fold(suite, |suite, version| {
        let options = Options::with_cri(examples::PAUSE);
        suite
            .on_containerd(version, options.clone(), by_tag, &[], pod)
            .on_containerd(version, options.clone(), script, &[], waits)
            .on_containerd(version, options, removal, &[], removed)
    })
}

/// What an upgrade does: copy, wait, go on.
fn waits(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let kubelet = Kubelet::connect(daemon)?;
    let agent = started(daemon, dir, &[])?;
    let script = r#"cp "$1" "$2" && "$3" wait "$2/pod.tar" --timeout 60 --socket "$4""#;
    let (pod, bundles) = (examples::folder().join("pod.tar"), dir.join("bundles"));
    let socket = dir.join("state/airdock.sock");
    let args = [text(&pod), text(&bundles), AIRDOCK, text(&socket)];
    let ended = run("/bin/sh", &[&["-c", script, "upgrade"], &args[..]].concat())?;
    assert_eq!(
        ended.code,
        0,
        "{}{}\n{}",
        ended.stdout,
        ended.stderr,
        agent.stderr()
    );
    let ran = kubelet.run("hello", examples::HELLO)?;
    assert!(ran.log.contains("hello from an image"), "{}", ran.log);
    Ok(())
}

fn pod(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[])?;
    // From 2.0 on CRI no longer tells which image it starts pods with.
    if daemon.version() != Version::V2_1 {
        agent.wait_for_line(&["sandbox image", examples::PAUSE], DEADLINE)?;
    }
    let beside = dir.join("pod.tar");
    fs::copy(examples::folder().join("pod.tar"), &beside)?;
    fs::rename(&beside, dir.join("bundles/pod.tar"))?;
    let kubelet = Kubelet::connect(daemon)?;
    let by_tag = kubelet.wait_for_image(examples::HELLO)?;
    kubelet.wait_for_image(examples::PAUSE)?;
    let ran = kubelet.run("by-tag", examples::HELLO)?;
    assert!(ran.log.contains("hello from an image"), "{}", ran.log);
    let by_digest = by_tag.digests.first();
    let by_digest = by_digest.ok_or(format!("no digest in {by_tag:?}"))?;
    let ran = kubelet.run("by-digest", by_digest)?;
    assert_eq!(ran.code, 0, "{}\n{}", ran.log, agent.stderr());
    Ok(())
}

/// Kubelet spares what is pinned; a person with `crictl rmi` doesn't.
fn removed(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &["--resync", "600"])?;
    let beside = dir.join("pod.tar");
    fs::copy(examples::folder().join("pod.tar"), &beside)?;
    fs::rename(&beside, dir.join("bundles/pod.tar"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    let kubelet = Kubelet::connect(daemon)?;
    kubelet.remove(&kubelet.wait_for_image(examples::HELLO)?.id)?;
    agent.wait_for_line(&["putting them right"], DEADLINE)?;
    kubelet.wait_for_image(examples::HELLO)?;
    let ran = kubelet.run("again", examples::HELLO)?;
    assert!(ran.log.contains("hello from an image"), "{}", ran.log);
    Ok(())
}
