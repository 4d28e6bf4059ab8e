//! `airdock status`: what the agent does, and why.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::ask::AskOptions;
use super::options::GlobalOptions;
use crate::admin::document::{BundleStatus, Status};
use crate::exit::Exit;
use crate::output::{self, Format, status as show};

/// How often a watched status is asked for anew.
const PERIOD: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(super) struct StatusOptions {
    /// One bundle, by its path or its file name [default: everything]
    #[arg(value_name = "BUNDLE")]
    bundle: Option<PathBuf>,
    /// Go on showing it, once a second
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    ask: AskOptions,
}

pub(super) async fn run(global: &GlobalOptions, options: StatusOptions) -> anyhow::Result<Exit> {
    loop {
        let status = options.ask.status(global).await?;
        if options.watch && global.output == Format::Table && io::stdout().is_terminal() {
            output::clear_screen();
        }
        let exit = match &options.bundle {
            None => show_all(global.output, &status),
            Some(bundle) => show_one(global.output, &status, bundle),
        };
        if !options.watch {
            return Ok(exit);
        }
        tokio::time::sleep(PERIOD).await;
    }
}

fn show_all(format: Format, status: &Status) -> Exit {
    match format {
        Format::Json => output::json(status),
        Format::Table => show::everything(status),
    }
    Exit::Success
}

fn show_one(format: Format, status: &Status, named: &std::path::Path) -> Exit {
    let Some(bundle) = find(status, named) else {
        output::note(&format!(
            "airdock: no bundle {} in {}",
            named.display(),
            show::directories(status)
        ));
        return Exit::NotHeld;
    };
    match format {
        Format::Json => output::json(bundle),
        Format::Table => show::one(bundle, status),
    }
    Exit::Success
}

/// By path, or by file name where that says enough.
pub(super) fn find<'a>(status: &'a Status, named: &std::path::Path) -> Option<&'a BundleStatus> {
    let absolute = std::path::absolute(named).unwrap_or_else(|_| named.to_owned());
    let by_path = status.bundles.iter().find(|bundle| bundle.path == absolute);
    let by_name = || {
        let mut same = status
            .bundles
            .iter()
            .filter(|bundle| bundle.path.file_name() == Some(named.as_os_str()));
        same.next().filter(|_| same.next().is_none())
    };
    by_path.or_else(by_name)
}
