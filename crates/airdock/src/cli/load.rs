//! `airdock load`: bundles into the store, now.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use airdock_bundle::name::Name;
use clap::Args;
use jiff::Timestamp;

use super::agent_options::ImportOptions;
use super::options::GlobalOptions;
use crate::agent::bring::{Standing, bring};
use crate::agent::context::Context;
use crate::agent::failure::Failure;
use crate::agent::patterns::Patterns;
use crate::agent::scan::Fingerprint;
use crate::agent::settle::Settled;
use crate::agent::terms::Terms;
use crate::config::OnConflict;
use crate::exit::Exit;
use crate::output::load::Report;
use crate::output::{self, Bars, Format, Reporter, Shown};
use crate::store::{Role, labels};

/// How standard input is called in reports.
const STANDARD_INPUT: &str = "-";

#[derive(Debug, Args)]
pub(super) struct LoadOptions {
    /// Archives or layout directories; - is standard input
    #[arg(required = true, value_name = "BUNDLE")]
    bundles: Vec<PathBuf>,
    /// Give the bundle's one unnamed image this name
    #[arg(long, value_name = "NAME")]
    name: Option<Name>,
    /// What happens to a name that exists, points elsewhere and isn't ours
    #[arg(long, value_enum, default_value_t)]
    on_conflict: OnConflict,
    #[command(flatten)]
    import: ImportOptions,
}

pub(super) async fn run(global: &GlobalOptions, options: LoadOptions) -> anyhow::Result<Exit> {
    let settings = global.settings(|typed| options.import.add_to(typed))?;
    let context = Context {
        store: global.open_store(&Role::Load)?,
        platform: global.matcher(),
        reserve: settings.watch.reserve,
        first: Patterns::new(&settings.watch.first),
        unpack: Patterns::new(&settings.watch.unpack),
        reporter: reporter(),
        cancel: super::watch::stopped_by_signals(),
    };
    // What keeps it from doing so is met again, and told, by what follows.
    drop(context.store.bury().await);
    let mut worst = Exit::Success;
    let mut reports = Vec::new();
    for path in &options.bundles {
        let (report, exit) = load(path, &options, &context).await;
        worst = worst.max(exit);
        match global.output {
            Format::Table => report.print(),
            Format::Json => reports.push(report),
        }
    }
    match (global.output, reports.as_slice()) {
        (Format::Table, _) => {}
        (Format::Json, [report]) => output::json(report),
        (Format::Json, reports) => output::json(&reports),
    }
    Ok(worst)
}

fn reporter() -> Reporter {
    let shown = if io::stderr().is_terminal() {
        Shown::Bars(Bars::new())
    } else {
        Shown::Problems(Bars::new())
    };
    Reporter::new(shown)
}

async fn load(path: &Path, options: &LoadOptions, context: &Context) -> (Report, Exit) {
    let standing = Standing {
        source: labels::BY_HAND.to_owned(),
        arrived: Timestamp::now(),
        known: BTreeMap::new(),
        on_conflict: options.on_conflict,
        terms: Terms::default(),
        others: Vec::new(),
        beside: options.bundles.clone(),
        name: options.name.clone(),
        index: None,
    };
    let brought = match take(path) {
        Ok(settled) => bring(settled, standing, context).await,
        Err(error) => Err(Failure::unreadable(&error, path)),
    };
    match brought {
        Ok(brought) => (Report::brought(path, &brought), Exit::from(brought.verdict)),
        Err(failure) => (Report::failed(path, &failure), failure.exit()),
    }
}

fn take(path: &Path) -> io::Result<Settled> {
    if path == Path::new(STANDARD_INPUT) {
        return standard_input();
    }
    Settled::as_it_is(path)
}

/// A redirected file is used as it is. A pipe can't be read twice, and what tells which blobs are
/// wanted may come last: it is kept, compressed as it is, in a file that has no name.
fn standard_input() -> io::Result<Settled> {
    use std::os::fd::AsFd;
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    if !input.metadata()?.is_file() {
        let mut spool = tempfile::tempfile()?;
        io::copy(&mut input, &mut spool)?;
        input = spool;
    }
    Ok(Settled {
        path: PathBuf::from(STANDARD_INPUT),
        fingerprint: Fingerprint::of(&input.metadata()?),
        file: Some(input),
    })
}
