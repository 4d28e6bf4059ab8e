//! `airdock watch`: the agent.

use std::path::Path;

use anyhow::Context as _;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::agent_options::AgentOptions;
use super::options::{GlobalOptions, absolute};
use super::reload::Reloader;
use crate::admin::metrics;
use crate::admin::server::{QUERIES, Query, Served, Server};
use crate::agent::context::Context;
use crate::agent::event::Event;
use crate::agent::patterns::Patterns;
use crate::agent::{Agent, Inbox, Mode};
use crate::config::{Settings, Socket, WatchSettings};
use crate::confine::{self, Landlock, Reach};
use crate::exit::Exit;
use crate::output::{Reporter, Shown};
use crate::store::Role;

/// The node's own list of groups.
const GROUPS: &str = "/etc/group";

#[derive(Debug, Args)]
pub(super) struct WatchOptions {
    #[command(flatten)]
    agent: AgentOptions,
    /// Bring the store in step, and exit
    #[arg(long)]
    once: bool,
    /// Whether the agent gives up the rest of the file system, as far as the kernel can: with off,
    /// bundles may be links to anywhere
    #[arg(long, value_enum, default_value_t, env = "AIRDOCK_LANDLOCK")]
    landlock: Landlock,
}

/// Gives up what the agent won't need; afterwards nothing else can be opened.
pub(super) fn confine(global: &GlobalOptions, options: &WatchOptions) -> anyhow::Result<()> {
    if options.landlock == Landlock::Off {
        return Ok(());
    }
    let settings = global.settings(|typed| options.agent.add_to(typed))?;
    let mut reach = Reach::new(&settings.watch).store(&settings.endpoint()?);
    if let Some(directory) = absolute(settings.socket.path)?.parent() {
        reach = reach.may_write(directory);
    }
    if settings.socket_group.is_some() {
        reach = reach.reads(Path::new(GROUPS));
    }
    if let Some(directory) = absolute(global.written().path.clone())?.parent() {
        reach = reach.reads(directory);
    }
    // Otherwise the agent can't start, and says why.
    if reach.is_whole() {
        confine::log(&reach, &reach.enter());
    }
    Ok(())
}

pub(super) async fn run(global: &GlobalOptions, options: WatchOptions) -> anyhow::Result<Exit> {
    let mode = if options.once {
        Mode::Once
    } else {
        Mode::Forever
    };
    let settings = global.settings(|typed| options.agent.add_to(typed))?;
    let role = Role::Agent(settings.watch.state_directory.clone());
    let context = Context {
        store: global.open_store(&role)?,
        platform: global.matcher(),
        reserve: settings.watch.reserve,
        first: Patterns::new(&settings.watch.first),
        unpack: Patterns::new(&settings.watch.unpack),
        reporter: Reporter::new(Shown::Log),
        cancel: stopped_by_signals(),
    };
    let group = settings.socket_group.as_deref().map(group_id).transpose()?;
    let (queries, asked) = mpsc::channel(QUERIES);
    let served = serve(&settings.socket, group, queries.clone(), &context.reporter).await?;
    if let Some(address) = settings.metrics {
        metrics::serve(address, queries, &context.reporter).await?;
    }
    let inbox = Inbox {
        queries: asked,
        reloads: reloads(mode, global, options.agent, &settings, &context.reporter),
    };
    let agent = Agent::new(settings.watch, context, mode, inbox)?;
    let exit = agent.run().await;
    drop(served);
    Ok(exit?)
}

/// An agent that works until all is done has no time for new settings.
fn reloads(
    mode: Mode,
    global: &GlobalOptions,
    agent: AgentOptions,
    settings: &Settings,
    reporter: &Reporter,
) -> mpsc::Receiver<WatchSettings> {
    if mode == Mode::Once {
        return mpsc::channel(1).1;
    }
    let reloader = Reloader {
        global: global.clone(),
        agent,
        settings: settings.clone(),
        reporter: reporter.clone(),
    };
    reloader.listen()
}

/// The status socket. One that was asked for must be had; the default one is done without.
async fn serve(
    socket: &Socket,
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

/// A group by its number, or by its name in the node's own list.
fn group_id(typed: &str) -> anyhow::Result<u32> {
    if let Ok(id) = typed.parse() {
        return Ok(id);
    }
    let groups = std::fs::read_to_string(GROUPS).context(GROUPS)?;
    let mut entries = groups.lines().map(|line| line.split(':'));
    let id = entries.find_map(|mut fields| {
        let name = fields.next()?;
        (name == typed).then(|| fields.nth(1)?.parse().ok())?
    });
    id.with_context(|| format!("no group {typed:?} in /etc/group; say its number"))
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
