//! `cargo xtask bench`: airdock beside what people use today, on the same daemons, in pairs.
//!
//! Absolute times mean little on a shared machine. Runs of both sides alternate, each with a daemon
//! of its own whose store is fresh, and what counts is the ratio of their medians.

mod appearing;
mod bundles;
mod case;
mod idle;
mod latency;
mod machine;
mod measure;
mod memory;
mod pairs;
mod pulling;
mod reading;
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
use row::{Row, Rows};

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
    /// Pairs of runs in each case, instead of as many as the case has by default
    #[arg(long, value_name = "N")]
    runs: Option<usize>,
    /// Only this containerd: 2.1 or 1.6
    #[arg(long, value_name = "RELEASE")]
    daemon: Option<String>,
    /// Measure this program instead of the one that is built here
    #[arg(long, value_name = "FILE")]
    airdock: Option<PathBuf>,
}

/// What all cases share.
#[derive(Debug)]
pub(super) struct Bench {
    /// The release binary.
    airdock: PathBuf,
    /// The bare writer, where a case needs it.
    push: PathBuf,
    /// What waits for names, where a case needs it.
    named: PathBuf,
    /// Where the case shall not say it.
    runs: Option<usize>,
    bundles: Bundles,
}

/// Runs the cases, prints a row for each and writes `docs/benchmarks.md`. A case that fails has a
/// row that says so, and the others go on.
pub(crate) fn run(options: &BenchOptions) -> anyhow::Result<ExitCode> {
    let releases = releases(options.daemon.as_deref())?;
    let cases = Case::wanted(&options.case);
    let bench = step("release binaries", || Bench::prepare(options, &cases))?;
    // What can't be made now is tried again by the case that needs it, and told there.
    drop(step("bundles", || bench.make_bundles(&cases)));
    let mut rows = Rows::load(&folder().join("rows.json"));
    let mut all_well = true;
    for case in cases {
        for &version in releases.iter().filter(|&&v| case.is_measured_on(v)) {
            let measured = measure_case(&bench, case, version);
            all_well &= measured.iter().all(|row| !row.failed);
            rows.replace(&case.letter(), &version.to_string(), measured);
            rows.save()?;
            std::fs::write(repository().join(DOCUMENT), document(options, &rows))?;
        }
    }
    Ok(if all_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn measure_case(bench: &Bench, case: Case, version: Version) -> Vec<Row> {
    let name = format!("{} on containerd {version}", case.letter());
    let measured = step(&name, || Ok(case.run(bench, version)));
    let measured = measured.unwrap_or_default();
    for row in &measured {
        say(&row.to_string());
    }
    measured
}

/// What is written: the machine, the figures, and how they are to be read.
fn document(options: &BenchOptions, rows: &Rows) -> String {
    machine::describe(options) + &rows.table() + reading::READING
}

impl Bench {
    fn prepare(options: &BenchOptions, cases: &[Case]) -> anyhow::Result<Self> {
        let example = |name: &str, wanted: &[Case]| match cases.iter().any(|it| wanted.contains(it))
        {
            true => release::compile(&["--package=airdock-containerd", "--example", name]),
            false => Ok(PathBuf::new()),
        };
        Ok(Self {
            airdock: match &options.airdock {
                Some(built) => built.clone(),
                None => release::compile(&["--package=airdock"])?,
            },
            push: example("push", &[Case::K])?,
            named: example("named", &[Case::G, Case::H, Case::M])?,
            runs: options.runs.map(|runs| runs.max(1)),
            bundles: Bundles::below(&folder())?,
        })
    }

    /// Makes what isn't there yet, so that no case's time has it.
    fn make_bundles(&self, cases: &[Case]) -> anyhow::Result<()> {
        let names = cases.iter().flat_map(|case| case.bundles());
        for name in names {
            self.bundles.get(name)?;
        }
        if cases.iter().any(|case| matches!(case, Case::D | Case::J)) {
            self.bundles.many(idle::BUNDLES)?;
        }
        Ok(())
    }

    /// How often something is measured that is measured `times` by default.
    fn times(&self, times: usize) -> usize {
        self.runs.unwrap_or(times)
    }
}

/// Where the figures are written.
const DOCUMENT: &str = "docs/benchmarks.md";

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
