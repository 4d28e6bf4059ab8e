//! Options that several commands share, and what they resolve to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use airdock_bundle::platform::Matcher;
use anyhow::Context as _;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command};

use crate::config::{
    self, ConfigError, DEFAULT_PATH, Distro, Endpoint, Given, Layer, LogTable, PlatformText,
    Seconds, Settings, StoreSpec, Typed, Written,
};
use crate::logging::{LogFormat, LogLevel};
use crate::output::Format;
use crate::store::{Role, Store};

/// What every command understands, as it is typed.
#[derive(Clone, Debug, Args)]
pub(super) struct GlobalArguments {
    /// The configuration file [default: /etc/airdock/airdock.toml, if there is one]
    #[arg(long, global = true, value_name = "FILE", env = "AIRDOCK_CONFIG")]
    config: Option<PathBuf>,
    /// Where images go: containerd, containerd:SOCKET, or oci:DIR for an OCI image layout
    /// directory. Without it, the one containerd socket that exists
    #[arg(long, global = true, value_name = "STORE", env = "AIRDOCK_STORE")]
    store: Option<StoreSpec>,
    /// Sets the socket, and the watched directory, to those of a distribution
    #[arg(long, global = true, value_enum, env = "AIRDOCK_DISTRO")]
    distro: Option<Distro>,
    /// The containerd namespace [default: k8s.io]
    #[arg(long, global = true, env = "AIRDOCK_NAMESPACE")]
    namespace: Option<String>,
    /// The platform whose images are wanted, as OS/ARCHITECTURE[/VARIANT] [default: this machine's]
    #[arg(long, global = true, env = "AIRDOCK_PLATFORM")]
    platform: Option<PlatformText>,
    /// How results are printed
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    output: Format,
    /// How log lines are written [default: logfmt]
    #[arg(long, global = true, value_enum, env = "AIRDOCK_LOG_FORMAT")]
    log_format: Option<LogFormat>,
    /// The least important log lines that are written [default: info]
    #[arg(long, global = true, value_enum, env = "AIRDOCK_LOG_LEVEL")]
    log_level: Option<LogLevel>,
}

impl GlobalArguments {
    fn typed(&self, given: BTreeMap<String, Given>) -> Typed {
        let layer = Layer {
            store: self.store.clone(),
            distro: self.distro,
            namespace: self.namespace.clone(),
            platform: self.platform.clone(),
            log: LogTable {
                format: self.log_format,
                level: self.log_level,
            },
            ..Layer::default()
        };
        Typed {
            layer,
            given,
            ..Typed::default()
        }
    }

    /// The file that is meant, whether there is one or not.
    pub(super) fn config_path(&self) -> PathBuf {
        let default = || PathBuf::from(DEFAULT_PATH);
        self.config.clone().unwrap_or_else(default)
    }

    fn written(&self) -> Result<Written, ConfigError> {
        match &self.config {
            Some(path) => Written::read(path),
            None => Written::read_default(Path::new(DEFAULT_PATH)),
        }
    }
}

/// What every command needs, resolved.
#[derive(Clone, Debug)]
pub(super) struct GlobalOptions {
    /// How results are printed.
    pub(super) output: Format,
    /// The settings that don't depend on the command.
    pub(super) settings: Settings,
    arguments: GlobalArguments,
    typed: Typed,
    written: Written,
}

impl GlobalOptions {
    /// Reads the file, and resolves what holds for every command.
    pub(super) fn new(
        arguments: GlobalArguments,
        given: BTreeMap<String, Given>,
    ) -> Result<Self, ConfigError> {
        let written = arguments.written()?;
        let typed = arguments.typed(given);
        Ok(Self {
            output: arguments.output,
            settings: config::resolve(&typed, &written)?,
            arguments,
            typed,
            written,
        })
    }

    /// The settings with what the command adds to what was typed.
    pub(super) fn settings(
        &self,
        command: impl FnOnce(&mut Typed),
    ) -> Result<Settings, ConfigError> {
        let mut typed = self.typed.clone();
        command(&mut typed);
        config::resolve(&typed, &self.written)
    }

    /// The same with the file as it is now.
    pub(super) fn read_anew(&self) -> Result<Self, ConfigError> {
        Self::new(self.arguments.clone(), self.typed.given.clone())
    }

    /// The file, as it was read.
    pub(super) fn written(&self) -> &Written {
        &self.written
    }

    /// The store that is meant.
    pub(super) fn endpoint(&self) -> anyhow::Result<Endpoint> {
        Ok(self.settings.endpoint()?)
    }

    /// The store that is meant, opened.
    pub(super) fn open_store(&self, role: &Role) -> anyhow::Result<Store> {
        let endpoint = self.endpoint()?;
        Store::open(&endpoint, role).context("cannot open the store")
    }

    /// The platform that is meant.
    pub(super) fn matcher(&self) -> Matcher {
        Matcher::only(self.settings.platform.clone())
    }
}

/// Which arguments of a command somebody gave, and how: on the command line or in a variable.
pub(super) fn given(command: &Command, matches: &ArgMatches) -> BTreeMap<String, Given> {
    let (command, matches) = innermost(command, matches);
    let how = |argument: &Arg| {
        let id = argument.get_id().as_str();
        match matches.value_source(id)? {
            ValueSource::CommandLine => Some(Given::Flag(flag(argument))),
            ValueSource::EnvVariable => {
                let variable = argument.get_env()?.to_string_lossy().into_owned();
                Some(Given::Variable(variable))
            }
            _ => None,
        }
    };
    let arguments = command.get_arguments();
    arguments
        .filter_map(|argument| Some((argument.get_id().to_string(), how(argument)?)))
        .collect()
}

fn innermost<'a>(command: &'a Command, matches: &'a ArgMatches) -> (&'a Command, &'a ArgMatches) {
    let inner = matches.subcommand();
    match inner.and_then(|(name, inner)| Some((command.find_subcommand(name)?, inner))) {
        Some((command, matches)) => innermost(command, matches),
        None => (command, matches),
    }
}

fn flag(argument: &Arg) -> String {
    match argument.get_long() {
        Some(long) => format!("--{long}"),
        None => "command line".to_owned(),
    }
}

/// A path that doesn't depend on the working directory: it becomes a label and a ledger key.
pub(super) fn absolute(path: PathBuf) -> anyhow::Result<PathBuf> {
    std::path::absolute(&path).with_context(|| path.display().to_string())
}

/// A duration as it is typed: seconds, with decimals where wanted.
pub(super) fn seconds(typed: &str) -> Result<Duration, String> {
    typed.parse().map(|Seconds(time)| time)
}
