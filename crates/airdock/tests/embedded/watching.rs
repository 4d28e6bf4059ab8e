//! The agent: what happens to files becomes what is in the store.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use airdock_testkit::process::{Running, Signal};
use airdock_testkit::{Outcome, Suite, wait};

use crate::support::{
    DEADLINE, airdock, digest_of, names_become, names_in, put, small, started, store_of, text,
    watch,
};

const X: &str = "docker.io/library/x:1";

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test(
            "a_bundle_that_is_renamed_into_place_is_imported",
            &[],
            renamed,
        )
        .test(
            "a_bundle_is_imported_once_when_its_writer_is_done",
            &[],
            written_slowly,
        )
        .test("a_replaced_bundle_moves_the_name", &[], replaced)
        .test("a_bad_replacement_takes_nothing_away", &[], bad_replacement)
        .test("a_temporary_name_is_never_opened", &[], temporary)
        .test("a_removed_bundle_is_released_after_its_grace", &[], removed)
        .test("a_rename_changes_nothing", &[], rename)
        .test(
            "a_directory_that_comes_later_is_watched",
            &[],
            late_directory,
        )
        .test(
            "a_directory_that_is_made_anew_is_watched",
            &[],
            new_directory,
        )
        .test(
            "an_unchanged_bundle_is_not_read_after_a_restart",
            &[],
            restart,
        )
        .test(
            "once_brings_the_store_in_step_and_tells_the_worst",
            &[],
            once,
        )
        .test("a_signal_ends_the_agent", &[], signal)
        .test("a_second_agent_on_the_same_state_is_refused", &[], second)
        .test("a_layout_directory_is_a_bundle", &[], directory)
        .test(
            "of_two_bundles_the_later_wins_until_it_goes",
            &[],
            two_bundles,
        )
}

fn imports(agent: &Running) -> usize {
    agent.stderr().matches("msg=\"bundle loaded\"").count()
}

fn renamed(dir: &Path) -> Outcome {
    let mut agent = started(dir, &[])?;
    put(dir, "x.tar", "x:1", "one")?;
    let line = agent.wait_for_line(&["imported image docker.io/library/x:1"], DEADLINE)?;
    for part in [
        "time=",
        "level=info",
        "component=import",
        "digest=",
        "bundle=",
    ] {
        assert!(line.contains(part), "{part} in {line}");
    }
    agent.wait_for_line(&["bundle loaded", "bytes_sent="], DEADLINE)?;
    names_become(dir, &[(X, "one")])?;
    Ok(())
}

fn written_slowly(dir: &Path) -> Outcome {
    let mut agent = started(dir, &[])?;
    let tar = small("x:1", "one").oci().tar();
    let (half, rest) = tar.split_at(tar.len() / 2);
    let mut file = File::create(dir.join("bundles/x.tar"))?;
    file.write_all(half)?;
    agent.wait_for_line(&["bundle directory changed"], DEADLINE)?;
    // Another bundle is not held up by the one that is still being written.
    put(dir, "y.tar", "y:1", "two")?;
    agent.wait_for_line(&["imported image docker.io/library/y:1"], DEADLINE)?;
    assert!(
        !agent.stderr().contains("x.tar\" reason"),
        "{}",
        agent.stderr()
    );
    file.write_all(rest)?;
    drop(file);
    agent.wait_for_line(&["imported image docker.io/library/x:1"], DEADLINE)?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    assert_eq!(imports(&agent), 2, "{}", agent.stderr());
    assert!(!agent.stderr().contains("incomplete"), "{}", agent.stderr());
    Ok(())
}

fn replaced(dir: &Path) -> Outcome {
    let mut agent = started(dir, &[])?;
    put(dir, "x.tar", "x:1", "one")?;
    names_become(dir, &[(X, "one")])?;
    put(dir, "x.tar", "x:1", "two")?;
    let line = agent.wait_for_line(&["imported image", "moved_from"], DEADLINE)?;
    assert!(line.contains(&digest_of("one")) && line.contains(&digest_of("two")));
    names_become(dir, &[(X, "two")])?;
    Ok(())
}

