//! `airdock config`: the settings, checked, shown and explained.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::agent_options::AgentOptions;
use super::options::{GlobalArguments, GlobalOptions};
use crate::config::{self, ConfigError, Typed, Written};
use crate::exit::Exit;
use crate::output::{self, Format};

#[derive(Debug, Subcommand)]
pub(super) enum ConfigOptions {
    /// Says whether a configuration file can be used, and which of its keys mean nothing.
    Check(CheckOptions),
    /// Shows the settings that the agent would use, and where each comes from.
    Show(Box<ShowOptions>),
    /// Prints an annotated example file, with every key and its default.
    Example,
}

#[derive(Debug, Args)]
pub(super) struct CheckOptions {
    /// The file [default: that of --config, or /etc/airdock/airdock.toml]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct ShowOptions {
    #[command(flatten)]
    agent: AgentOptions,
}

/// Checks a file by itself: what is typed or stands in variables doesn't mend it.
pub(super) fn check(global: &GlobalArguments, options: &CheckOptions) -> Exit {
    let path = options.file.clone().unwrap_or_else(|| global.config_path());
    match understand(&path) {
        Ok(written) => {
            for unknown in written.warnings() {
                output::line(&unknown);
            }
            output::line(&format!("{}: can be used", path.display()));
            Exit::Success
        }
        Err(error) => {
            output::note(&format!("airdock: {error}"));
            Exit::Usage
        }
    }
}

fn understand(path: &std::path::Path) -> Result<Written, ConfigError> {
    let written = Written::read(path)?;
    config::resolve(&Typed::default(), &written)?;
    Ok(written)
}

pub(super) fn run(global: &GlobalOptions, options: &ConfigOptions) -> anyhow::Result<Exit> {
    match options {
        ConfigOptions::Check(_) => {}
        ConfigOptions::Show(options) => show(global, options)?,
        ConfigOptions::Example => output::text(&config::example()?),
    }
    Ok(Exit::Success)
}

fn show(global: &GlobalOptions, options: &ShowOptions) -> anyhow::Result<()> {
    let settings = global.settings(|typed| options.agent.add_to(typed))?;
    let shown = config::shown(&settings)?;
    match global.output {
        Format::Json => output::json(&shown),
        Format::Table => output::settings::print(&shown),
    }
    Ok(())
}
