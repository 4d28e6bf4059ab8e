//! The command line as it is typed. Each command is a file that resolves, acts and reports.

mod inspect;
mod load;
mod options;
mod plan;
mod verify;
mod watch;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::exit::Exit;
use crate::{logging, output};
use options::GlobalOptions;

/// Keeps the container images of an air-gapped node in step with a directory of image bundles.
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "Exit status: 0 all done; 2 wrong command line; of a bundle: 3 partial, 4 unnamed, \
        5 empty, 6 incomplete, 7 refused, 8 unreadable, 11 lacks a required name; 9 store failed, \
        10 no space, 12 another agent has the state directory, 130 interrupted, 1 anything else."
)]
struct Cli {
    #[command(flatten)]
    global: GlobalOptions,
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
    /// Shows what loading bundles would do to the store, without doing it.
    Plan(plan::PlanOptions),
}

/// Runs what was typed.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    logging::start(cli.global.log_format, cli.global.log_level);
    run(cli).unwrap_or_else(report).into()
}

fn run(cli: Cli) -> anyhow::Result<Exit> {
    let Cli { global, command } = cli;
    match command {
        Command::Inspect(options) => inspect::run(&global, &options),
        Command::Load(options) => runtime()?.block_on(load::run(&global, options)),
        Command::Plan(options) => runtime()?.block_on(plan::run(&global, options)),
        Command::Verify(options) => verify::run(&global, &options),
        Command::Watch(options) => runtime()?.block_on(watch::run(&global, options)),
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
    output::note(&format!("airdock: {error:#}"));
    if let Some(error) = error.downcast_ref::<crate::store::StoreError>() {
        return error.exit();
    }
    match error.downcast_ref::<crate::agent::ledger::LedgerError>() {
        Some(crate::agent::ledger::LedgerError::Busy { .. }) => Exit::Busy,
        _ => Exit::Failure,
    }
}
