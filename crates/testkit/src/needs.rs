//! What a test needs from the machine, and what of it is missing.

use std::env;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::containerd::{Installed, Version};
use crate::{examples, unpacked};

/// Where Debian puts the CNI plugins.
pub const CNI_PLUGINS: &str = "/usr/lib/cni";

/// Where daemons are installed without being in everybody's PATH.
const MORE_PATH: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/sbin"];

/// The service manager.
const SYSTEMD: &str = "/lib/systemd/systemd";

/// Something that a test can't do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// User 0: mounts, namespaces, sockets of daemons.
    Root,
    /// The overlay file system.
    Overlay,
    /// A containerd of this version.
    Containerd(Version),
    /// The CNI plugins `loopback`, `ptp` and `host-local`.
    Cni,
    /// The compiler that made the bundles in `examples/`.
    Compiler,
    /// The program itself, built with the tests.
    Airdock,
    /// Python's reader of YAML.
    Yaml,
    /// A systemd that can be booted beside the machine's own.
    Systemd,
    /// A program in PATH: `skopeo`, `umoci`, `runc`, `python3`, `zstd`, `docker`, …
    Program(&'static str),
}

impl Need {
    /// Nothing when it is here, else what is missing, in words for a person.
    pub fn missing(self) -> Option<String> {
        match self {
            Self::Root => (!rustix::process::geteuid().is_root()).then(|| "not root".to_owned()),
            Self::Overlay => (!has_overlay()).then(|| "no overlay file system".to_owned()),
            Self::Containerd(version) => Installed::find(version)
                .is_none()
                .then(|| format!("no containerd {version}: run `cargo xtask setup`")),
            Self::Cni => missing_plugin(),
            Self::Compiler => examples::missing_compiler(),
            Self::Airdock => airdock()
                .is_none()
                .then(|| "airdock isn't built: `cargo build` builds it".to_owned()),
            Self::Yaml => (!has_yaml())
                .then(|| "no yaml module for python3: run `cargo xtask setup`".to_owned()),
            Self::Systemd => (!Path::new(SYSTEMD).exists()).then(|| format!("no {SYSTEMD}")),
            Self::Program(name) => program(name)
                .is_none()
                .then(|| format!("no {name}: run `cargo xtask setup`")),
        }
    }
}

/// The first need that isn't met, in words.
pub fn missing(needs: &[Need]) -> Option<String> {
    needs.iter().find_map(|need| need.missing())
}

/// Path of an executable in PATH, in the system's folders for daemons, or unpacked.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(MORE_PATH.map(PathBuf::from))
        .chain(unpacked::bins())
        .map(|dir| dir.join(name))
        .find(|path| is_executable(path))
}

/// The program that was built with the running test, for tests of other packages: cargo tells
/// only those of its own.
pub fn airdock() -> Option<PathBuf> {
    let test = env::current_exe().ok()?;
    let program = test.ancestors().nth(2)?.join("airdock");
    is_executable(&program).then_some(program)
}

fn is_executable(path: &Path) -> bool {
    const ANYONE: u32 = 0o111;
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & ANYONE != 0)
}

fn has_yaml() -> bool {
    let mut python = std::process::Command::new("python3");
    let output = python.args(["-c", "import yaml"]).output();
    output.is_ok_and(|output| output.status.success())
}

fn has_overlay() -> bool {
    // The module may be loaded on the first mount; a kernel without it has neither.
    let listed = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    listed.contains("overlay") || Path::new("/sys/module/overlay").exists()
}

fn missing_plugin() -> Option<String> {
    ["loopback", "ptp", "host-local"]
        .into_iter()
        .find(|name| !is_executable(&Path::new(CNI_PLUGINS).join(name)))
        .map(|name| format!("no CNI plugin {name} in {CNI_PLUGINS}: run `cargo xtask setup`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        let missing = Need::Program("no-such-program").missing().unwrap();
        assert!(missing.starts_with("no no-such-program"));
        assert_eq!(Need::Program("sh").missing(), None);
    }

    #[test]
    fn the_first_missing_need_is_told() {
        let needs = [
            Need::Program("sh"),
            Need::Program("x-1"),
            Need::Program("x-2"),
        ];
        assert!(super::missing(&needs).unwrap().contains("x-1"));
    }
}
