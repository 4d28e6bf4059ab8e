//! A source: is it there, who may write it, who else imports from it.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::Finding;
use crate::config::Distro;

/// Write permission for group or others.
const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

pub(super) fn examine(directory: &Path) -> Vec<Finding> {
    let shown = directory.display();
    if let Err(error) = fs::read_dir(directory) {
        let mend = format!("create it: install -d -m 0755 {shown}");
        return vec![Finding::error(
            "directory",
            format!("{shown}: {error}"),
            mend,
        )];
    }
    let mut findings = vec![Finding::ok("directory", shown.to_string())];
    let owned = directory.ancestors().filter_map(unsafe_path);
    findings.extend(owned);
    findings.extend(foreign_importer(directory));
    findings
}

/// Who may write the directory, or replace it, may run images on this node.
fn unsafe_path(path: &Path) -> Option<Finding> {
    let metadata = fs::metadata(path).ok()?;
    let why = why_unsafe(&metadata)?;
    let shown = path.display();
    let mend = format!("chown root:root {shown}; chmod go-w {shown}");
    Some(Finding::warning(
        "directory owner",
        format!("{shown} {why}"),
        mend,
    ))
}

fn why_unsafe(metadata: &Metadata) -> Option<String> {
    let (owner, mode) = (metadata.uid(), metadata.mode());
    let own = rustix::process::geteuid().as_raw();
    if owner != 0 && owner != own {
        return Some(format!("belongs to user {owner}"));
    }
    let writable = mode & WRITABLE_BY_OTHERS != 0 && mode & STICKY == 0;
    writable.then(|| format!("can be written by others (mode {:04o})", mode & 0o7777))
}

/// A distribution that imports from the same directory by itself.
fn foreign_importer(directory: &Path) -> Option<Finding> {
    let mut importers = Distro::ALL.into_iter().filter(|d| *d != Distro::Containerd);
    let distro = importers.find(|d| d.image_directory() == directory && d.socket().exists())?;
    let found = format!("{distro:?} imports from {} too", directory.display());
    let mend = "harmless, but everything is read twice: use a directory of its own, /var/lib/airdock/bundles";
    Some(Finding::warning("other importers", found, mend))
}
