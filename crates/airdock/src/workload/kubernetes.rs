//! Images that Kubernetes manifests name.
//!
//! A pod template is known by its lists of containers, whatever resource it stands in: so those of
//! workloads, of cron jobs, of lists and of operators' resources are found alike.

use std::collections::BTreeSet;

use airdock_bundle::escape::escaped;
use airdock_bundle::name::Name;

use super::yaml::{self, Value};
use super::{Fields, WorkloadError};

/// The lists of containers of a pod.
const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// The names in all documents.
pub(super) fn names(text: &str, fields: Fields) -> Result<BTreeSet<Name>, WorkloadError> {
    let mut walk = Walk {
        fields,
        names: BTreeSet::new(),
        values: 0,
    };
    for document in yaml::documents(text)? {
        walk.document(&document)?;
    }
    Ok(walk.names)
}

struct Walk {
    fields: Fields,
    names: BTreeSet<Name>,
    /// Met so far: what an alias repeats is met each time.
    values: usize,
}

impl Walk {
    fn document(&mut self, document: &Value) -> Result<(), WorkloadError> {
        let title = title(document);
        if let Value::List(values) = document
            && values.iter().all(|value| value.text().is_some())
        {
            let mut texts = values.iter().filter_map(|value| value.text());
            return texts.try_for_each(|text| self.name(text, &title));
        }
        self.value(document, &title)
    }

    fn value(&mut self, value: &Value, title: &str) -> Result<(), WorkloadError> {
        self.values += 1;
        if self.values > yaml::VALUES {
            return Err(WorkloadError::TooMuch { line: 1 });
        }
        match value {
            Value::Null | Value::Text(_) => Ok(()),
            Value::List(values) => values
                .iter()
                .try_for_each(|value| self.value(value, &nested(value, title))),
            Value::Map(pairs) => {
                if self.fields == Fields::Every {
                    self.field(value);
                }
                for (key, value) in pairs {
                    self.pair(key, value, title)?;
                    self.value(value, title)?;
                }
                Ok(())
            }
        }
    }

    fn pair(&mut self, key: &str, value: &Value, title: &str) -> Result<(), WorkloadError> {
        let Value::List(values) = value else {
            return Ok(());
        };
        for value in values {
            let image = match key {
                "volumes" => value.get("image").and_then(|image| image.get("reference")),
                key if CONTAINERS.contains(&key) => value.get("image"),
                _ => None,
            };
            let name = value.get("name").and_then(Value::text).unwrap_or("?");
            if let Some(image) = image.and_then(Value::text) {
                self.name(image, &format!("{title}, {key} {}", escaped(name)))?;
            }
        }
        Ok(())
    }

    fn name(&mut self, given: &str, place: &str) -> Result<(), WorkloadError> {
        let given = given.trim();
        if given.is_empty() {
            return Ok(());
        }
        let name = Name::parse(given).map_err(|cause| WorkloadError::Field {
            place: place.to_owned(),
            given: escaped(given).to_string(),
            cause,
        })?;
        self.names.insert(name);
        Ok(())
    }

    /// An `image` of any map: a name, or its parts as charts' values have them.
    fn field(&mut self, map: &Value) {
        let name = match map.get("image") {
            Some(Value::Text(text)) => Some(text.trim().to_owned()),
            Some(parts @ Value::Map(_)) => joined(parts),
            _ => None,
        };
        let name = name.and_then(|name| Name::parse(&name).ok());
        self.names.extend(name);
    }
}

/// `registry`, `repository`, `tag` and `digest` as one name.
fn joined(parts: &Value) -> Option<String> {
    let part = |key| parts.get(key).and_then(Value::text);
    let mut name = part("repository")?.to_owned();
    if let Some(registry) = part("registry") {
        name = format!("{registry}/{name}");
    }
    match (part("tag"), part("digest")) {
        (_, Some(digest)) => Some(format!("{name}@{digest}")),
        (Some(tag), None) => Some(format!("{name}:{tag}")),
        (None, None) => Some(name),
    }
}

/// What a resource is called in messages.
fn title(resource: &Value) -> String {
    let text = |value: Option<&Value>| value.and_then(Value::text).map(str::to_owned);
    let kind = text(resource.get("kind")).unwrap_or_else(|| "a document".to_owned());
    let name = resource.get("metadata").and_then(|it| it.get("name"));
    match text(name) {
        Some(name) => format!("{} {}", escaped(&kind), escaped(&name)),
        None => escaped(&kind).to_string(),
    }
}

/// An item of a list of resources has a title of its own.
fn nested(value: &Value, title: &str) -> String {
    match value.get("kind").and(value.get("metadata")) {
        Some(_) => self::title(value),
        None => title.to_owned(),
    }
}

#[cfg(test)]
mod tests;
