//! What can't be read gets words of its own, and stops nothing else.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

use airdock_testkit::fixture::Image;
use airdock_testkit::mount::Mount;
use airdock_testkit::{Need, Outcome, Suite};

use crate::support::{DEADLINE, airdock, names_become, put, small, started, store_of, text};

const X: &str = "docker.io/library/x:1";
const Y: &str = "docker.io/library/y:1";

/// The speed of the loopback interface: a file of the kernel's that has a size, and no content.
const UNREADABLE: &str = "/sys/class/net/lo/speed";

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test("what_is_no_file_is_told_of_and_left_alone", &[], special)
        .test(
            "a_file_that_cannot_be_read_is_tried_again",
            &[Need::Root],
            unreadable,
        )
        .test("a_link_that_leads_nowhere_is_named", &[], dangling)
        .test("a_bundle_may_be_a_link", &[], link)
}

fn special(dir: &Path) -> Outcome {
    let mut agent = started(dir, &[])?;
    let bundles = dir.join("bundles");
    let made = std::process::Command::new("mkfifo")
        .arg(bundles.join("fifo.tar"))
        .status()?;
    assert!(made.success());
    let _socket = UnixListener::bind(bundles.join("socket.tar"))?;
    std::os::unix::fs::symlink("/dev/zero", bundles.join("device.tar"))?;
    for (file, what) in [
        ("fifo.tar", "a FIFO"),
        ("socket.tar", "a socket"),
        ("device.tar", "a character device"),
    ] {
        let expected = format!("/{file} verdict=refused reason=\"it is {what},");
        airdock_testkit::wait::until(&expected, DEADLINE, || {
            agent.stderr().contains(&expected).then_some(())
        })?;
    }
    put(dir, "y.tar", "y:1", "two")?;
    names_become(dir, &[(Y, "two")])?;
    fs::remove_file(bundles.join("fifo.tar"))?;
    put(dir, "fifo.tar", "x:1", "one")?;
    names_become(dir, &[(X, "one"), (Y, "two")])?;
    let told = agent.stderr().matches("refused bundle").count();
    assert_eq!(told, 3, "{}", agent.stderr());
    agent.kill()?;
    let loaded = airdock(&[
        "load",
        text(&bundles.join("socket.tar")),
        "--store",
        &store_of(dir),
    ]);
    assert_eq!(loaded.code, 8);
    assert!(
        loaded.stderr.contains("it is a socket"),
        "{}",
        loaded.stderr
    );
    Ok(())
}

fn unreadable(dir: &Path) -> Outcome {
    let mut agent = started(dir, &["--debounce", "0.1"])?;
    let (broken, beside) = (dir.join("broken"), dir.join("beside"));
    small("x:1", "one").oci().write_tar(&beside)?;
    fs::write(&broken, "")?;
    let mount = Mount::bind(Path::new(UNREADABLE), &broken)?;
    std::os::unix::fs::symlink(&broken, dir.join("bundles/x.tar"))?;
    agent.wait_for_line(&["failed", "x.tar", "Invalid argument"], DEADLINE)?;
    put(dir, "y.tar", "y:1", "two")?;
    names_become(dir, &[(Y, "two")])?;
    drop(mount);
    fs::rename(beside, broken)?;
    names_become(dir, &[(X, "one"), (Y, "two")])?;
    Ok(())
}

fn dangling(dir: &Path) -> Outcome {
    let mut agent = started(dir, &["--debounce", "0.1"])?;
    let layer = Image::small("one").layers()[0].blob().path();
    let beside = dir.join("beside");
    small("x:1", "one").oci().write_dir(&beside)?;
    fs::remove_file(beside.join(&layer))?;
    std::os::unix::fs::symlink("nowhere", beside.join(&layer))?;
    fs::rename(&beside, dir.join("bundles/x"))?;
    agent.wait_for_line(&["bundles/x", &layer, "nowhere"], DEADLINE)?;
    put(dir, "y.tar", "y:1", "two")?;
    names_become(dir, &[(Y, "two")])?;
    Ok(())
}

/// As a package manager may put it there.
fn link(dir: &Path) -> Outcome {
    let _agent = started(dir, &[])?;
    let elsewhere = dir.join("elsewhere.tar");
    small("x:1", "one").oci().write_tar(&elsewhere)?;
    std::os::unix::fs::symlink(&elsewhere, dir.join("bundles/x.tar"))?;
    names_become(dir, &[(X, "one")])?;
    Ok(())
}
