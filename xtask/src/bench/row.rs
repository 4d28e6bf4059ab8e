//! One line of the table, kept between runs so that cases can be measured one by one.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A measured case on one daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Row {
    /// The case's letter.
    pub case: String,
    /// What was done.
    pub title: String,
    /// The daemon's release.
    pub daemon: String,
    /// airdock: median, least and most.
    pub ours: String,
    /// What it is compared with: the same.
    pub theirs: String,
    /// The ratio of the medians.
    pub ratio: String,
    /// What is to be reached.
    pub goal: String,
    /// Bytes that each side read, by `/proc/PID/io`.
    pub read: String,
    /// Bytes that each side sent.
    pub sent: String,
    /// Peak resident memory of each side.
    pub memory: String,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} |", self.cells().join(" | "))
    }
}

impl Row {
    fn cells(&self) -> [&str; 10] {
        [
            &self.case,
            &self.title,
            &self.daemon,
            &self.ours,
            &self.theirs,
            &self.ratio,
            &self.goal,
            &self.read,
            &self.sent,
            &self.memory,
        ]
    }
}

/// All rows, in a file.
#[derive(Debug)]
pub(super) struct Rows {
    path: PathBuf,
    rows: Vec<Row>,
}

impl Rows {
    /// Those of earlier runs; none where there is no file, or not one of this form.
    pub(super) fn load(path: &Path) -> Self {
        let text = fs::read(path).unwrap_or_default();
        Self {
            path: path.to_owned(),
            rows: serde_json::from_slice(&text).unwrap_or_default(),
        }
    }

    /// Takes the place of the row of the same case, bundle and daemon.
    pub(super) fn put(&mut self, row: Row) {
        let subject = |row: &Row| [&row.case, &row.title, &row.daemon].map(Clone::clone);
        self.rows.retain(|old| subject(old) != subject(&row));
        self.rows.push(row);
        self.rows.sort();
    }

    pub(super) fn save(&self) -> anyhow::Result<()> {
        Ok(fs::write(
            &self.path,
            serde_json::to_vec_pretty(&self.rows)?,
        )?)
    }

    /// As a table of Markdown.
    pub(super) fn table(&self) -> String {
        let head = "\
            | case | what | containerd | airdock: median (least–most) | other | ratio | to reach \
            | read | sent | peak memory |\n\
            |---|---|---|---|---|---|---|---|---|---|\n";
        let lines = self.rows.iter().map(|row| format!("{row}\n"));
        lines.fold(head.to_owned(), |table, line| table + &line)
    }
}
