//! Which directories are watched, and how each is treated.

use std::path::PathBuf;
use std::time::Duration;

use super::Resolver;
use crate::config::file::SourceTable;
use crate::config::typed::Origin;
use crate::config::{ConfigError, Distro, NameFilter, Policy, Source};

/// Enough to replace a bundle by removing and copying it.
const RELEASE_GRACE: Duration = Duration::from_secs(60);

impl Resolver<'_> {
    /// Directories that were typed take the place of those in the file; what the file says of one
    /// of them still holds for it.
    pub(super) fn sources(&mut self, distro: Option<Distro>) -> Result<Vec<Source>, ConfigError> {
        let (typed, written) = (&self.typed.directories, &self.written.layer.source);
        let sources = match (typed.is_empty(), written.is_empty()) {
            (false, _) => self.typed_sources(typed)?,
            (true, false) => self.written_sources(written)?,
            (true, true) => vec![self.default_source(distro)],
        };
        self.keep_apart(&sources)?;
        Ok(sources)
    }

    fn typed_sources(&mut self, directories: &[PathBuf]) -> Result<Vec<Source>, ConfigError> {
        let mut sources: Vec<Source> = Vec::new();
        for directory in directories {
            let key = format!("source.{}.path", sources.len());
            let origin = Origin::Given(self.given("directories"));
            self.origins.insert(key.clone(), origin);
            let directory = self.absolute(&key, directory.clone())?;
            // A directory that was named twice is watched once.
            if !sources.iter().any(|s| s.directory == directory) {
                sources.push(self.source(sources.len(), directory));
            }
        }
        Ok(sources)
    }

    fn written_sources(&mut self, tables: &[SourceTable]) -> Result<Vec<Source>, ConfigError> {
        let mut sources = Vec::new();
        for (index, table) in tables.iter().enumerate() {
            let key = format!("source.{index}.path");
            self.origins.insert(key.clone(), self.in_file(&key));
            let Some(directory) = table.path.clone() else {
                return Err(self.wrong(&key, "it is missing".to_owned()));
            };
            let directory = self.absolute(&key, directory)?;
            sources.push(self.source(index, directory));
        }
        Ok(sources)
    }

    fn default_source(&mut self, distro: Option<Distro>) -> Source {
        let origin = self.origins.get("distro").cloned();
        let origin = origin.unwrap_or(Origin::Default);
        self.origins.insert("source.0.path".to_owned(), origin);
        let distro = distro.unwrap_or(Distro::Containerd);
        self.source(0, distro.image_directory().to_owned())
    }

    fn source(&mut self, index: usize, directory: PathBuf) -> Source {
        let typed = self.typed.layer.source.first().cloned().unwrap_or_default();
        let mut tables = self.written.layer.source.iter().enumerate();
        let table = tables.find(|(_, table)| table.path.as_ref() == Some(&directory));
        let (table, written) = table.map_or((index, SourceTable::default()), |(at, table)| {
            (at, table.clone())
        });
        let mut at = At {
            resolver: self,
            index,
            table,
        };
        let grace = at.pick("release_grace", typed.release_grace, written.release_grace);
        Source {
            directory,
            priority: at.or_default("priority", typed.priority, written.priority),
            recursive: at.or_default("recursive", typed.recursive, written.recursive),
            names: NameFilter {
                allow: at.or_default("allow", typed.allow, written.allow),
                deny: at.or_default("deny", typed.deny, written.deny),
            },
            insecure_permissions: at.or_default(
                "insecure_permissions",
                typed.insecure_permissions,
                written.insecure_permissions,
            ),
            policy: Policy {
                on_remove: at.or_default("on_remove", typed.on_remove, written.on_remove),
                on_conflict: at.or_default("on_conflict", typed.on_conflict, written.on_conflict),
                release_grace: grace.map_or(RELEASE_GRACE, |seconds| seconds.0),
            },
        }
    }

    /// A bundle stands in one source: no source is another, or within one that is looked into.
    fn keep_apart(&self, sources: &[Source]) -> Result<(), ConfigError> {
        for (index, source) in sources.iter().enumerate() {
            let covers = |(other, outer): &(usize, &Source)| {
                let same = *other < index && outer.directory == source.directory;
                let within = outer.recursive && source.directory.starts_with(&outer.directory);
                same || (*other != index && within)
            };
            if let Some((_, outer)) = sources.iter().enumerate().find(covers) {
                let reason = format!("{} is watched already", outer.directory.display());
                return Err(self.wrong(&format!("source.{index}.path"), reason));
            }
        }
        Ok(())
    }
}

/// One of several sources, and the table of the file that speaks of it.
struct At<'a, 'b> {
    resolver: &'a mut Resolver<'b>,
    index: usize,
    table: usize,
}

impl At<'_, '_> {
    fn or_default<T: Default>(&mut self, key: &str, typed: Option<T>, written: Option<T>) -> T {
        self.pick(key, typed, written).unwrap_or_default()
    }

    fn pick<T>(&mut self, key: &str, typed: Option<T>, written: Option<T>) -> Option<T> {
        let own = format!("source.{}.{key}", self.index);
        let from_file = typed.is_none() && written.is_some();
        let picked = self.resolver.pick(&own, typed, written);
        if from_file {
            let origin = self
                .resolver
                .in_file(&format!("source.{}.{key}", self.table));
            self.resolver.origins.insert(own, origin);
        }
        picked
    }
}