fn bad_replacement(dir: &Path) -> Outcome {
    let mut agent = started(dir, &["--release-grace", "0"])?;
    put(dir, "x.tar", "x:1", "one")?;
    names_become(dir, &[(X, "one")])?;
    let beside = dir.join("beside");
    let good = small("x:1", "two").oci();
    let layer = airdock_testkit::fixture::Image::small("two").layers()[0]
        .blob()
        .path();
    good.without(&layer).write_tar(&beside)?;
    fs::rename(beside, dir.join("bundles/x.tar"))?;
    agent.wait_for_line(&["refused", "x.tar", "last good version"], DEADLINE)?;
    put(dir, "y.tar", "y:1", "other")?;
    names_become(dir, &[(X, "one"), ("docker.io/library/y:1", "other")])?;
    Ok(())
}

fn temporary(dir: &Path) -> Outcome {
    let agent = started(dir, &[])?;
    let hidden = dir.join("bundles/.x.tar.Ab12");
    small("x:1", "one").oci().write_tar(&hidden)?;
    put(dir, "y.tar", "y:1", "two")?;
    names_become(dir, &[("docker.io/library/y:1", "two")])?;
    assert!(!agent.stderr().contains("Ab12"), "{}", agent.stderr());
    fs::rename(hidden, dir.join("bundles/x.tar"))?;
    names_become(dir, &[(X, "one"), ("docker.io/library/y:1", "two")])?;
    Ok(())
}

fn removed(dir: &Path) -> Outcome {
    let mut agent = started(dir, &["--release-grace", "0"])?;
    put(dir, "x.tar", "x:1", "one")?;
    put(dir, "y.tar", "y:1", "two")?;
    names_become(dir, &[(X, "one"), ("docker.io/library/y:1", "two")])?;
    fs::remove_file(dir.join("bundles/x.tar"))?;
    agent.wait_for_line(&["released image docker.io/library/x:1"], DEADLINE)?;
    names_become(dir, &[("docker.io/library/y:1", "two")])?;
    let blobs = |seed: &str| {
        let digest = digest_of(seed);
        dir.join("store/blobs/sha256").join(&digest[7..]).exists()
    };
    assert!(!blobs("one"), "its blobs go with its last name");
    assert!(blobs("two"));
    Ok(())
}

fn rename(dir: &Path) -> Outcome {
    let mut agent = started(dir, &["--release-grace", "0"])?;
    put(dir, "x.tar", "x:1", "one")?;
    names_become(dir, &[(X, "one")])?;
    fs::rename(dir.join("bundles/x.tar"), dir.join("bundles/renamed.tar"))?;
    agent.wait_for_line(&["the store has all of this bundle"], DEADLINE)?;
    put(dir, "y.tar", "y:1", "two")?;
    names_become(dir, &[(X, "one"), ("docker.io/library/y:1", "two")])?;
    assert!(!agent.stderr().contains("released"), "{}", agent.stderr());
    Ok(())
}

fn late_directory(dir: &Path) -> Outcome {
    let mut agent = watch(dir, &[]);
    agent.wait_for_line(&["cannot list the directory"], DEADLINE)?;
    fs::create_dir(dir.join("bundles"))?;
    put(dir, "x.tar", "x:1", "one")?;
    names_become(dir, &[(X, "one")])?;
    Ok(())
}

fn new_directory(dir: &Path) -> Outcome {
    let mut agent = started(dir, &[])?;
    fs::rename(dir.join("bundles"), dir.join("old"))?;
    agent.wait_for_line(&["cannot list the directory"], DEADLINE)?;
    fs::create_dir(dir.join("bundles"))?;
    agent.wait_for_line(&["started to watch"], DEADLINE)?;
    put(dir, "x.tar", "x:1", "one")?;
    names_become(dir, &[(X, "one")])?;
    Ok(())
}

