//! `cargo xtask bench`: airdock beside what people use today, on the same daemons, in pairs.
//!
//! Absolute times mean little on a shared machine. Runs of both sides alternate, each with a daemon
//! of its own whose store is fresh, and what counts is the ratio of their medians.

mod bundles;
mod case;
mod idle;
mod latency;
mod machine;
mod measure;
mod memory;
mod pairs;
mod row;
mod side;
mod statistics;

use std::path::PathBuf;
use std::process::ExitCode;

use airdock_testkit::containerd::Installed;
use airdock_testkit::{Version, repository};
use anyhow::bail;
use clap::Args;

use crate::release;
use crate::shell::{say, step};
use bundles::Bundles;
use case::Case;
use row::Rows;

/// The releases that are measured: the newest, and the oldest that is served.
const RELEASES: [Version; 2] = [Version::V2_1, Version::V1_6];

/// What is measured, and how often.
#[derive(Debug, Args)]
pub(crate) struct BenchOptions {
    /// Cases to run, all by default
    #[arg(
        long,
        value_enum,
        ignore_case = true,
        value_delimiter = ',',
        value_name = "CASE"
    )]
    case: Vec<Case>,
    /// Pairs of runs in each case
    #[arg(long, default_value_t = 5, value_name = "N")]
    runs: usize,
    /// Only this containerd: 2.1 or 1.6
    #[arg(long, value_name = "RELEASE")]
    daemon: Option<String>,
}

/// What all cases share.
#[derive(Debug)]
pub(super) struct Bench {
    /// The release binary.
    airdock: PathBuf,
    /// The bare writer.
    push: PathBuf,
    runs: usize,
    bundles: Bundles,
}

/// Runs the cases, prints a row for each and writes `docs/benchmarks.md`.
pub(crate) fn run(options: &BenchOptions) -> anyhow::Result<ExitCode> {
    let releases = releases(options.daemon.as_deref())?;
    let bench = step("release binaries", || Bench::prepare(options.runs))?;
    let mut rows = Rows::load(&folder().join("rows.json"));
    for case in Case::wanted(&options.case) {
        for &version in releases.iter().filter(|&&v| case.is_measured_on(v)) {
            let name = format!("{} on containerd {version}", case.letter());
            for row in step(&name, || case.run(&bench, version))? {
                say(&row.to_string());
                rows.put(row);
            }
            rows.save()?;
        }
    }
    let document = machine::describe(options) + &rows.table();
    std::fs::write(repository().join("docs/benchmarks.md"), document)?;
    Ok(ExitCode::SUCCESS)
}

impl Bench {
    fn prepare(runs: usize) -> anyhow::Result<Self> {
        Ok(Self {
            airdock: release::compile(&["--package=airdock"])?,
            push: release::compile(&["--package=airdock-containerd", "--example=push"])?,
            runs: runs.max(1),
            bundles: Bundles::below(&folder())?,
        })
    }
}

/// Where bundles and rows are kept between runs.
fn folder() -> PathBuf {
    repository().join("target/bench")
}

fn releases(only: Option<&str>) -> anyhow::Result<Vec<Version>> {
    let wanted = |version: &Version| only.is_none_or(|only| only == version.as_str());
    let found = |version: &Version| Installed::find(*version).is_some();
    let releases = RELEASES.into_iter().filter(wanted).filter(found);
    let releases: Vec<Version> = releases.collect();
    if releases.is_empty() {
        bail!("no such containerd here: run `cargo xtask setup`");
    }
    Ok(releases)
}
