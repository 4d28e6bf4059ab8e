//! From what was said to what is meant.

mod sources;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use airdock_bundle::platform::Platform;

use super::file::Written;
use super::settings::{Settings, Socket, WatchSettings};
use super::typed::{Given, Origin, Typed};
use super::{ConfigError, DEFAULT_NAMESPACE, Distro, StoreSpec};
use crate::admin::DEFAULT_SOCKET;

/// What is published first: no pod starts without them.
pub const FIRST: [&str; 3] = ["*/pause:*", "*/pause@*", "*cni*"];

const STATE_DIRECTORY: &str = "/var/lib/airdock";
/// Copying tools that pause for longer are rare, and a bundle that is taken too early is incomplete
/// and looked at again.
const DEBOUNCE: Duration = Duration::from_secs(10);
/// Only what nobody tells of waits for it, such as a label taken off a blob. With 3,000 names a look
/// costs us tens of milliseconds of processor time and the daemon hundreds.
const RESYNC: Duration = Duration::from_secs(300);
/// Enough to keep the store busy while one is being opened.
const CONCURRENCY: usize = 2;
/// More only wait for the store.
const MAX_CONCURRENCY: usize = 16;

const MIB: u64 = 1024 * 1024;

/// Resolves settings: what was typed wins over what is written, and that over the defaults.
pub fn resolve(typed: &Typed, written: &Written) -> Result<Settings, ConfigError> {
    let mut resolver = Resolver {
        typed,
        written,
        origins: BTreeMap::new(),
    };
    resolver.settings()
}

struct Resolver<'a> {
    typed: &'a Typed,
    written: &'a Written,
    origins: BTreeMap<String, Origin>,
}

