//! `cargo xtask soak`: an agent that never gets any rest, and whether anything of it grows.
//!
//! Bundles come, are replaced, damaged and removed, and others remove names, all the time and at
//! random. The directory's size stays about the same, so that whatever is more in the last quarter
//! of the time than in the first is a leak. At the end the directory is emptied: then nothing may be
//! left in the store or in the agent's memory of it.

mod churn;
mod dice;
mod figures;
mod room;
mod sample;

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use airdock_testkit::Version;
use anyhow::bail;
use clap::Args;

use crate::release;
use crate::shell::{say, step};
use churn::Churn;
use figures::Figures;
use room::Room;
use sample::Sample;

/// Between two samples: a hundred or so in a quarter of half an hour.
const EVERY: Duration = Duration::from_secs(4);

/// Before the first sample: caches and pools of connections fill once.
const WARM_UP: Duration = Duration::from_secs(20);

/// What is run, and for how long.
#[derive(Debug, Args)]
pub(crate) struct SoakOptions {
    /// For how long
    #[arg(long, default_value_t = 30, value_name = "N")]
    minutes: u64,
    /// On this containerd: 1.6, 1.7 or 2.1
    #[arg(long, default_value = "2.1", value_name = "RELEASE")]
    daemon: String,
    /// Where the choices start
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
}

/// Runs it, and prints what was measured; growth is a failure.
pub(crate) fn run(options: &SoakOptions) -> anyhow::Result<ExitCode> {
    let version = version(&options.daemon)?;
    let airdock = step("release binary", || {
        release::compile(&["--package=airdock"])
    })?;
    let mut room = Room::prepare(&airdock, version)?;
    let mut churn = Churn::new(options.seed);
    let whole = Duration::from_secs(options.minutes * 60);
    let samples = step("soak", || soak(&mut room, &mut churn, whole))?;
    let rest = step("rest", || room.comes_to_rest())?;
    let figures = Figures::of(&samples, &rest);
    say(&format!(
        "containerd {version}, {} minutes, seed {}: {churn}; {}",
        options.minutes,
        options.seed,
        room.told()
    ));
    say(&figures.to_string());
    let grown = figures.grown();
    for figure in &grown {
        say(&format!("FAILED: {figure} grew"));
    }
    Ok(match grown.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Things happen one after the other, as fast as a directory is written; now and then it is looked
/// what the agent takes.
fn soak(room: &mut Room, churn: &mut Churn, whole: Duration) -> anyhow::Result<Vec<Sample>> {
    let begun = Instant::now();
    let mut next = begun + WARM_UP.min(whole / 4);
    let mut samples = Vec::new();
    while begun.elapsed() < whole {
        churn.act(room)?;
        thread::sleep(churn.pause());
        if Instant::now() >= next {
            samples.push(Sample::of(room)?);
            next += EVERY;
        }
    }
    Ok(samples)
}

fn version(text: &str) -> anyhow::Result<Version> {
    let found = Version::ALL.into_iter().find(|v| v.as_str() == text);
    match found {
        Some(version) => Ok(version),
        None => bail!("no release {text} is served: 1.6, 1.7 or 2.1"),
    }
}
