use clap::Arg;

use super::*;
use crate::config::{Key, Layer, LogTable, SourceTable, example};

const REFERENCE: &str = include_str!("../../../../docs/configuration.md");

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn the_reference_names_every_key_with_its_default_flag_and_variable() {
    let mut program = Cli::command();
    program.build();
    let watch = program.find_subcommand("watch").unwrap();
    for (prefix, keys) in [
        ("", Layer::KEYS),
        ("log_", LogTable::KEYS),
        ("", SourceTable::KEYS),
    ] {
        for key in keys
            .iter()
            .filter(|key| !["log", "source"].contains(&key.name))
        {
            let row = row(key);
            let id = format!("{prefix}{}", key.name);
            let argument = watch.get_arguments().find(|a| a.get_id().as_str() == id);
            for part in argument.iter().flat_map(|argument| names(argument)) {
                assert!(row.contains(&format!("`{part}`")), "{part} in {row}");
            }
            if let Some(default) = default(key) {
                assert!(row.contains(&format!("`{default}`")), "{default} in {row}");
            }
        }
    }
}

fn row(key: &Key) -> &'static str {
    let start = format!("| `{}` |", key.name);
    let row = REFERENCE.lines().find(|line| line.starts_with(&start));
    row.unwrap_or_else(|| panic!("no row {start}"))
}

fn names(argument: &Arg) -> Vec<String> {
    let flag = argument.get_long().map(|long| format!("--{long}"));
    let variable = argument
        .get_env()
        .map(|name| name.to_string_lossy().into_owned());
    flag.into_iter().chain(variable).collect()
}

fn default(key: &Key) -> Option<String> {
    let example = example().unwrap();
    let start = format!("#{} = ", key.name);
    let line = example.lines().find_map(|line| line.strip_prefix(&start));
    line.map(str::to_owned)
}
