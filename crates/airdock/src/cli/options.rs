//! Options that several commands share, and what they resolve to.

use std::path::PathBuf;
use std::time::Duration;

use airdock_bundle::platform::{Matcher, Platform};
use anyhow::Context as _;
use clap::Args;

use crate::config::{self, Distro, Endpoint, StoreSpec};
use crate::logging::{LogFormat, LogLevel};
use crate::output::Format;
use crate::store::{Role, Store};

/// What is published first: no pod starts without them.
pub(super) const FIRST: [&str; 3] = ["*/pause:*", "*/pause@*", "*cni*"];

/// What every command understands.
#[derive(Debug, Args)]
pub(super) struct GlobalOptions {
    /// Where images go: containerd, containerd:SOCKET, or oci:DIR for an OCI image layout
    /// directory. Without it, the one containerd socket that exists
    #[arg(long, global = true, value_name = "STORE", env = "AIRDOCK_STORE")]
    store: Option<StoreSpec>,
    /// Sets the socket, and the watched directory, to those of a distribution
    #[arg(long, global = true, value_enum, env = "AIRDOCK_DISTRO")]
    pub(super) distro: Option<Distro>,
    /// The containerd namespace [default: k8s.io]
    #[arg(long, global = true, env = "AIRDOCK_NAMESPACE")]
    namespace: Option<String>,
    /// The platform whose images are wanted, as OS/ARCHITECTURE[/VARIANT] [default: this machine's]
    #[arg(long, global = true, env = "AIRDOCK_PLATFORM", value_parser = Platform::parse)]
    platform: Option<Platform>,
    /// How results are printed
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    pub(super) output: Format,
    /// How log lines are written
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        env = "AIRDOCK_LOG_FORMAT"
    )]
    pub(super) log_format: LogFormat,
    /// The least important log lines that are written
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        env = "AIRDOCK_LOG_LEVEL"
    )]
    pub(super) log_level: LogLevel,
}

impl GlobalOptions {
    /// The store that is meant.
    pub(super) fn endpoint(&self) -> anyhow::Result<Endpoint> {
        let (store, namespace) = (self.store.clone(), self.namespace.clone());
        Ok(config::resolve(store, self.distro, namespace)?)
    }

    /// The store that is meant, opened.
    pub(super) fn open_store(&self, role: &Role) -> anyhow::Result<Store> {
        let endpoint = self.endpoint()?;
        Store::open(&endpoint, role).context("cannot open the store")
    }

    /// The platform that is meant.
    pub(super) fn matcher(&self) -> Matcher {
        Matcher::only(self.platform.clone().unwrap_or_else(Platform::host))
    }
}

/// A path that doesn't depend on the working directory: it becomes a label and a ledger key.
pub(super) fn absolute(path: PathBuf) -> anyhow::Result<PathBuf> {
    std::path::absolute(&path).with_context(|| path.display().to_string())
}

/// A duration as it is typed: seconds, with decimals where wanted.
pub(super) fn seconds(typed: &str) -> Result<Duration, String> {
    let seconds: f64 = typed.parse().map_err(|_| "not a number".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
