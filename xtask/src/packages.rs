//! Debian packages with the programs that tests run.

use std::path::Path;
use std::process::Command;

use airdock_testkit::Need;
use airdock_testkit::needs::program;
use anyhow::bail;

use crate::shell;

/// Packages, and what shows that each is there. None starts a service: what does is unpacked by
/// [`daemons`](crate::daemons). Podman needs conmon, and its libraries are skopeo's as well.
const PACKAGES: [(&str, Need); 14] = [
    ("bzip2", Need::Program("bzip2")),
    ("conmon", Need::Program("conmon")),
    ("containernetworking-plugins", Need::Cni),
    ("lz4", Need::Program("lz4")),
    ("openssl", Need::Program("openssl")),
    ("python3", Need::Program("python3")),
    ("python3-yaml", Need::Yaml),
    ("rpm", Need::Program("rpm")),
    ("rsync", Need::Program("rsync")),
    ("runc", Need::Program("runc")),
    ("skopeo", Need::Program("skopeo")),
    ("umoci", Need::Program("umoci")),
    ("xz-utils", Need::Program("xz")),
    ("zstd", Need::Program("zstd")),
];

/// The packages that aren't there.
pub(crate) fn missing() -> impl Iterator<Item = String> {
    let absent = PACKAGES.iter().filter(|(_, need)| need.missing().is_some());
    absent.map(|(package, _)| (*package).to_owned())
}

/// Installs what is missing, as root.
pub(crate) fn install() -> anyhow::Result<()> {
    let missing: Vec<String> = missing().collect();
    if missing.is_empty() {
        return Ok(());
    }
    let Some(apt) = program("apt-get") else {
        bail!("no apt-get to install {}", missing.join(" "));
    };
    if let Some(reason) = Need::Root.missing() {
        bail!("{reason}; as root: apt-get install {}", missing.join(" "));
    }
    shell::read(apt_get(&apt).arg("update"))?;
    let install = ["install", "--yes", "--no-install-recommends"];
    shell::read(apt_get(&apt).args(install).args(&missing)).map(drop)
}

fn apt_get(path: &Path) -> Command {
    let mut command = Command::new(path);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}
