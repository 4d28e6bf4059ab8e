//! The sample bundles of `tests/corpus` and the verdict that each must get.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::repository;

/// One row of `expected.tsv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Path below `tests/corpus`.
    pub file: String,
    /// `ok`, `partial`, `unnamed`, `empty`, `incomplete` or `refused`.
    pub verdict: String,
    /// The normalised names that must exist afterwards.
    pub names: Vec<String>,
    /// The property that the sample has.
    pub why: String,
}

impl Row {
    /// Where the sample is.
    pub fn path(&self) -> PathBuf {
        folder().join(&self.file)
    }

    /// Whether everything in it must be imported.
    pub fn is_ok(&self) -> bool {
        self.verdict == "ok"
    }
}

/// The folder of the samples.
pub fn folder() -> PathBuf {
    repository().join("tests/corpus")
}

/// All rows of `expected.tsv`, in its order.
pub fn rows() -> io::Result<Vec<Row>> {
    let text = fs::read_to_string(folder().join("expected.tsv"))?;
    let lines = text.lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .map(row)
        .collect()
}

fn row(line: &str) -> io::Result<Row> {
    let mut fields = line.split('\t').map(str::to_owned);
    match (fields.next(), fields.next(), fields.next(), fields.next()) {
        (Some(file), Some(verdict), Some(names), Some(why)) => Ok(Row {
            file,
            verdict,
            names: split(&names),
            why,
        }),
        _ => Err(io::Error::other(format!("not four columns: {line}"))),
    }
}

fn split(names: &str) -> Vec<String> {
    let names = names.split(',').filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_sample() {
        let rows = rows().unwrap();
        assert!(!rows.is_empty());
        for row in rows {
            assert!(row.path().exists(), "{} is missing", row.file);
            assert_eq!(row.is_ok(), !row.names.is_empty(), "{}", row.file);
        }
    }
}
