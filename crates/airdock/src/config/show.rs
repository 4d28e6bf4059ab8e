//! Settings in the words of the file, each with where it comes from.

use super::file::{Layer, LogTable, SourceTable};
use super::key::Key;
use super::settings::{Settings, Source};
use super::value::{PlatformText, Seconds};

const MIB: u64 = 1024 * 1024;

/// One line of the effective settings.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Shown {
    /// `log.level`, `source.0.path`.
    pub key: String,
    /// As it would be written.
    pub value: toml::Value,
    /// Who said so.
    pub origin: String,
}

/// The effective settings, in the order of the file.
pub fn shown(settings: &Settings) -> Result<Vec<Shown>, toml::ser::Error> {
    let table = toml::Table::try_from(Layer::from(settings))?;
    let mut lines = Vec::new();
    add(settings, "", Layer::KEYS, &table, &mut lines);
    Ok(lines)
}

fn add(settings: &Settings, prefix: &str, keys: &[Key], table: &toml::Table, to: &mut Vec<Shown>) {
    for key in keys {
        let path = format!("{prefix}{}", key.name);
        match table.get(key.name) {
            None => {}
            Some(toml::Value::Table(inner)) => {
                add(settings, &format!("{path}."), LogTable::KEYS, inner, to);
            }
            Some(toml::Value::Array(items)) if path == "source" => {
                let tables = items.iter().filter_map(toml::Value::as_table).enumerate();
                for (index, inner) in tables {
                    let prefix = format!("{path}.{index}.");
                    add(settings, &prefix, SourceTable::KEYS, inner, to);
                }
            }
            Some(value) => to.push(Shown {
                origin: settings.origin(&path),
                value: value.clone(),
                key: path,
            }),
        }
    }
}

impl Settings {
    fn origin(&self, key: &str) -> String {
        let origin = self.origins.get(key);
        origin.map_or_else(|| "default".to_owned(), ToString::to_string)
    }
}

impl From<&Settings> for Layer {
    fn from(settings: &Settings) -> Self {
        let watch = &settings.watch;
        Self {
            store: settings.store.clone(),
            namespace: Some(settings.namespace.clone()),
            distro: settings.distro,
            platform: Some(PlatformText(settings.platform.clone())),
            first: Some(watch.first.clone()),
            unpack: Some(watch.unpack.clone()),
            reserve: Some(watch.reserve / MIB),
            concurrency: Some(watch.concurrency),
            debounce: Some(Seconds(watch.debounce)),
            resync: Some(Seconds(watch.resync)),
            state_dir: Some(watch.state_directory.clone()),
            socket: Some(settings.socket.path.clone()),
            socket_group: settings.socket_group.clone(),
            metrics: settings.metrics,
            log: LogTable {
                format: Some(settings.log_format),
                level: Some(settings.log_level),
            },
            source: watch.sources.iter().map(SourceTable::from).collect(),
        }
    }
}

impl From<&Source> for SourceTable {
    fn from(source: &Source) -> Self {
        Self {
            path: Some(source.directory.clone()),
            priority: Some(source.priority),
            recursive: Some(source.recursive),
            on_remove: Some(source.policy.on_remove),
            release_grace: Some(Seconds(source.policy.release_grace)),
            on_conflict: Some(source.policy.on_conflict),
            allow: Some(source.names.allow.clone()),
            deny: Some(source.names.deny.clone()),
            insecure_permissions: Some(source.insecure_permissions),
        }
    }
}
