//! Daemons of Debian's packages, unpacked below `target/daemons`: containerd's releases side by side,
//! and what would start services if it was installed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use airdock_testkit::containerd::{Installed, daemons};
use airdock_testkit::{Need, Version, unpacked};

use crate::shell::say;
use crate::suites::Suite;

/// The suite of programs whose release doesn't matter.
const STABLE: &str = "bookworm";

/// Programs, and the packages that bring each, its libraries first.
const PROGRAMS: [(&str, &[&str]); 3] = [
    ("docker-registry", &["docker-registry"]),
    ("dockerd", &["docker.io"]),
    ("podman", &["libsubid4", "podman"]),
];

/// A package of a suite, and where it is unpacked.
struct Package {
    name: &'static str,
    suite: &'static str,
    into: PathBuf,
}

/// The Debian suite that has a release.
fn suite(version: Version) -> &'static str {
    match version {
        Version::V1_6 => "bookworm",
        Version::V1_7 => "trixie",
        Version::V2_1 => "sid",
    }
}

/// The daemons that aren't there.
pub(crate) fn missing() -> impl Iterator<Item = String> {
    let releases = releases().map(|version| format!("containerd {version}"));
    releases.chain(programs().map(|(program, _)| program.to_owned()))
}

/// Fetches what is missing, and says what there is.
pub(crate) fn fetch() -> anyhow::Result<()> {
    let mut wanted: BTreeMap<&str, Vec<Package>> = BTreeMap::new();
    for package in self::wanted() {
        wanted.entry(package.suite).or_default().push(package);
    }
    let unpacked: Vec<anyhow::Result<()>> = wanted.into_iter().map(unpack).collect();
    for found in Version::ALL.into_iter().filter_map(Installed::find) {
        say(&format!(
            "containerd {} in {}",
            found.release,
            found.bin.display()
        ));
    }
    // One suite that can't be had leaves the others alone.
    unpacked.into_iter().collect()
}

fn unpack((suite, packages): (&str, Vec<Package>)) -> anyhow::Result<()> {
    let suite = Suite::open(suite)?;
    let mut unpacked = packages.iter().map(|it| suite.unpack(it.name, &it.into));
    unpacked.try_for_each(|unpacked| unpacked)
}

fn wanted() -> impl Iterator<Item = Package> {
    let releases = releases().map(|version| Package {
        name: "containerd",
        suite: suite(version),
        into: daemons().join(version.as_str()),
    });
    let names = programs().flat_map(|(_, packages)| packages);
    let programs = names.map(|name| Package {
        name,
        suite: STABLE,
        into: unpacked::root(),
    });
    releases.chain(programs)
}

fn releases() -> impl Iterator<Item = Version> {
    let versions = Version::ALL.into_iter();
    versions.filter(|&version| Installed::find(version).is_none())
}

fn programs() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let programs = PROGRAMS.into_iter();
    programs.filter(|(program, _)| Need::Program(program).missing().is_some())
}
