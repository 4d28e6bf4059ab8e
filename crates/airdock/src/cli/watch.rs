//! `airdock watch`: the agent.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::options::{FIRST, GlobalOptions, absolute, seconds};
use crate::admin::DEFAULT_SOCKET;
use crate::admin::metrics;
use crate::admin::server::{QUERIES, Query, Served, Server};
use crate::agent::context::Context;
use crate::agent::event::Event;
use crate::agent::first::First;
use crate::agent::{Agent, Mode};
use crate::config::{Distro, OnConflict, OnRemove, Policy, Source, WatchSettings};
use crate::exit::Exit;
use crate::output::{Reporter, Shown};
use crate::store::Role;

const DEFAULT_STATE_DIR: &str = "/var/lib/airdock";

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
        default_value = DEFAULT_STATE_DIR,
        env = "AIRDOCK_STATE_DIR",
        value_name = "DIR"
    )]
    state_dir: PathBuf,
    /// Where the agent answers questions [default: /run/airdock/airdock.sock, or airdock.sock in
    /// another state directory than the default]
    #[arg(long, env = "AIRDOCK_SOCKET", value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Who may ask besides root
    #[arg(long, value_name = "GROUP")]
    socket_group: Option<String>,
    /// Serve metrics and health there, as 127.0.0.1:PORT [default: not at all]
    #[arg(long, env = "AIRDOCK_METRICS", value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
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
        reporter: Reporter::new(Shown::Log),
        cancel: stopped_by_signals(),
    };
    let socket = options.socket();
    let group = options.socket_group.as_deref().map(group_id).transpose()?;
    let metrics = options.metrics;
    let settings = settings(global, options)?;
    let (queries, asked) = mpsc::channel(QUERIES);
    let served = serve(socket, group, queries.clone(), &context.reporter).await?;
    if let Some(address) = metrics {
        metrics::serve(address, queries, &context.reporter).await?;
    }
    let agent = Agent::new(settings, context, mode, asked)?;
    let exit = agent.run().await;
    drop(served);
    Ok(exit?)
}

/// The status socket. One that was asked for must be had; the default one is done without.
async fn serve(
    socket: Socket,
    group: Option<u32>,
    queries: mpsc::Sender<Query>,
    reporter: &Reporter,
) -> anyhow::Result<Option<Served>> {
    match (Server::bind(&socket.path, group).await, socket.asked_for) {
        (Ok(server), _) => Ok(Some(server.serve(queries, reporter.clone()))),
        (Err(error), true) => Err(error.into()),
        (Err(error), false) => {
            let reason = error.to_string();
            reporter.report(&Event::NoStatusSocket { reason });
            Ok(None)
        }
    }
}

struct Socket {
    path: PathBuf,
    asked_for: bool,
}

impl WatchOptions {
    /// Beside the state, unless that is where it is by default.
    fn socket(&self) -> Socket {
        let default = Path::new(DEFAULT_STATE_DIR) == self.state_dir;
        let beside = || match default {
            true => PathBuf::from(DEFAULT_SOCKET),
            false => self.state_dir.join("airdock.sock"),
        };
        Socket {
            path: self.socket.clone().unwrap_or_else(beside),
            asked_for: self.socket.is_some(),
        }
    }
}

/// A group by its number, or by its name in the node's own list.
fn group_id(typed: &str) -> anyhow::Result<u32> {
    if let Ok(id) = typed.parse() {
        return Ok(id);
    }
    let groups = std::fs::read_to_string("/etc/group").context("/etc/group")?;
    let mut entries = groups.lines().map(|line| line.split(':'));
    let id = entries.find_map(|mut fields| {
        let name = fields.next()?;
        (name == typed).then(|| fields.nth(1)?.parse().ok())?
    });
    id.with_context(|| format!("no group {typed:?} in /etc/group; say its number"))
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
