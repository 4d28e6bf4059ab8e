//! `airdock images`: every name that a bundle holds.

use clap::Args;

use super::ask::AskOptions;
use super::options::GlobalOptions;
use crate::exit::Exit;
use crate::output::{self, Format, status as show};

#[derive(Debug, Args)]
pub(super) struct ImagesOptions {
    #[command(flatten)]
    ask: AskOptions,
}

pub(super) async fn run(global: &GlobalOptions, options: ImagesOptions) -> anyhow::Result<Exit> {
    let status = options.ask.status(global).await?;
    match global.output {
        Format::Json => output::json(&status.images),
        Format::Table => show::images(&status),
    }
    Ok(Exit::Success)
}
