//! The containerd releases that tests run against, and where they are on this machine.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{needs, repository};

/// Names the folder that holds `<version>/usr/bin/containerd` for each version.
pub const DAEMONS: &str = "AIRDOCK_DAEMONS";

/// A line of releases that tests name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 1.6, Debian's oldest: no pins, old CRI.
    V1_6,
    /// 1.7.
    V1_7,
    /// 2.1, or a later release of containerd 2.
    V2_1,
}

impl Version {
    /// All that are served.
    pub const ALL: [Self; 3] = [Self::V1_6, Self::V1_7, Self::V2_1];

    /// `1.6`: also the name of its folder.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1_6 => "1.6",
            Self::V1_7 => "1.7",
            Self::V2_1 => "2.1",
        }
    }

    /// Whether a binary of this release may stand for the version.
    fn accepts(self, release: &str) -> bool {
        match self {
            Self::V1_6 => release.starts_with("1.6."),
            Self::V1_7 => release.starts_with("1.7."),
            Self::V2_1 => release.starts_with("2.") && !release.starts_with("2.0."),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One release on this machine.
#[derive(Clone, Debug)]
pub struct Installed {
    /// What it was asked for as.
    pub version: Version,
    /// What it says it is: `1.6.20~ds1`.
    pub release: String,
    /// The folder of `containerd`, `ctr` and the shims.
    pub bin: PathBuf,
}

impl Installed {
    /// Looks in PATH, then in the folder that `cargo xtask setup` fills.
    pub fn find(version: Version) -> Option<Self> {
        let fetched = daemons().join(version.as_str()).join("usr/bin");
        let in_path = needs::program("containerd")
            .and_then(|path| path.parent().map(Path::to_owned))
            .into_iter();
        in_path
            .chain([fetched])
            .find_map(|bin| Self::at(version, bin))
    }

    fn at(version: Version, bin: PathBuf) -> Option<Self> {
        let release = release(&bin.join("containerd"))?;
        version.accepts(&release).then_some(Self {
            version,
            release,
            bin,
        })
    }

    /// `containerd_1_6`, for the names of tests.
    pub fn module(&self) -> String {
        let mut parts = self.release.split('.');
        let major = parts.next().unwrap_or_default();
        let minor = parts.next().unwrap_or_default();
        format!("containerd_{major}_{minor}")
    }
}

/// `containerd github.com/containerd/containerd 1.6.20~ds1 …` gives `1.6.20~ds1`.
fn release(containerd: &Path) -> Option<String> {
    let out = Command::new(containerd).arg("--version").output().ok()?;
    let text = String::from_utf8(out.stdout).ok()?;
    let word = text.split_whitespace().nth(2)?;
    Some(word.trim_start_matches('v').to_owned())
}

/// The folder of fetched daemons: `target/daemons`, or what the environment names.
pub fn daemons() -> PathBuf {
    let fetched = || repository().join("target/daemons");
    env::var_os(DAEMONS).map_or_else(fetched, PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_stands_for_one_version() {
        for (release, version) in [
            ("1.6.20~ds1", Some(Version::V1_6)),
            ("1.7.24~ds1", Some(Version::V1_7)),
            ("2.1.9+unknown", Some(Version::V2_1)),
            ("2.3.4", Some(Version::V2_1)),
            ("2.0.1", None),
            ("1.60.1", None),
        ] {
            let fits = Version::ALL.into_iter().find(|v| v.accepts(release));
            assert_eq!(fits, version, "{release}");
        }
    }
}
