//! One line of the table, kept between runs so that cases can be measured one by one.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use airdock_testkit::Version;
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
    /// Processor time of each side, and of the daemon meanwhile.
    #[serde(default)]
    pub processor: String,
    /// It could not be measured; the title says why.
    pub failed: bool,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self
            .cells()
            .map(|cell| if cell.is_empty() { "–" } else { cell });
        write!(f, "| {} |", shown.join(" | "))
    }
}

impl Row {
    /// A case that could not be measured.
    pub(super) fn failure(case: String, daemon: Version, error: &anyhow::Error) -> Self {
        let reason = format!("{error:#}");
        let first = reason.lines().next().unwrap_or_default();
        Self {
            case,
            title: format!("failed: {}", first.replace('|', "¦")),
            daemon: daemon.to_string(),
            failed: true,
            ..Self::default()
        }
    }

    fn cells(&self) -> [&str; 11] {
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
            &self.processor,
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

    /// Puts rows in the place of all that are of this case and daemon.
    pub(super) fn replace(&mut self, case: &str, daemon: &str, rows: Vec<Row>) {
        let is_other = |row: &Row| row.case != case || row.daemon != daemon;
        self.rows.retain(is_other);
        self.rows.extend(rows);
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
            | read | sent | peak memory | processor: program + daemon |\n\
            |---|---|---|---|---|---|---|---|---|---|---|\n";
        let lines = self.rows.iter().map(|row| format!("{row}\n"));
        lines.fold(head.to_owned(), |table, line| table + &line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(case: &str, title: &str, daemon: &str) -> Row {
        Row {
            case: case.to_owned(),
            title: title.to_owned(),
            daemon: daemon.to_owned(),
            ..Row::default()
        }
    }

    #[test]
    fn a_case_measured_again_replaces_its_rows_on_that_daemon_alone() {
        let mut rows = Rows::load(Path::new("/nowhere"));
        rows.replace(
            "F",
            "2.1",
            vec![row("F", "gz", "2.1"), row("F", "zst", "2.1")],
        );
        rows.replace("F", "1.6", vec![row("F", "gz", "1.6")]);
        let error = anyhow::anyhow!("no room\nat all").context("a|b");
        let failed = Row::failure("F".to_owned(), Version::V2_1, &error);
        rows.replace("F", "2.1", vec![failed]);
        let titles: Vec<_> = rows.rows.iter().map(|row| row.title.as_str()).collect();
        assert_eq!(titles, ["failed: a¦b: no room", "gz"]);
    }
}
