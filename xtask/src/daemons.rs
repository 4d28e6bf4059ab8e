//! containerd's releases, unpacked side by side below `target/daemons`.

use airdock_testkit::Version;
use airdock_testkit::containerd::{Installed, daemons};

use crate::shell::say;
use crate::suites::Suites;

/// The Debian suite that has a release.
fn suite(version: Version) -> &'static str {
    match version {
        Version::V1_6 => "bookworm",
        Version::V1_7 => "trixie",
        Version::V2_1 => "sid",
    }
}

/// The releases that aren't there.
pub(crate) fn missing() -> impl Iterator<Item = String> {
    absent().map(|version| format!("containerd {version}"))
}

/// Fetches what is missing, and says what there is.
pub(crate) fn fetch() -> anyhow::Result<()> {
    let wanted: Vec<Version> = absent().collect();
    if !wanted.is_empty() {
        let names: Vec<&str> = wanted.iter().copied().map(suite).collect();
        let suites = Suites::open(&names)?;
        for version in wanted {
            let into = daemons().join(version.as_str());
            suites.unpack("containerd", suite(version), &into)?;
        }
    }
    for found in Version::ALL.into_iter().filter_map(Installed::find) {
        say(&format!(
            "containerd {} in {}",
            found.release,
            found.bin.display()
        ));
    }
    Ok(())
}

fn absent() -> impl Iterator<Item = Version> {
    let versions = Version::ALL.into_iter();
    versions.filter(|&version| Installed::find(version).is_none())
}
