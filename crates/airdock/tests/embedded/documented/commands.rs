//! The commands with their arguments, as the program's own definitions have them.

use clap::{Arg, Command};

/// A section for each command.
pub(crate) fn section() -> String {
    let mut program = airdock::cli::command();
    program.build();
    let mut section = String::from("### Every command\n");
    let global = program.get_arguments().filter(|arg| arg.is_global_set());
    section.push_str(&table(global));
    add(&program, "airdock", &mut section);
    section
}

fn add(command: &Command, path: &str, section: &mut String) {
    for inner in command
        .get_subcommands()
        .filter(|it| it.get_name() != "help")
    {
        let path = format!("{path} {}", inner.get_name());
        let about = inner
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        section.push_str(&format!("\n### `{path}{}`\n\n{about}\n", positional(inner)));
        let own = inner.get_arguments().filter(|arg| !arg.is_global_set());
        section.push_str(&table(own));
        add(inner, &path, section);
    }
}

fn positional(command: &Command) -> String {
    let shown = command.get_positionals().map(|arg| {
        let value = value(arg);
        let several = arg
            .get_num_args()
            .is_some_and(|range| range.max_values() > 1);
        let value = if several {
            format!("{value}…")
        } else {
            value
        };
        if arg.is_required_set() {
            format!(" {value}")
        } else {
            format!(" [{value}]")
        }
    });
    shown.collect()
}

fn table<'a>(arguments: impl Iterator<Item = &'a Arg>) -> String {
    let ours = |arg: &&Arg| !["help", "version"].contains(&arg.get_id().as_str());
    let rows: Vec<String> = arguments.filter(ours).map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "\n| argument | variable | meaning |\n|---|---|---|\n{}",
        rows.concat()
    )
}

fn row(arg: &Arg) -> String {
    let argument = match (arg.get_long(), arg.get_action().takes_values()) {
        (Some(long), true) => format!("`--{long} {}`", value(arg)),
        (Some(long), false) => format!("`--{long}`"),
        (None, _) => format!("`{}`", value(arg)),
    };
    let variable = arg
        .get_env()
        .map(|name| format!("`{}`", name.to_string_lossy()));
    let meaning = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let meaning = meaning.replace('|', r"\|");
    let (variable, choices) = (variable.unwrap_or_default(), choices(arg));
    format!(
        "| {} | {variable} | {meaning}{choices} |\n",
        argument.replace('|', r"\|")
    )
}

fn value(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let names = names.iter().map(ToString::to_string);
    names.collect::<Vec<_>>().join(" ")
}

fn choices(arg: &Arg) -> String {
    if !arg.get_action().takes_values() {
        return String::new();
    }
    let values = arg.get_possible_values();
    let names: Vec<String> = values
        .iter()
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(": {}", names.join(", "))
    }
}
