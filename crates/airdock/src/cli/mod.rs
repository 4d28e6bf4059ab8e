//! The command line as it is typed. Each command is a file that resolves, acts and reports.

mod agent_options;
mod ask;
mod config;
mod diff;
mod doctor;
mod images;
mod images_of;
mod inspect;
mod load;
mod merge;
mod options;
mod pack;
mod plan;
mod pull_options;
mod reload;
mod source;
mod split;
mod status;
mod verify;
mod wait;
mod watch;
mod why;

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::admin::client::ClientError;
use crate::config::{ConfigError, Given};
use crate::exit::Exit;
use crate::{logging, memory, output};
use options::{GlobalArguments, GlobalOptions, given};

/// Keeps the container images of an air-gapped node in step with a directory of image bundles.
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "Exit status: 0 all done; 2 wrong command line or configuration; of a bundle: 3 partial, 4 unnamed, \
        5 empty, 6 incomplete, 7 refused, 8 unreadable, 11 lacks a required name; 9 store failed, \
        10 no space, 12 another agent has the state directory; of a question: 13 timeout, 14 no agent, \
        15 nothing watched has it, 16 failing; 130 interrupted, 1 anything else."
)]
struct Cli {
    #[command(flatten)]
    global: GlobalArguments,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Watches directories, and keeps the store in step with the bundles in them.
    Watch(watch::WatchOptions),
    /// Imports bundles now.
    Load(load::LoadOptions),
    /// Shows what bundles hold, and whether they can be imported.
    Inspect(inspect::InspectOptions),
    /// Reads everything in bundles, for every platform, and says what is damaged or lacking.
    Verify(verify::VerifyOptions),
    /// Makes a bundle of images from registries, bundles, layouts or a running containerd.
    Pack(pack::PackOptions),
    /// Writes several bundles as one.
    Merge(merge::MergeOptions),
    /// Writes a bundle in parts, each a bundle that fits on a medium.
    Split(split::SplitOptions),
    /// Shows what differs between bundles, directories and the store. Exits with 0 where nothing
    /// does, with 1 where something does, and with more when it can't tell.
    Diff(diff::DiffOptions),
    /// Shows what loading bundles would do to the store, without doing it.
    Plan(plan::PlanOptions),
    /// Shows what the agent does, and why.
    Status(status::StatusOptions),
    /// Lists every name that a bundle in a watched directory holds.
    Images(images::ImagesOptions),
    /// Prints the images that Kubernetes manifests, Helm's output or lists name.
    ImagesOf(images_of::ImagesOfOptions),
    /// Waits until what is on disk now is in the store, read back.
    Wait(wait::WaitOptions),
    /// Checks what could stand in the way on this node, and says how to mend it.
    Doctor(doctor::DoctorOptions),
    /// Tells whether an image is here, and why, or why not.
    Why(why::WhyOptions),
    /// Checks, shows and explains the settings.
    #[command(subcommand)]
    Config(config::ConfigOptions),
}

/// The command line, for manuals and completions.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs what was typed.
pub fn main() -> ExitCode {
    let matches = Cli::command().get_matches();
    let given = given(&Cli::command(), &matches);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    run(cli, given).unwrap_or_else(report).into()
}

fn run(cli: Cli, given: BTreeMap<String, Given>) -> anyhow::Result<Exit> {
    // A file that can't be used must not stand in the way of the command that says why.
    if let Command::Config(config::ConfigOptions::Check(options)) = &cli.command {
        return Ok(config::check(&cli.global, options));
    }
    let global = GlobalOptions::new(cli.global, given)?;
    logging::start(global.settings.log_format, global.settings.log_level);
    output::misspelt(global.written());
    match cli.command {
        Command::Inspect(options) => inspect::run(&global, &options),
        Command::Load(options) => runtime()?.block_on(load::run(&global, options)),
        Command::Pack(options) => runtime()?.block_on(pack::run(&global, options)),
        Command::Merge(options) => runtime()?.block_on(merge::run(&global, options)),
        Command::Split(options) => runtime()?.block_on(split::run(&global, options)),
        Command::Diff(options) => runtime()?.block_on(diff::run(&global, options)),
        Command::Plan(options) => runtime()?.block_on(plan::run(&global, options)),
        Command::Verify(options) => verify::run(&global, &options),
        Command::Status(options) => runtime()?.block_on(status::run(&global, options)),
        Command::Images(options) => runtime()?.block_on(images::run(&global, options)),
        Command::ImagesOf(options) => images_of::run(&global, &options),
        Command::Wait(options) => runtime()?.block_on(wait::run(&global, options)),
        Command::Doctor(options) => runtime()?.block_on(doctor::run(&global, options)),
        Command::Why(options) => runtime()?.block_on(why::run(&global, options)),
        Command::Watch(options) => {
            // Before there are other threads: each would have to do it for itself.
            watch::confine(&global, &options)?;
            memory::give_back();
            runtime()?.block_on(watch::run(&global, options))
        }
        Command::Config(options) => config::run(&global, &options),
    }
}

/// Two threads: the daemon is the bottleneck, and a node's cores belong to its pods.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    Ok(runtime)
}

fn report(error: anyhow::Error) -> Exit {
    if let Some(error) = error.downcast_ref::<crate::pack::PackError>() {
        output::note(&format!("airdock: {error}"));
        return error.exit();
    }
    output::note(&format!("airdock: {error:#}"));
    if let Some(error) = error.downcast_ref::<crate::store::StoreError>() {
        return error.exit();
    }
    if error.is::<ConfigError>() || error.is::<crate::pull::SettingsError>() {
        return Exit::Usage;
    }
    if let Some(ClientError::NoAgent { .. }) = error.downcast_ref::<ClientError>() {
        return Exit::NoAgent;
    }
    match error.downcast_ref::<crate::agent::ledger::LedgerError>() {
        Some(crate::agent::ledger::LedgerError::Busy { .. }) => Exit::Busy,
        _ => Exit::Failure,
    }
}

#[cfg(test)]
mod tests;
