//! Which key stands in which line. Keys are written `log.level`, and `source.0.path` for the
//! first of several tables.

use std::collections::BTreeMap;

use serde_path_to_error::{Path, Segment};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The lines of all keys of a file, counted from 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines(BTreeMap<String, usize>);

impl Lines {
    pub(super) fn of(text: &str, table: &Spanned<DeTable<'_>>) -> Self {
        let mut lines = Self::default();
        lines.add_table(text, "", table.get_ref());
        lines
    }

    /// The line of a key, or of the table that it would stand in.
    pub(super) fn get(&self, key: &str) -> Option<usize> {
        let above = || self.get(key.rsplit_once('.')?.0);
        self.0.get(key).copied().or_else(above)
    }

    fn add_table(&mut self, text: &str, prefix: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let key = joined(prefix, name.get_ref());
            self.add(text, &key, name.span().start);
            self.add_value(text, &key, value);
        }
    }

    fn add_value(&mut self, text: &str, key: &str, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Table(table) => self.add_table(text, key, table),
            DeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let key = joined(key, &index.to_string());
                    self.add(text, &key, item.span().start);
                    self.add_value(text, &key, item);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, text: &str, key: &str, offset: usize) {
        if let Some(line) = line_of(text, offset) {
            self.0.insert(key.to_owned(), line);
        }
    }
}

/// The line that a byte stands in, counted from 1.
pub(super) fn line_of(text: &str, offset: usize) -> Option<usize> {
    let before = text.as_bytes().get(..offset.min(text.len()))?;
    Some(1 + before.iter().filter(|byte| **byte == b'\n').count())
}

/// The same spelling for a place that a value was wrong at.
pub(super) fn dotted(path: &Path) -> String {
    let mut key = String::new();
    for segment in path {
        match segment {
            Segment::Map { key: name } => key = joined(&key, name),
            Segment::Seq { index } => key = joined(&key, &index.to_string()),
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    key
}

fn joined(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        return name.to_owned();
    }
    format!("{prefix}.{name}")
}

/// A key as people read it: which of several tables it stands in is told by the line.
pub(super) fn shown(key: &str) -> String {
    let words = key.split('.');
    let words: Vec<&str> = words
        .filter(|word| word.parse::<usize>().is_err())
        .collect();
    words.join(".")
}
