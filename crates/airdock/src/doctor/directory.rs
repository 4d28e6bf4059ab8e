//! A source: is it there, who may write it, who else imports from it.

use std::fs;
use std::io;
use std::path::Path;

use super::Finding;
use crate::agent::safety::{Unsafe, faults};
use crate::config::{Distro, Source};

pub(super) fn examine(source: &Source) -> Vec<Finding> {
    let directory = source.directory.as_path();
    if let Err(error) = fs::read_dir(directory) {
        return vec![unlisted(directory, &error)];
    }
    let mut findings = vec![Finding::ok("directory", directory.display().to_string())];
    findings.extend(owners(source));
    findings.push(other_importers(directory));
    findings
}

fn unlisted(directory: &Path, error: &io::Error) -> Finding {
    let shown = directory.display();
    let mend = match error.kind() {
        io::ErrorKind::NotFound => format!("create it: install -d -m 0755 {shown}"),
        io::ErrorKind::NotADirectory => format!("name the directory that {shown} is in"),
        _ => format!("look why: ls -ld {shown}; ask as root"),
    };
    Finding::error("directory", format!("{shown}: {error}"), mend)
}

/// By the agent's own rules: a source that breaks one isn't used, unless its settings say so.
fn owners(source: &Source) -> Vec<Finding> {
    const CHECK: &str = "directory owner";
    let faults = faults(&source.directory);
    if faults.is_empty() {
        let directory = source.directory.display();
        let found = format!("nobody but its owner may write {directory}, or replace it");
        return vec![Finding::ok(CHECK, found)];
    }
    let finding = |fault: &Unsafe| {
        if source.insecure_permissions {
            let found = format!("{}; insecure_permissions allows it", fault.found());
            return Finding::warning(CHECK, found, fault.mend());
        }
        Finding::error(
            CHECK,
            format!("{}: it isn't used", fault.found()),
            fault.mend(),
        )
    };
    faults.iter().map(finding).collect()
}

/// A distribution that imports from the same directory by itself.
fn other_importers(directory: &Path) -> Finding {
    const CHECK: &str = "other importers";
    let mut importers = Distro::ALL.into_iter().filter(|d| *d != Distro::Containerd);
    let distro = importers.find(|d| d.image_directory() == directory && d.socket().exists());
    let Some(distro) = distro else {
        return Finding::ok(CHECK, format!("none of {}", directory.display()));
    };
    let found = format!("{distro:?} imports from {} too", directory.display());
    let mend = "harmless, but everything is read twice: use a directory of its own, /var/lib/airdock/bundles";
    Finding::warning(CHECK, found, mend)
}
