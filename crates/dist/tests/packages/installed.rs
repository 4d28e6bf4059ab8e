//! What dpkg installs, below a root of its own, and what becomes of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use airdock_dist::release::Release;
use airdock_testkit::fixture::{Bundle, Image};
use airdock_testkit::process::{Running, Signal};
use airdock_testkit::wait::DEADLINE;
use airdock_testkit::{Need, Outcome, Suite, needs};

use crate::support::{TIME, built_deb, dpkg, install, read};

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test(
            "the_program_is_static_and_goes_into_every_package",
            &[Need::Airdock],
            packed,
        )
        .test(
            "the_units_command_line_works_from_an_installed_deb",
            &[Need::Root, Need::Airdock, Need::Program("dpkg")],
            installed,
        )
}

/// It is linked as a release is, only not optimised.
fn packed(_dir: &Path) -> Outcome {
    let program = needs::airdock().expect("it was built with this test");
    let packages = Release::of(&program, TIME)?.packages()?;
    let least = fs::metadata(&program)?.len() / 10;
    let is_large = |name: &&String| packages[*name].len() as u64 > least;
    assert_eq!(packages.keys().filter(is_large).count(), 3);
    Ok(())
}

fn installed(dir: &Path) -> Outcome {
    let root = dir.join("root");
    install(&built_deb(dir)?, &root)?;
    let bundles = root.join("var/lib/airdock/bundles");
    let image = Bundle::new().with(&["x:1"], Image::small("one"));
    image.oci().write_tar(&bundles.join("x.tar"))?;

    let mut agent = Running::spawn(started(&root)?.arg(&bundles))?;
    agent.wait_for_line(&["imported image docker.io/library/x:1"], DEADLINE)?;
    agent.signal(Signal::TERM)?;
    assert!(agent.wait(DEADLINE)?.success());

    fs::write(root.join("etc/airdock/airdock.toml"), "distro = \"k0s\"\n")?;
    read(dpkg(&root).args(["--remove", "airdock"]))?;
    assert!(!root.join("usr/bin/airdock").exists());
    assert!(
        root.join("etc/airdock/airdock.toml").exists(),
        "settings stay until a purge"
    );
    read(dpkg(&root).args(["--purge", "airdock"]))?;
    assert!(!root.join("etc/airdock/airdock.toml").exists());
    assert!(!root.join("var/lib/airdock/ledger").exists());
    assert!(bundles.join("x.tar").exists(), "bundles are the operator's");
    Ok(())
}

/// The unit's command line, below the root, with state there.
fn started(root: &Path) -> std::io::Result<Command> {
    let unit = fs::read_to_string(root.join("usr/lib/systemd/system/airdock.service"))?;
    let line = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart=/"));
    let mut words = line.expect("the unit starts something").split(' ');
    let program = words.next().expect("a program");
    let mut command = Command::new(root.join(program));
    command.args(words);
    command.env("AIRDOCK_CONFIG", root.join("etc/airdock/airdock.toml"));
    command.env("AIRDOCK_STATE_DIR", root.join("var/lib/airdock"));
    command.env(
        "AIRDOCK_STORE",
        format!("oci:{}", root.join("store").display()),
    );
    Ok(command)
}
