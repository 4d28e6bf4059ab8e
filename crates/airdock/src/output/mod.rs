//! The only place that prints: tables and JSON on standard output, progress and log lines on
//! standard error.

pub mod diff;
pub mod human;
pub mod inspect;
pub mod left_out;
pub mod load;
mod log;
mod pace;
pub mod pack;
pub mod plan;
mod progress;
mod reporter;
pub mod settings;
pub mod split;
pub mod status;
pub mod verify;
pub mod waiting;

use std::path::Path;

use airdock_bundle::escape::escaped;
use clap::ValueEnum;
use serde::Serialize;

use crate::config::Written;

pub use progress::Bars;
pub use reporter::{Reporter, Shown};

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs: documented keys, one document.
    Json,
}

/// Prints a line for people.
#[expect(clippy::print_stdout, reason = "this is the module that prints")]
pub fn line(text: &str) {
    println!("{text}");
}

/// Prints text for people that has its own line ends.
#[expect(clippy::print_stdout, reason = "this is the module that prints")]
pub fn text(text: &str) {
    print!("{text}");
}

/// Logs each key of a configuration file that means nothing.
pub fn misspelt(written: &Written) {
    written
        .warnings()
        .iter()
        .for_each(|warning| log::misspelt(warning));
}

/// Prints an error or a note for people.
#[expect(clippy::print_stderr, reason = "this is the module that prints")]
pub fn note(text: &str) {
    eprintln!("{text}");
}

/// A path as it is shown: bundles' names come from outside.
pub(crate) fn shown(path: &Path) -> String {
    escaped(&path.to_string_lossy()).to_string()
}

/// Empties a terminal, for what is shown anew.
pub fn clear_screen() {
    line("\u{1b}[H\u{1b}[2J");
}

/// Prints a document for programs.
pub fn json(document: &impl Serialize) {
    match serde_json::to_string_pretty(document) {
        Ok(text) => line(&text),
        Err(error) => note(&format!(
            "airdock: the result can't be written as JSON: {error}"
        )),
    }
}
