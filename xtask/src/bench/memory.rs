//! The agent's memory while it imports, which a bundle's size must not show in.

use std::process::Command;

use airdock_testkit::{Daemon, Version};
use anyhow::Context as _;

use super::Bench;
use super::bundles::Name;
use super::measure::{self, Measured};
use super::row::Row;
use super::side::store;
use super::statistics::{mebibytes, seconds};

/// What is imported.
pub(super) const BUNDLES: [(&str, Name); 2] = [
    ("agent imports A", Name::A),
    ("agent imports 80 images, 20 GB", Name::Huge),
];

/// Case I: the most memory that the agent had, for A and for 20 GB.
pub(super) fn peak(bench: &Bench, version: Version) -> Vec<anyhow::Result<Row>> {
    let rows = BUNDLES.map(|(title, bundle)| row(bench, version, title, bundle).context(title));
    rows.into_iter().collect()
}

fn row(bench: &Bench, version: Version, title: &str, bundle: Name) -> anyhow::Result<Row> {
    let measured = import(bench, version, bundle)?;
    Ok(Row {
        case: "I".to_owned(),
        title: title.to_owned(),
        daemon: version.to_string(),
        ours: seconds(&[measured.elapsed]),
        theirs: "–".to_owned(),
        ratio: mebibytes(measured.peak),
        goal: "≤ 40 MiB, the same for both".to_owned(),
        read: mebibytes(measured.io.read),
        sent: mebibytes(measured.io.written),
        memory: mebibytes(measured.peak),
        ..Row::default()
    })
}

fn import(bench: &Bench, version: Version, bundle: Name) -> anyhow::Result<Measured> {
    let made = bench.bundles.get(bundle)?;
    let (daemon, folders) = (
        Daemon::start(version)?,
        tempfile::tempdir_in(bench.bundles.folder())?,
    );
    let (directory, state) = (folders.path().join("in"), folders.path().join("state"));
    std::fs::create_dir(&directory)?;
    let file = made.path.file_name().context("no name")?;
    std::fs::hard_link(&made.path, directory.join(file))?;
    let mut agent = Command::new(&bench.airdock);
    agent.arg(store(&daemon)).arg("watch").arg(&directory);
    agent.arg("--state-dir").arg(&state).arg("--once");
    measure::run(&mut agent)
}