fn has_entry(ledger: &Path) -> Option<()> {
    let mut files = fs::read_dir(ledger).ok()?.filter_map(Result::ok);
    let is_entry = |name: &std::ffi::OsStr| name.to_string_lossy().ends_with(".json");
    files.any(|file| is_entry(&file.file_name())).then_some(())
}

fn restart(dir: &Path) -> Outcome {
    let mut first = started(dir, &[])?;
    put(dir, "x.tar", "x:1", "one")?;
    first.wait_for_line(&["bundle loaded"], DEADLINE)?;
    // It is said first, and remembered then.
    let ledger = dir.join("state/ledger");
    wait::until("an entry of the ledger", DEADLINE, || has_entry(&ledger))?;
    first.signal(Signal::TERM)?;
    first.wait(DEADLINE)?;
    // What can't be opened isn't opened: an unchanged bundle is known by how it looks.
    let second = airdock(&[
        "watch",
        text(&dir.join("bundles")),
        "--once",
        "--store",
        &store_of(dir),
        "--state-dir",
        text(&dir.join("state")),
        "--log-level",
        "debug",
    ]);
    assert_eq!(second.code, 0, "{}", second.stderr);
    for word in ["importing", "imported", "the store has all"] {
        assert!(!second.stderr.contains(word), "{}", second.stderr);
    }
    Ok(())
}

fn once(dir: &Path) -> Outcome {
    fs::create_dir(dir.join("bundles"))?;
    put(dir, "x.tar", "x:1", "one")?;
    fs::write(dir.join("bundles/page.tar"), "<!DOCTYPE html><html></html>")?;
    let (store, state, bundles) = (store_of(dir), dir.join("state"), dir.join("bundles"));
    let args = ["watch", "--once", text(&bundles), "--store", &store];
    let ended = airdock(&[&args[..], &["--state-dir", text(&state)]].concat());
    assert_eq!(ended.code, 7, "{}", ended.stderr);
    assert!(ended.stderr.contains("HTML"), "{}", ended.stderr);
    assert_eq!(names_in(&dir.join("store")).len(), 1);
    Ok(())
}

fn signal(dir: &Path) -> Outcome {
    for signal in [Signal::TERM, Signal::INT] {
        let mut agent = started(dir, &[])?;
        agent.signal(signal)?;
        assert!(agent.wait(DEADLINE)?.success());
    }
    Ok(())
}

fn second(dir: &Path) -> Outcome {
    let first = started(dir, &[])?;
    let mut second = watch(dir, &[]);
    let status = second.wait(DEADLINE)?;
    assert_eq!(status.code(), Some(12));
    let pid = first.pid().to_string();
    wait::until("the pid in the message", DEADLINE, || {
        second.stderr().contains(&pid).then_some(())
    })?;
    Ok(())
}

fn directory(dir: &Path) -> Outcome {
    let _agent = started(dir, &["--debounce", "0.2"])?;
    let beside = dir.join("beside");
    small("x:1", "one").oci().write_dir(&beside)?;
    fs::rename(beside, dir.join("bundles/layout"))?;
    names_become(dir, &[(X, "one")])?;
    Ok(())
}

fn two_bundles(dir: &Path) -> Outcome {
    let mut agent = started(dir, &["--release-grace", "0"])?;
    put(dir, "a.tar", "x:1", "one")?;
    names_become(dir, &[(X, "one")])?;
    put(dir, "b.tar", "x:1", "two")?;
    agent.wait_for_line(&["two bundles give image", "b.tar", "a.tar"], DEADLINE)?;
    names_become(dir, &[(X, "two")])?;
    fs::remove_file(dir.join("bundles/b.tar"))?;
    names_become(dir, &[(X, "one")])?;
    Ok(())
}
