//! Keys that mean nothing: most are misspelt, or stand in the wrong table.

use std::fmt;

use airdock_bundle::escape::escaped;

use super::file::{Layer, LogTable, SourceTable};
use super::key::Key;
use super::lines::Lines;

/// How alike a key and its correction must be, of 1: two letters in a word of six.
const ALIKE: f64 = 0.6;

/// Tables by the name under which they stand in the file.
const TABLES: [(&str, &[Key]); 3] = [
    ("", Layer::KEYS),
    ("log", LogTable::KEYS),
    ("source", SourceTable::KEYS),
];

/// A key that means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The line that it stands in.
    pub line: Option<usize>,
    key: String,
    table: String,
    meant: Option<Meant>,
}

/// What may have been meant.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Meant {
    /// A key of this table.
    Key(&'static str),
    /// The same key, in another table.
    Table(&'static str),
}

impl Unknown {
    /// From the key's whole path.
    pub(super) fn new(path: &str, lines: &Lines) -> Self {
        let shown = super::lines::shown(path);
        let (table, key) = shown.rsplit_once('.').unwrap_or(("", &shown));
        Self {
            line: lines.get(path),
            meant: meant(table, key),
            key: key.to_owned(),
            table: table.to_owned(),
        }
    }
}

fn meant(table: &str, key: &str) -> Option<Meant> {
    let keys = TABLES.iter().find(|(name, _)| *name == table)?.1;
    let likeness = |known: &Key| strsim::normalized_damerau_levenshtein(known.name, key);
    let nearest = keys
        .iter()
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
        .filter(|nearest| likeness(nearest) >= ALIKE);
    if let Some(nearest) = nearest {
        return Some(Meant::Key(nearest.name));
    }
    let has_it = |(_, keys): &&(&str, &[Key])| keys.iter().any(|known| known.name == key);
    let elsewhere = TABLES.iter().find(has_it)?;
    Some(Meant::Table(elsewhere.0))
}

/// A table as its head is written.
fn head(table: &str) -> String {
    match table {
        "" => "the top of the file".to_owned(),
        "source" => "[[source]]".to_owned(),
        table => format!("[{}]", escaped(table)),
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown key {:?}", escaped(&self.key).to_string())?;
        if !self.table.is_empty() {
            write!(f, " in {}", head(&self.table))?;
        }
        match &self.meant {
            Some(Meant::Key(key)) => write!(f, "; is {key:?} meant?"),
            Some(Meant::Table(table)) => write!(f, "; it belongs into {}", head(table)),
            None => Ok(()),
        }
    }
}
