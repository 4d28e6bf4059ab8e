//! `airdock inspect`: what bundles hold, without a store.

use std::path::{Path, PathBuf};

use airdock_bundle::archive::Archive;
use airdock_bundle::open::Bundle;
use airdock_bundle::platform::Matcher;
use clap::Args;

use super::options::GlobalOptions;
use crate::exit::Exit;
use crate::output::inspect::Report;
use crate::output::{self, Bars, Format};

#[derive(Debug, Args)]
pub(super) struct InspectOptions {
    /// Archives or layout directories
    #[arg(required = true, value_name = "BUNDLE")]
    bundles: Vec<PathBuf>,
    /// Look at the structure alone: don't compare the content of layers with their digests
    #[arg(long)]
    quick: bool,
}

pub(super) fn run(global: &GlobalOptions, options: &InspectOptions) -> anyhow::Result<Exit> {
    let platform = global.matcher();
    let mut worst = Exit::Success;
    let mut reports = Vec::new();
    for path in &options.bundles {
        let (report, exit) = inspect(path, &platform, options.quick);
        worst = worst.max(exit);
        reports.push(report);
    }
    match global.output {
        Format::Json => print_json(&reports),
        Format::Table => reports.iter().for_each(Report::print),
    }
    Ok(worst)
}

/// One document for one bundle, a list for several.
fn print_json(reports: &[Report]) {
    match reports {
        [report] => output::json(report),
        reports => output::json(&reports),
    }
}

fn inspect(path: &Path, platform: &Matcher, quick: bool) -> (Report, Exit) {
    let archive = match Archive::open(path) {
        Ok(archive) => archive,
        Err(error) => return failed(path, error.verdict(), &error),
    };
    let mut bundle = match Bundle::open(archive, platform) {
        Ok(bundle) => bundle,
        Err(error) => return failed(path, error.verdict(), &error),
    };
    if !quick {
        let bars = Bars::new();
        bars.start(path, bundle.check_size());
        let checked = bundle.check(&mut |bytes| bars.advance(bytes));
        bars.clear();
        if let Err(error) = checked {
            return failed(path, error.verdict(), &error);
        }
    }
    let exit = Exit::from(bundle.verdict());
    (Report::opened(path, &bundle, !quick), exit)
}

fn failed(
    path: &Path,
    verdict: Option<airdock_bundle::Verdict>,
    error: &dyn std::error::Error,
) -> (Report, Exit) {
    let exit = verdict.map_or(Exit::Unreadable, Exit::from);
    (Report::failed(path, verdict, error.to_string()), exit)
}