impl Resolver<'_> {
    fn settings(&mut self) -> Result<Settings, ConfigError> {
        let (typed, written) = (&self.typed.layer, &self.written.layer);
        let distro = self.pick("distro", typed.distro, written.distro);
        let state_directory = self.state_directory()?;
        let socket = self.socket(&state_directory)?;
        Ok(Settings {
            store: self.store(),
            namespace: self
                .pick_text("namespace", &typed.namespace, &written.namespace)
                .unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned()),
            platform: self
                .pick("platform", typed.platform.clone(), written.platform.clone())
                .map_or_else(Platform::host, |platform| platform.0),
            socket,
            socket_group: self.pick_text(
                "socket_group",
                &typed.socket_group,
                &written.socket_group,
            ),
            metrics: self.pick("metrics", typed.metrics, written.metrics),
            log_format: self
                .pick("log.format", typed.log.format, written.log.format)
                .unwrap_or_default(),
            log_level: self
                .pick("log.level", typed.log.level, written.log.level)
                .unwrap_or_default(),
            watch: self.watch(distro, state_directory)?,
            distro,
            origins: std::mem::take(&mut self.origins),
        })
    }

    /// A distribution that was typed sets the socket, whatever the file says of the store.
    fn store(&mut self) -> Option<StoreSpec> {
        let (typed, written) = (&self.typed.layer, &self.written.layer);
        let written = written.store.clone().filter(|_| typed.distro.is_none());
        self.pick("store", typed.store.clone(), written)
    }

    fn state_directory(&mut self) -> Result<PathBuf, ConfigError> {
        let (typed, written) = (&self.typed.layer, &self.written.layer);
        let state = self.pick(
            "state_dir",
            typed.state_dir.clone(),
            written.state_dir.clone(),
        );
        self.absolute("state_dir", state.unwrap_or_else(|| STATE_DIRECTORY.into()))
    }

    /// Beside the state, unless that is where it is by default.
    fn socket(&mut self, state_directory: &Path) -> Result<Socket, ConfigError> {
        let (typed, written) = (&self.typed.layer, &self.written.layer);
        let socket = self.pick("socket", typed.socket.clone(), written.socket.clone());
        let asked_for = socket.is_some();
        let default = || match state_directory == Path::new(STATE_DIRECTORY) {
            true => PathBuf::from(DEFAULT_SOCKET),
            false => state_directory.join("airdock.sock"),
        };
        let path = self.absolute("socket", socket.unwrap_or_else(default))?;
        Ok(Socket { path, asked_for })
    }

    fn watch(
        &mut self,
        distro: Option<Distro>,
        state_directory: PathBuf,
    ) -> Result<WatchSettings, ConfigError> {
        let (typed, written) = (&self.typed.layer, &self.written.layer);
        let first = self.pick("first", typed.first.clone(), written.first.clone());
        let unpack = self.pick("unpack", typed.unpack.clone(), written.unpack.clone());
        let reserve = self.pick("reserve", typed.reserve, written.reserve);
        let debounce = self.pick("debounce", typed.debounce, written.debounce);
        let resync = self.pick("resync", typed.resync, written.resync);
        Ok(WatchSettings {
            first: first.unwrap_or_else(|| FIRST.map(str::to_owned).to_vec()),
            unpack: unpack.unwrap_or_default(),
            reserve: reserve.unwrap_or(0).saturating_mul(MIB),
            concurrency: self.concurrency()?,
            debounce: debounce.map_or(DEBOUNCE, |seconds| seconds.0),
            resync: resync.map_or(RESYNC, |seconds| seconds.0),
            sources: self.sources(distro)?,
            state_directory,
        })
    }

    fn concurrency(&mut self) -> Result<usize, ConfigError> {
        let (typed, written) = (&self.typed.layer, &self.written.layer);
        let concurrency = self.pick("concurrency", typed.concurrency, written.concurrency);
        let concurrency = concurrency.unwrap_or(CONCURRENCY);
        if !(1..=MAX_CONCURRENCY).contains(&concurrency) {
            let reason = format!("{concurrency} is not in 1 to {MAX_CONCURRENCY}");
            return Err(self.wrong("concurrency", reason));
        }
        Ok(concurrency)
    }

    fn pick_text(
        &mut self,
        key: &str,
        typed: &Option<String>,
        written: &Option<String>,
    ) -> Option<String> {
        self.pick(key, typed.clone(), written.clone())
    }

    /// What was said of a key, by whoever has the last word.
    fn pick<T>(&mut self, key: &str, typed: Option<T>, written: Option<T>) -> Option<T> {
        let origin = match (&typed, &written) {
            (Some(_), _) => Origin::Given(self.given(key)),
            (None, Some(_)) => self.in_file(key),
            (None, None) => Origin::Default,
        };
        self.origins.insert(key.to_owned(), origin);
        typed.or(written)
    }

    /// The flag or variable that stands for a key; one stands for a key of all sources.
    fn given(&self, key: &str) -> Given {
        let name = match key.strip_prefix("source.") {
            Some(rest) => rest.split_once('.').map_or(rest, |(_, name)| name),
            None => key,
        };
        let name = name.replace('.', "_");
        let given = self.typed.given.get(&name).cloned();
        given.unwrap_or(Given::Flag(name))
    }

    fn in_file(&self, key: &str) -> Origin {
        Origin::file(&self.written.path, self.written.lines.get(key))
    }

    /// What is typed is relative to the working directory; a file has none.
    fn absolute(&self, key: &str, path: PathBuf) -> Result<PathBuf, ConfigError> {
        let in_file = matches!(self.origins.get(key), Some(Origin::File(..)));
        if in_file && !path.is_absolute() {
            let reason = format!("{} is not an absolute path", path.display());
            return Err(self.wrong(key, reason));
        }
        std::path::absolute(&path).map_err(|error| self.wrong(key, error.to_string()))
    }

    fn wrong(&self, key: &str, reason: String) -> ConfigError {
        match self.origins.get(key) {
            Some(Origin::Given(given)) => ConfigError::Typed {
                given: given.to_string(),
                reason,
            },
            _ => ConfigError::Wrong {
                path: self.written.path.clone(),
                line: self.written.lines.get(key),
                key: super::lines::shown(key),
                reason,
            },
        }
    }
}

#[cfg(test)]
mod tests;
