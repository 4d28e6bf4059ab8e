//! What `plan` prints.

use std::path::Path;

use airdock_bundle::escape::escaped;
use serde::Serialize;

use super::human::{Bytes, count};
use super::shown;
use crate::agent::failure::Failure;
use crate::agent::open::Opened;
use crate::agent::plan::{Action, BundlePlan, Conflict, Plan, Step};
use crate::agent::sources::shown_bytes;
use crate::exit::Exit;

/// A plan, as JSON.
#[derive(Debug, Serialize)]
pub struct Report {
    /// One for each bundle that can be imported.
    pub bundles: Vec<BundleReport>,
    /// Those that can't.
    pub unplanned: Vec<Unplanned>,
    /// Names that more than one party wants.
    pub conflicts: Vec<ConflictReport>,
    /// Bytes that the store lacks.
    pub bytes_to_send: u64,
    /// Bytes that are needed and there.
    pub bytes_present: u64,
    /// Null where the store's file system can't be seen.
    pub disk: Option<DiskReport>,
}

/// What is to be done for a bundle, as JSON.
#[derive(Debug, Serialize)]
pub struct BundleReport {
    /// The bundle.
    pub path: String,
    /// Images that it gives.
    pub images: usize,
    /// Blobs that the store lacks.
    pub blobs_to_send: usize,
    /// Their bytes.
    pub bytes_to_send: u64,
    /// Of the bytes to send those that the bundle, a delta, leaves to others.
    pub bytes_elsewhere: u64,
    /// Bytes that are needed and there.
    pub bytes_present: u64,
    /// Changes of names.
    pub names: Vec<NameReport>,
    /// Who has them, to be shown.
    #[serde(skip)]
    bases: String,
}

/// A change of a name, as JSON.
#[derive(Debug, Serialize)]
pub struct NameReport {
    /// The name.
    pub name: String,
    /// `create`, `move` or `hold`.
    pub action: &'static str,
    /// What it will point to.
    pub digest: String,
    /// What it points to now, where it moves.
    pub from: Option<String>,
    /// Why this is done.
    pub reason: &'static str,
}

/// A bundle that can't be imported, as JSON.
#[derive(Debug, Serialize)]
pub struct Unplanned {
    /// The bundle.
    pub path: String,
    /// A verdict, or `failed` where it couldn't be reached.
    pub verdict: String,
    /// Why.
    pub reason: String,
    #[serde(skip)]
    exit: Exit,
}

/// A name that more than one party wants, as JSON.
#[derive(Debug, Serialize)]
pub struct ConflictReport {
    /// The name.
    pub name: String,
    /// Who has it afterwards: a bundle's path, or `store`.
    pub winner: String,
    /// Who would have it otherwise.
    pub loser: String,
}

/// Space, as JSON.
#[derive(Debug, Serialize)]
pub struct DiskReport {
    /// Bytes to write.
    pub needed: u64,
    /// Bytes free.
    pub free: u64,
    /// Bytes that must stay free.
    pub reserve: u64,
    /// Whether it fits.
    pub fits: bool,
}

/// The store's file system.
#[derive(Clone, Copy, Debug)]
pub struct Disk {
    /// Bytes free.
    pub free: u64,
    /// Bytes that must stay free.
    pub reserve: u64,
}

impl Unplanned {
    /// Why a bundle is not in the plan.
    pub fn new(path: &Path, failure: &Failure) -> Self {
        let verdict = failure.verdict();
        Self {
            path: shown(path),
            verdict: verdict.map_or_else(|| "failed".to_owned(), |v| v.to_string()),
            reason: failure.to_string(),
            exit: failure.exit(),
        }
    }

    /// Of something that no command looks at, because its name isn't UTF-8.
    pub fn not_utf8(path: &Path) -> Self {
        Self {
            path: shown_bytes(path),
            verdict: "failed".to_owned(),
            reason: "its name is not UTF-8; rename it".to_owned(),
            exit: Exit::Unreadable,
        }
    }
}

impl Report {
    /// Puts a plan into words.
    pub fn new(
        opened: &[Opened],
        plan: &Plan,
        unplanned: Vec<Unplanned>,
        disk: Option<Disk>,
    ) -> Self {
        let bundles: Vec<BundleReport> = opened
            .iter()
            .enumerate()
            .map(|(index, bundle)| {
                let planned = plan.bundles.iter().find(|plan| plan.holding == index);
                BundleReport::new(bundle, planned)
            })
            .collect();
        let bytes_to_send = bundles.iter().map(|bundle| bundle.bytes_to_send).sum();
        Self {
            bytes_present: bundles.iter().map(|bundle| bundle.bytes_present).sum(),
            conflicts: plan.conflicts.iter().map(|c| conflict(c, opened)).collect(),
            disk: disk.map(|disk| DiskReport {
                needed: bytes_to_send,
                free: disk.free,
                reserve: disk.reserve,
                fits: bytes_to_send.saturating_add(disk.reserve) <= disk.free,
            }),
            bytes_to_send,
            bundles,
            unplanned,
        }
    }

