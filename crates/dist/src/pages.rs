//! Manuals and completions, from the program's own command line.

use anyhow::Context as _;
use clap_complete::Shell;
use clap_mangen::Man;

/// A generated file.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its file name.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// `airdock.1`, and one a command.
pub fn manuals() -> anyhow::Result<Vec<Page>> {
    let mut command = airdock::cli::command().disable_help_subcommand(true);
    command.build();
    let shown = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    let commands = [&command].into_iter().chain(shown);
    commands.cloned().map(manual).collect()
}

fn manual(command: clap::Command) -> anyhow::Result<Page> {
    let manual = Man::new(command).manual("User Commands");
    let name = manual.get_filename();
    let mut bytes = Vec::new();
    manual.render(&mut bytes).with_context(|| name.clone())?;
    Ok(Page { name, bytes })
}

/// One a shell, named as the shell wants it.
pub fn completions() -> Vec<Page> {
    let shells = [Shell::Bash, Shell::Fish, Shell::Zsh];
    shells.into_iter().map(completion).collect()
}

fn completion(shell: Shell) -> Page {
    use clap_complete::Generator as _;
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut airdock::cli::command(), "airdock", &mut bytes);
    Page {
        name: shell.file_name("airdock"),
        bytes,
    }
}
