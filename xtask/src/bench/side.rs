//! The programs that are compared, each bringing the same bundle to a daemon.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use airdock_testkit::containerd::Installed;
use airdock_testkit::{Daemon, Version, daemon};
use anyhow::Context as _;
use serde_json::Value;

use super::Bench;
use super::bundles::{Made, Name};
use super::measure::{self, Measured};

/// Connections of the bare writer: more didn't help on two cores.
const PUSH_CONNECTIONS: &str = "4";

/// Who brings a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// `airdock load`.
    Airdock,
    /// `ctr images import`: the code that k0s and k3s run.
    Stock,
    /// The bundle's blobs, as fast as they can be written, and nothing else.
    Push,
}

impl Side {
    /// Brings a bundle.
    pub(super) fn bring(
        self,
        bench: &Bench,
        daemon: &Daemon,
        bundle: Name,
    ) -> anyhow::Result<Measured> {
        let made = bench.bundles.get(bundle)?;
        match self {
            Self::Airdock => measure::run(&mut airdock(bench, daemon, &made.path)),
            Self::Stock => match bundle.decompressor() {
                None => measure::run(stock(daemon)?.arg(&made.path)),
                Some(program) => {
                    let mut feeder = Command::new(program);
                    feeder.arg("-dc").arg(&made.path);
                    measure::run_piped(&mut feeder, stock(daemon)?.arg("-"))
                }
            },
            Self::Push => measure::run(&mut push(bench, daemon, &made)?),
        }
    }

    /// Bytes that were sent: by its own account, else all that it wrote.
    pub(super) fn sent(self, measured: &Measured) -> u64 {
        let report = match self {
            Self::Airdock => serde_json::from_str(&measured.stdout).unwrap_or_default(),
            Self::Stock | Self::Push => Value::Null,
        };
        let told = report.get("bytes_sent").and_then(Value::as_u64);
        told.unwrap_or(measured.io.written)
    }
}

fn airdock(bench: &Bench, daemon: &Daemon, bundle: &Path) -> Command {
    let mut command = Command::new(&bench.airdock);
    command.arg(store(daemon)).args(["load", "--output=json"]);
    command.arg(bundle);
    command
}

/// The option that names a daemon.
pub(super) fn store(daemon: &Daemon) -> String {
    format!("--store=containerd:{}", daemon.socket().display())
}

fn stock(daemon: &Daemon) -> anyhow::Result<Command> {
    let installed = Installed::find(daemon.version()).context("no containerd")?;
    let mut command = Command::new(installed.bin.join("ctr"));
    command.arg("--address").arg(daemon.socket());
    command.args(["--namespace", daemon::NAMESPACE, "images", "import"]);
    command.arg("--no-unpack");
    if daemon.version() == Version::V2_1 {
        // Without it ctr 2 hands the archive to the daemon's transfer service.
        command.arg("--local");
    }
    Ok(command)
}

fn push(bench: &Bench, daemon: &Daemon, made: &Made) -> anyhow::Result<Command> {
    let mut command = Command::new(&bench.push);
    command.arg(daemon.socket()).arg(daemon::NAMESPACE);
    command.arg(&made.path).arg(PUSH_CONNECTIONS);
    command.stdin(File::open(&made.blobs)?);
    Ok(command)
}
