//! The unit under a real systemd, with a real containerd: every line of its hardening in force.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::Command;

use airdock_testkit::daemon::Options;
use airdock_testkit::fixture::{Bundle, Image};
use airdock_testkit::process::Running;
use airdock_testkit::wait::DEADLINE;
use airdock_testkit::{Daemon, Need, Outcome, Suite, Version, repository, wait};

use crate::support::{built_deb, install};

/// Somebody who isn't root.
const SOMEBODY: u32 = 12_345;

/// Output into a folder that is shared with this test: there is no journal.
const DROP_IN: &str = "\
[Service]
StandardOutput=append:/out/log
StandardError=append:/out/log
";

/// A containerd's socket in the shared folder; a bundle that isn't root's.
const SETTINGS: &str = "\
store = \"containerd:/out/containerd.sock\"
[[source]]
path = \"/var/lib/airdock/bundles\"
insecure_permissions = true
";

/// Starts the agent, and what shows that systemd holds it to be started.
const TARGET: &str = "\
[Unit]
DefaultDependencies=no
Wants=airdock.service seen.service
";

const SEEN: &str = "\
[Unit]
DefaultDependencies=no
After=airdock.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'systemctl reload airdock.service; systemctl show airdock.service > /out/seen; mv /out/seen /out/shown'
";

pub(crate) fn tests(suite: Suite) -> Suite {
    let needs = &[
        Need::Root,
        Need::Overlay,
        Need::Airdock,
        Need::Program("dpkg"),
        Need::Program("unshare"),
        Need::Systemd,
    ];
    suite.on_containerd(
        Version::V1_7,
        Options::default(),
        "the_unit_works_with_all_its_hardening",
        needs,
        hardened,
    )
}

fn hardened(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let out = dir.join("out");
    prepare(dir, daemon)?;
    let mut boot = Command::new("unshare");
    boot.args([
        "--mount",
        "--pid",
        "--fork",
        "--uts",
        "--ipc",
        "--cgroup",
        "--kill-child",
    ]);
    boot.arg("sh")
        .arg(repository().join("crates/dist/tests/packages/boot.sh"))
        .arg(dir);
    let booted = Running::spawn(&mut boot)?;
    let log = || fs::read_to_string(out.join("log")).unwrap_or_default();
    let imported = wait::until("the image", DEADLINE, || {
        log()
            .contains("imported image docker.io/library/x:1")
            .then_some(())
    });
    imported.map_err(|late| format!("{late}\n{}\n{}", log(), booted.stderr()))?;
    let shown = wait::until("systemd's word", DEADLINE, || {
        fs::read_to_string(out.join("shown")).ok()
    })?;
    assert!(shown.contains("\nActiveState=active\n"), "{shown}");
    assert!(
        log().contains("gave up the rest of the file system"),
        "{}",
        log()
    );
    assert!(!log().contains("level=warn"), "{}", log());
    let images = daemon.ctr_text(&["images", "ls", "-q"])?;
    assert!(images.contains("docker.io/library/x:1"), "{images}");
    Ok(())
}

/// The package installed, one bundle of somebody else's, and a containerd's socket.
fn prepare(dir: &Path, daemon: &Daemon) -> io::Result<()> {
    let (up, out) = (dir.join("up"), dir.join("out"));
    fs::create_dir(&out)?;
    install(&built_deb(dir)?, &up)?;
    let bundle = up.join("var/lib/airdock/bundles/x.tar");
    let image = Bundle::new().with(&["x:1"], Image::small("one"));
    image.oci().write_tar(&bundle)?;
    fs::set_permissions(&bundle, fs::Permissions::from_mode(0o600))?;
    chown(&bundle, Some(SOMEBODY), Some(SOMEBODY))?;
    fs::hard_link(daemon.socket(), out.join("containerd.sock"))?;
    fs::write(up.join("etc/airdock/airdock.toml"), SETTINGS)?;
    let units = up.join("etc/systemd/system");
    fs::create_dir_all(units.join("airdock.service.d"))?;
    fs::write(units.join("airdock.service.d/log.conf"), DROP_IN)?;
    fs::write(units.join("probe.target"), TARGET)?;
    fs::write(units.join("seen.service"), SEEN)
}
