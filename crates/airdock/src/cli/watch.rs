//! `airdock watch`: the agent.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::options::{FIRST, GlobalOptions, absolute};
use crate::agent::context::Context;
use crate::agent::first::First;
use crate::agent::{Agent, Mode};
use crate::config::{Distro, OnConflict, OnRemove, Policy, Source, WatchSettings};
use crate::exit::Exit;
use crate::output::Reporter;
use crate::store::Role;

#[derive(Debug, Args)]
pub(super) struct WatchOptions {
    /// Directories of bundles [default: the distribution's, or /var/lib/airdock/bundles]
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// Bring the store in step, and exit
    #[arg(long)]
    once: bool,
    /// How long a file must be left alone where its writer can't be asked for, in seconds
    #[arg(long, default_value = "10", value_parser = seconds, value_name = "SECONDS")]
    debounce: Duration,
    /// How often directories and store are looked at without any hint, in seconds
    #[arg(long, default_value = "60", value_parser = seconds, value_name = "SECONDS")]
    resync: Duration,
    /// What becomes of images that only a removed bundle held
    #[arg(long, value_enum, default_value_t)]
    on_remove: OnRemove,
    /// How long a removed bundle may come back before its images are released, in seconds
    #[arg(long, default_value = "60", value_parser = seconds, value_name = "SECONDS")]
    release_grace: Duration,
    /// What happens to a name that exists, points elsewhere and isn't ours
    #[arg(long, value_enum, default_value_t)]
    on_conflict: OnConflict,
    /// Where the agent remembers what it has done
    #[arg(
        long,
        default_value = "/var/lib/airdock",
        env = "AIRDOCK_STATE_DIR",
        value_name = "DIR"
    )]
    state_dir: PathBuf,
    /// MiB that must stay free where the store is
    #[arg(long, default_value_t = 0, value_name = "MIB")]
    reserve: u64,
    /// Names that are published before others in a bundle; * stands for any characters
    #[arg(long, value_name = "PATTERN", default_values = FIRST)]
    first: Vec<String>,
}

pub(super) async fn run(global: &GlobalOptions, options: WatchOptions) -> anyhow::Result<Exit> {
    let mode = if options.once {
        Mode::Once
    } else {
        Mode::Forever
    };
    let role = Role::Agent(absolute(options.state_dir.clone())?);
    let reserve = options.reserve.saturating_mul(1024 * 1024);
    let context = Context {
        store: global.open_store(&role)?,
        platform: global.matcher(),
        reserve,
        first: First::new(&options.first),
        reporter: Reporter::Log,
        cancel: stopped_by_signals(),
    };
    let settings = settings(global, options)?;
    let agent = Agent::new(settings, context, mode)?;
    Ok(agent.run().await?)
}

fn settings(global: &GlobalOptions, options: WatchOptions) -> anyhow::Result<WatchSettings> {
    let policy = Policy {
        on_remove: options.on_remove,
        on_conflict: options.on_conflict,
        release_grace: options.release_grace,
    };
    let mut directories = options.directories;
    if directories.is_empty() {
        let distro = global.distro.unwrap_or(Distro::Containerd);
        directories.push(distro.image_directory().to_owned());
    }
    // A directory that was named twice is watched once.
    let directories: BTreeSet<PathBuf> = directories
        .into_iter()
        .map(absolute)
        .collect::<anyhow::Result<_>>()?;
    let source = |directory| Source { directory, policy };
    Ok(WatchSettings {
        sources: directories.into_iter().map(source).collect(),
        debounce: options.debounce,
        resync: options.resync,
        state_directory: absolute(options.state_dir)?,
    })
}

fn seconds(typed: &str) -> Result<Duration, String> {
    let seconds: f64 = typed.parse().map_err(|_| "not a number".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// A token that SIGTERM and SIGINT cancel.
pub(super) fn stopped_by_signals() -> CancellationToken {
    let token = CancellationToken::new();
    let signals = [SignalKind::terminate(), SignalKind::interrupt()];
    for mut received in signals.into_iter().filter_map(|kind| signal(kind).ok()) {
        let token = token.clone();
        tokio::spawn(async move {
            received.recv().await;
            token.cancel();
        });
    }
    token
}
