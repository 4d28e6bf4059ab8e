//! What `config show` prints: the settings as a file, each with where it comes from.

use crate::config::Shown;

/// Prints them for people, in a form that can be used as a file.
pub fn print(settings: &[Shown]) {
    let lines: Vec<(String, &Shown)> = settings.iter().map(|shown| (line(shown), shown)).collect();
    let width = lines.iter().map(|(line, _)| line.chars().count());
    let width = width.filter(|width| *width <= WIDEST).max().unwrap_or(0);
    let mut table = "";
    for (line, shown) in &lines {
        let in_table = shown.key.rsplit_once('.').map_or("", |(table, _)| table);
        if in_table != table {
            super::line(&format!("\n{}", head(in_table)));
            table = in_table;
        }
        super::line(&format!("{line:width$}  # {}", shown.origin));
    }
}

/// Longer lines don't push the comments of all others away.
const WIDEST: usize = 48;

fn line(shown: &Shown) -> String {
    let key = shown.key.rsplit('.').next().unwrap_or(&shown.key);
    format!("{key} = {}", shown.value)
}

fn head(table: &str) -> String {
    match table.split_once('.') {
        Some((table, _)) => format!("[[{table}]]"),
        None => format!("[{table}]"),
    }
}
