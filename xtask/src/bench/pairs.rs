//! Two programs bring the same bundle, by turns, each to a daemon of its own.

use std::time::Duration;

use airdock_testkit::{Daemon, Version};
use anyhow::Context as _;

use super::Bench;
use super::bundles::Name;
use super::measure::{self, Measured};
use super::row::Row;
use super::side::Side;
use super::statistics::{mebibytes, median, seconds};

/// A comparison.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    /// The case's letter.
    pub case: String,
    /// What is done.
    pub title: &'static str,
    /// What the same program brought before, unmeasured.
    pub before: Option<Name>,
    /// What is brought.
    pub bundle: Name,
    /// Whom airdock is compared with.
    pub other: Side,
    /// Pairs of runs by default.
    pub times: usize,
    /// What is to be reached, if anything was set.
    pub goal: Option<Goal>,
}

/// What is to be reached.
#[derive(Clone, Copy, Debug)]
pub(super) enum Goal {
    /// So many times faster than the other.
    Faster(f64),
    /// In so many times the other's time.
    Within(f64),
}

/// Runs a comparison. An error names it.
pub(super) fn run(bench: &Bench, version: Version, pair: &Pair) -> anyhow::Result<Row> {
    compare(bench, version, pair).context(pair.title)
}

fn compare(bench: &Bench, version: Version, pair: &Pair) -> anyhow::Result<Row> {
    let sides = [Side::Airdock, pair.other];
    let mut runs = sides.map(|_| Vec::new());
    for _ in 0..bench.times(pair.times) {
        for (side, runs) in sides.iter().zip(&mut runs) {
            runs.push(once(bench, version, pair, *side)?);
        }
    }
    let [ours, theirs] = runs;
    let (ours, our_daemons): (Vec<_>, Vec<_>) = ours.into_iter().unzip();
    let (theirs, their_daemons): (Vec<_>, Vec<_>) = theirs.into_iter().unzip();
    let both = |figure: fn(Side, &[Measured]) -> String| {
        let ours = figure(Side::Airdock, &ours);
        format!("{ours}, {}", figure(pair.other, &theirs))
    };
    Ok(Row {
        case: pair.case.clone(),
        title: pair.title.to_owned(),
        daemon: version.to_string(),
        ours: seconds(&times(&ours)),
        theirs: format!("{}: {}", pair.other.name(), seconds(&times(&theirs))),
        ratio: pair.ratio(middle(&ours), middle(&theirs)),
        goal: pair.goal.map_or_else(|| "–".to_owned(), Goal::text),
        read: both(|_, runs| most(runs, |run| run.io.read)),
        sent: both(|side, runs| most(runs, |run| side.sent(run))),
        memory: both(|_, runs| most(runs, |run| run.peak)),
        processor: format!(
            "{}, {}",
            processor(&ours, &our_daemons),
            processor(&theirs, &their_daemons)
        ),
        ..Row::default()
    })
}

/// One run on a fresh store, with everything that went before it on the disk; and the daemon's
/// processor time.
fn once(
    bench: &Bench,
    version: Version,
    pair: &Pair,
    side: Side,
) -> anyhow::Result<(Measured, Duration)> {
    bench.bundles.get(pair.bundle)?.warm()?;
    let daemon = Daemon::start(version)?;
    if let Some(before) = pair.before {
        side.bring(bench, &daemon, before)?;
    }
    measure::settle(daemon.home())?;
    let pid = daemon.pid().context("no daemon")?;
    let before = measure::processor_time(pid)?;
    let measured = side.bring(bench, &daemon, pair.bundle)?;
    let used = measure::processor_time(pid)?.saturating_sub(before);
    Ok((measured, used))
}

impl Pair {
    /// How many times faster we are; of a limit, how many times slower.
    fn ratio(&self, ours: f64, theirs: f64) -> String {
        match self.goal {
            Some(Goal::Within(_)) => format!("{:.2}", ours / theirs),
            _ if self.other == Side::Push => format!("{:.2}", ours / theirs),
            _ => format!("{:.2}×", theirs / ours),
        }
    }
}

impl Goal {
    fn text(self) -> String {
        match self {
            Self::Faster(times) => format!("≥ {times}×"),
            Self::Within(times) => format!("≤ {times}"),
        }
    }
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Airdock => "airdock",
            Self::Stock => "ctr import",
            Self::Push => "bare writer",
        }
    }
}

/// `0.25 + 0.75 s`: the program's, and the daemon's meanwhile.
fn processor(runs: &[Measured], daemons: &[Duration]) -> String {
    let own: Vec<f64> = runs.iter().map(|run| run.processor.as_secs_f64()).collect();
    let daemon: Vec<f64> = daemons.iter().map(Duration::as_secs_f64).collect();
    format!("{:.2} + {:.2} s", median(&own), median(&daemon))
}

fn times(runs: &[Measured]) -> Vec<Duration> {
    runs.iter().map(|run| run.elapsed).collect()
}

fn middle(runs: &[Measured]) -> f64 {
    let times = times(runs);
    median(&times.iter().map(Duration::as_secs_f64).collect::<Vec<_>>())
}

/// The largest of a figure in bytes.
fn most(runs: &[Measured], figure: impl Fn(&Measured) -> u64) -> String {
    mebibytes(runs.iter().map(figure).max().unwrap_or_default())
}
