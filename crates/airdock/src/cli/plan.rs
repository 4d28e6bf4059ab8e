//! `airdock plan`: what `load` or `watch` would do, without doing it.

use std::path::{Path, PathBuf};

use clap::Args;

use super::options::{GlobalOptions, absolute};
use crate::agent::failure::Failure;
use crate::agent::open::{self, Opened};
use crate::agent::plan::{Holding, plan};
use crate::agent::scan::scan;
use crate::agent::settle::Settled;
use crate::config::{Distro, OnConflict};
use crate::exit::Exit;
use crate::output::plan::{Disk, Report, Unplanned};
use crate::output::{self, Format};
use crate::store::labels::source_id;
use crate::store::{Role, Store};

#[derive(Debug, Args)]
pub(super) struct PlanOptions {
    /// Directories of bundles, archives, layout directories [default: the distribution's
    /// directory, or /var/lib/airdock/bundles]
    #[arg(value_name = "DIR|BUNDLE")]
    paths: Vec<PathBuf>,
    /// What happens to a name that exists, points elsewhere and isn't ours
    #[arg(long, value_enum, default_value_t)]
    on_conflict: OnConflict,
    /// MiB that must stay free where the store is
    #[arg(long, default_value_t = 0, value_name = "MIB")]
    reserve: u64,
}

pub(super) async fn run(global: &GlobalOptions, options: PlanOptions) -> anyhow::Result<Exit> {
    let store = global.open_store(&Role::Load)?;
    let mut paths = options.paths;
    if paths.is_empty() {
        let distro = global.distro.unwrap_or(Distro::Containerd);
        paths.push(distro.image_directory().to_owned());
    }
    let mut opened = Vec::new();
    let mut unplanned = Vec::new();
    for path in bundles(paths)? {
        match open_one(&path, global).await {
            Ok(bundle) => opened.push(bundle),
            Err(failure) => unplanned.push(Unplanned::new(&path, &failure)),
        }
    }
    let view = store.view().await?;
    let sources: Vec<String> = opened
        .iter()
        .map(|bundle| source_of(&bundle.path))
        .collect();
    let holdings: Vec<Holding<'_>> = opened
        .iter()
        .zip(&sources)
        .map(|(bundle, source)| holding(bundle, source, options.on_conflict))
        .collect();
    let plan = plan(&holdings, &view, store.rules());
    let disk = disk(&store, options.reserve.saturating_mul(1024 * 1024)).await;
    let report = Report::new(&opened, &plan, unplanned, disk);
    match global.output {
        Format::Json => output::json(&report),
        Format::Table => report.print(),
    }
    Ok(report.exit())
}

/// Directories of bundles are listed; everything else is a bundle.
fn bundles(paths: Vec<PathBuf>) -> anyhow::Result<Vec<PathBuf>> {
    let mut bundles = Vec::new();
    for path in paths {
        let path = absolute(path)?;
        let is_bundle = !path.is_dir() || path.join("oci-layout").exists();
        if is_bundle {
            bundles.push(path);
        } else {
            bundles.extend(scan(&path)?.into_iter().map(|candidate| candidate.path));
        }
    }
    Ok(bundles)
}

async fn open_one(path: &Path, global: &GlobalOptions) -> Result<Opened, Failure> {
    let settled = Settled::as_it_is(path).map_err(|e| Failure::unreadable(&e, path))?;
    open::open(settled, &global.matcher(), None).await
}

fn holding<'a>(bundle: &'a Opened, source: &'a str, on_conflict: OnConflict) -> Holding<'a> {
    Holding {
        path: &bundle.path,
        source,
        arrived: bundle.fingerprint.changed,
        live: true,
        on_conflict,
        offer: &bundle.offer,
    }
}

fn source_of(bundle: &Path) -> String {
    source_id(bundle.parent().unwrap_or(bundle))
}

async fn disk(store: &Store, reserve: u64) -> Option<Disk> {
    let root = store.root().await?;
    let stat = rustix::fs::statvfs(&root).ok()?;
    Some(Disk {
        free: stat.f_bavail.saturating_mul(stat.f_frsize),
        reserve,
    })
}
