//! `airdock doctor`: what could stand in the way on this node.

use std::path::PathBuf;

use clap::Args;
use comfy_table::{Cell, Color, Table, presets};

use super::options::GlobalOptions;
use crate::doctor::{Finding, Level, examine};
use crate::exit::Exit;
use crate::output::{self, Format};

#[derive(Debug, Args)]
pub(super) struct DoctorOptions {
    /// Directories of bundles [default: those that the agent watches]
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// Where the agent answers [default: /run/airdock/airdock.sock]
    #[arg(long, env = "AIRDOCK_SOCKET", value_name = "PATH")]
    socket: Option<PathBuf>,
}

pub(super) async fn run(global: &GlobalOptions, options: DoctorOptions) -> anyhow::Result<Exit> {
    let settings = global.settings(|typed| {
        typed.directories = options.directories;
        typed.layer.socket = options.socket;
    })?;
    let findings = examine(&settings).await;
    match global.output {
        Format::Json => output::json(&findings),
        Format::Table => print(&findings),
    }
    let worst = findings.iter().map(|finding| finding.level).max();
    Ok(match worst {
        Some(Level::Error) => Exit::Failure,
        _ => Exit::Success,
    })
}

fn print(findings: &[Finding]) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for finding in findings {
        let color = match finding.level {
            Level::Ok => Color::Green,
            Level::Warning => Color::Yellow,
            Level::Error => Color::Red,
        };
        table.add_row([
            Cell::new(finding.level.as_str()).fg(color),
            Cell::new(finding.check),
            Cell::new(&finding.found),
        ]);
    }
    output::line(&table.trim_fmt());
    for finding in findings {
        if let Some(mend) = &finding.mend {
            output::line(&format!("{}: {mend}", finding.check));
        }
    }
}
