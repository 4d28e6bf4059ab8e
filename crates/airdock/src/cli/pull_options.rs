//! How registries are asked, as it is typed.

use std::path::PathBuf;

use clap::Args;

use crate::pack::origin::registry::RegistryOrigin;
use crate::pull::{Hosts, JOBS, Mirror, RETRIES, Registries, Settings, SettingsError};

#[derive(Debug, Args)]
#[command(next_help_heading = "Registries")]
pub(super) struct PullOptions {
    /// Speak plain http to this registry; without HOST to every one that is named
    #[arg(
        long,
        value_name = "HOST[:PORT]",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "*"
    )]
    plain_http: Vec<String>,
    /// Don't check who this registry is; without HOST none of them
    #[arg(
        long,
        value_name = "HOST[:PORT]",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "*"
    )]
    insecure_skip_tls_verify: Vec<String>,
    /// A PEM file with CAs that are trusted beside the system's
    #[arg(long, value_name = "FILE")]
    ca_file: Vec<PathBuf>,
    /// Ask MIRROR before HOST, as in docker.io=mirror.example:5000/hub
    #[arg(long, value_name = "HOST=MIRROR")]
    mirror: Vec<Mirror>,
    /// Blobs fetched at a time
    #[arg(long, value_name = "COUNT", default_value_t = JOBS)]
    jobs: usize,
    /// How often something that may pass is tried again
    #[arg(long, value_name = "COUNT", default_value_t = RETRIES)]
    retries: u32,
    /// Where blobs are kept, so that an interrupted run goes on
    /// [default: $XDG_CACHE_HOME/airdock or ~/.cache/airdock]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

impl PullOptions {
    /// All registries, asked as was typed.
    pub(super) fn open(&self) -> Result<RegistryOrigin, SettingsError> {
        let stopped = super::watch::stopped_by_signals();
        let registries = Registries::new(self.settings()?, stopped)?;
        Ok(RegistryOrigin::new(registries, self.jobs))
    }

    fn settings(&self) -> Result<Settings, SettingsError> {
        let settings = match &self.cache {
            Some(cache) => Settings::with_cache(cache.clone()),
            None => Settings::new()?,
        };
        Ok(Settings {
            plain_http: Hosts::from_given(&self.plain_http),
            skip_tls_verify: Hosts::from_given(&self.insecure_skip_tls_verify),
            ca_files: self.ca_file.clone(),
            mirrors: self.mirror.clone(),
            retries: self.retries,
            ..settings
        })
    }
}
