//! containerd, asked and disturbed through its own `ctr`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use airdock_testkit::fixture::Bundle;
use airdock_testkit::{Daemon, Outcome};

use crate::image::{Seed, image};
use crate::store::{Record, Records};

pub(crate) fn records(daemon: &Daemon) -> io::Result<Records> {
    let listed = daemon.ctr_text(&["images", "ls"])?;
    Ok(listed.lines().skip(1).filter_map(record).collect())
}

/// `REF TYPE DIGEST SIZE… PLATFORMS LABELS`
fn record(line: &str) -> Option<(String, Record)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let labels = words.last()?.split(',').filter_map(|l| l.split_once('='));
    let labels: BTreeMap<String, String> = labels
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let target = (*words.get(2)?).to_owned();
    Some(((*words.first()?).to_owned(), Record { target, labels }))
}

pub(crate) fn blobs(daemon: &Daemon) -> io::Result<BTreeSet<String>> {
    let listed = daemon.ctr_text(&["content", "ls", "--quiet"])?;
    Ok(listed.lines().map(str::to_owned).collect())
}

pub(crate) fn import(daemon: &Daemon, name: &'static str, seed: Seed, dir: &Path) -> Outcome {
    let path = dir.join("foreign.tar");
    let bundle = Bundle::new().with(&[name], image(seed));
    bundle.oci().write_tar(&path)?;
    let path = path.to_string_lossy();
    daemon.ctr_text(&["images", "import", "--no-unpack", &path])?;
    Ok(())
}

pub(crate) fn leftovers(daemon: &Daemon) -> io::Result<Vec<String>> {
    let leases = daemon.ctr_text(&["leases", "ls", "-q"])?;
    let ingests = daemon.ctr_text(&["content", "active"])?;
    let lines = leases.lines().chain(ingests.lines());
    let ours = lines.filter(|line| line.starts_with("airdock-"));
    Ok(ours.map(str::to_owned).collect())
}

pub(crate) fn clear(daemon: &Daemon) -> io::Result<()> {
    let names: Vec<String> = records(daemon)?.into_keys().collect();
    if names.is_empty() {
        return Ok(());
    }
    let mut rm = vec!["images", "rm", "--sync"];
    rm.extend(names.iter().map(String::as_str));
    daemon.ctr_text(&rm).map(drop)
}
