//! `airdock plan`: what `load` or `watch` would do, without doing it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use super::options::{GlobalOptions, absolute};
use crate::agent::failure::Failure;
use crate::agent::open::{self, Asked, Opened};
use crate::agent::plan::{Holding, plan};
use crate::agent::scan::scan;
use crate::agent::settle::Settled;
use crate::agent::space;
use crate::config::{ConfigError, OnConflict, Settings, Source, SourceTable};
use crate::exit::Exit;
use crate::output::plan::{Disk, Report, Unplanned};
use crate::output::{self, Format, shown};
use crate::store::labels::source_id;
use crate::store::{Role, Store};

#[derive(Debug, Args)]
pub(super) struct PlanOptions {
    /// Directories of bundles, archives, layout directories [default: what the agent watches]
    #[arg(value_name = "DIR|BUNDLE")]
    paths: Vec<PathBuf>,
    /// What happens to a name that exists, points elsewhere and isn't ours [default: replace]
    #[arg(long, value_enum, env = "AIRDOCK_ON_CONFLICT")]
    on_conflict: Option<OnConflict>,
    /// MiB that must stay free where the store is [default: 0]
    #[arg(long, value_name = "MIB", env = "AIRDOCK_RESERVE")]
    reserve: Option<u64>,
}

pub(super) async fn run(global: &GlobalOptions, options: PlanOptions) -> anyhow::Result<Exit> {
    let (bundles, directories) = options.paths.iter().cloned().partition(|p| is_bundle(p));
    let settings = settings(global, &options, directories)?;
    let store = global.open_store(&Role::Load)?;
    let mut opened = Vec::new();
    let mut unplanned = Vec::new();
    for (path, source) in wanted(&options, bundles, &settings, &mut unplanned)? {
        match open_one(&path, &source, global).await {
            Ok(bundle) => opened.push((bundle, source)),
            Err(failure) => unplanned.push(Unplanned::new(&path, &failure)),
        }
    }
    let view = store.view().await?;
    let sources: Vec<String> = opened
        .iter()
        .map(|(_, s)| source_id(&s.directory))
        .collect();
    let holdings: Vec<Holding<'_>> = opened
        .iter()
        .zip(&sources)
        .map(|((bundle, source), id)| holding(bundle, id, source.policy.on_conflict))
        .collect();
    let plan = plan(&holdings, &view, store.rules());
    let disk = disk(&store, settings.watch.reserve).await;
    let opened: Vec<Opened> = opened.iter().map(|(bundle, _)| bundle.clone()).collect();
    let report = Report::new(&opened, &plan, unplanned, disk);
    match global.output {
        Format::Json => output::json(&report),
        Format::Table => report.print(),
    }
    Ok(report.exit())
}

/// Directories of bundles are listed; everything else is a bundle.
fn is_bundle(path: &Path) -> bool {
    !path.is_dir() || path.join("oci-layout").exists()
}

fn settings(
    global: &GlobalOptions,
    options: &PlanOptions,
    directories: Vec<PathBuf>,
) -> Result<Settings, ConfigError> {
    global.settings(|typed| {
        typed.directories = directories;
        typed.layer.reserve = options.reserve;
        typed.layer.source = vec![SourceTable {
            on_conflict: options.on_conflict,
            ..SourceTable::default()
        }];
    })
}

/// The bundles, each with the source that it is, or would be, in.
fn wanted(
    options: &PlanOptions,
    bundles: Vec<PathBuf>,
    settings: &Settings,
    unplanned: &mut Vec<Unplanned>,
) -> anyhow::Result<Vec<(PathBuf, Source)>> {
    let mut wanted = Vec::new();
    if options.paths.is_empty() || bundles.len() < options.paths.len() {
        for source in &settings.watch.sources {
            let listing = scan(&source.directory, source.recursive);
            let listing = listing.with_context(|| shown(&source.directory))?;
            unplanned.extend(listing.unnamed.iter().map(|path| Unplanned::not_utf8(path)));
            let paths = listing.candidates.into_iter().map(|c| c.path);
            wanted.extend(paths.map(|path| (path, source.clone())));
        }
    }
    for path in bundles {
        let path = absolute(path)?;
        let mut source = Source::of(path.parent().unwrap_or(&path));
        source.policy.on_conflict = options.on_conflict.unwrap_or_default();
        wanted.push((path, source));
    }
    Ok(wanted)
}

async fn open_one(path: &Path, source: &Source, global: &GlobalOptions) -> Result<Opened, Failure> {
    let settled = Settled::as_it_is(path).map_err(|e| Failure::unreadable(&e, path))?;
    let asked = Asked {
        platform: global.matcher(),
        name: None,
        names: source.names.clone(),
    };
    open::open(settled, asked, None).await
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

async fn disk(store: &Store, reserve: u64) -> Option<Disk> {
    let root = store.root().await?;
    let free = space::free(&root)?;
    Some(Disk { free, reserve })
}