    /// What carrying it out would end with, as far as that can be told beforehand.
    pub fn exit(&self) -> Exit {
        let fits = self.disk.as_ref().is_none_or(|disk| disk.fits);
        let space = if fits { Exit::Success } else { Exit::NoSpace };
        let bundles = self.unplanned.iter().map(|bundle| bundle.exit);
        bundles.chain([space]).max().unwrap_or(Exit::Success)
    }

    /// Prints it for people.
    pub fn print(&self) {
        for bundle in &self.bundles {
            bundle.print();
        }
        for bundle in &self.unplanned {
            super::line(&format!(
                "{}: {}: {}",
                bundle.path, bundle.verdict, bundle.reason
            ));
        }
        for conflict in &self.conflicts {
            super::line(&format!(
                "conflict: {} goes to {}, not to {}",
                conflict.name, conflict.winner, conflict.loser
            ));
        }
        super::line(&self.summary());
    }

    fn summary(&self) -> String {
        let sums = format!(
            "{} to send, {} already there",
            Bytes(self.bytes_to_send),
            Bytes(self.bytes_present)
        );
        match &self.disk {
            None => sums,
            Some(disk) if disk.fits => format!("{sums}, {} free", Bytes(disk.free)),
            Some(disk) => format!(
                "{sums}, only {} free ({} kept in reserve): it does not fit",
                Bytes(disk.free),
                Bytes(disk.reserve)
            ),
        }
    }
}

impl BundleReport {
    fn new(bundle: &Opened, planned: Option<&BundlePlan>) -> Self {
        let all = || bundle.offer.blobs().map(|blob| blob.size).sum();
        Self {
            path: shown(&bundle.path),
            images: bundle.offer.images.len(),
            blobs_to_send: planned.map_or(0, |plan| plan.write.len()),
            bytes_to_send: planned.map_or(0, BundlePlan::missing),
            bytes_elsewhere: planned.map_or(0, |plan| elsewhere(bundle, plan)),
            bytes_present: planned.map_or_else(all, BundlePlan::spared),
            names: planned.map_or_else(Vec::new, |plan| plan.steps.iter().map(name).collect()),
            bases: bases(bundle),
        }
    }

    fn print(&self) {
        let images = count(self.images, "image");
        if self.names.is_empty() && self.blobs_to_send == 0 {
            super::line(&format!("{}: {images}, nothing to do", self.path));
            return;
        }
        super::line(&format!(
            "{}: {images}, {} in {} to send, {} already there",
            self.path,
            Bytes(self.bytes_to_send),
            count(self.blobs_to_send, "blob"),
            Bytes(self.bytes_present)
        ));
        if let Some(line) = self.delta() {
            super::line(&line);
        }
        for name in &self.names {
            super::line(&format!(
                "  {} {} ({})",
                name.action, name.name, name.reason
            ));
        }
    }

    fn delta(&self) -> Option<String> {
        let (bytes, bases) = (Bytes(self.bytes_elsewhere), &self.bases);
        let line = || format!("  a delta: {bytes} of that must come from another bundle: {bases}");
        (self.bytes_elsewhere > 0).then(line)
    }
}

/// Bytes of the layers that neither the store nor the bundle itself has.
fn elsewhere(bundle: &Opened, plan: &BundlePlan) -> u64 {
    let lacks = bundle.bundle.lacks();
    let lacking = plan
        .write
        .iter()
        .filter(|it| lacks.contains_key(&it.digest));
    lacking.map(|blob| blob.size).sum()
}

fn bases(bundle: &Opened) -> String {
    let bases = bundle.bundle.left_out().bases.iter();
    let bases: Vec<String> = bases.map(|it| escaped(it).to_string()).collect();
    bases.join(", ")
}

fn name(step: &Step) -> NameReport {
    let (action, from, reason) = match &step.action {
        Action::Create => ("create", None, "the store doesn't have it"),
        Action::Move { from } => ("move", Some(from.to_string()), "it points elsewhere"),
        Action::Hold => ("hold", None, "it isn't pinned, or isn't known as held"),
    };
    NameReport {
        name: step.name.clone(),
        action,
        digest: step.target.digest.to_string(),
        from,
        reason,
    }
}

fn conflict(conflict: &Conflict, opened: &[Opened]) -> ConflictReport {
    let path = |index: usize| {
        opened
            .get(index)
            .map_or_else(String::new, |b| shown(&b.path))
    };
    let store = || "store".to_owned();
    let (name, winner, loser) = match conflict {
        Conflict::Bundles {
            name,
            winner,
            loser,
        } => (name, path(*winner), path(*loser)),
        Conflict::Foreign {
            name,
            holding,
            kept: true,
            ..
        } => (name, store(), path(*holding)),
        Conflict::Foreign { name, holding, .. } => (name, path(*holding), store()),
    };
    ConflictReport {
        name: name.clone(),
        winner,
        loser,
    }
}
