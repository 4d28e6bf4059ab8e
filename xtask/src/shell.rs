//! Running programs in steps, each with its name and its duration.

use std::env;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use airdock_testkit::repository;
use anyhow::{Context as _, bail};

/// One line on standard output.
#[expect(clippy::print_stdout, reason = "the output of a developer's command")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

/// The cargo that runs this, started in the top folder.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.args(args).current_dir(repository());
    command
}

/// Runs a part of the work, and says how long it took and how it ended.
pub(crate) fn step<T>(name: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    say(&format!("== {name}"));
    let started = Instant::now();
    let result = work();
    let seconds = started.elapsed().as_secs_f32();
    match &result {
        Ok(_) => say(&format!("== {name}: done in {seconds:.1} s")),
        Err(error) => say(&format!(
            "== {name}: FAILED after {seconds:.1} s: {error:#}"
        )),
    }
    result
}

/// Runs a program whose output goes to the terminal; its failure is an error.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let name = name(command);
    let status = command.status().with_context(|| name.clone())?;
    if !status.success() {
        bail!("{name}: {status}");
    }
    Ok(())
}

/// Runs a program; its standard output, or an error with the last line that it said.
pub(crate) fn read(command: &mut Command) -> anyhow::Result<String> {
    let name = name(command);
    let out = command.output().with_context(|| name.clone())?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        bail!("{name}: {}", said.lines().last().unwrap_or("no word"));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Runs a program, shows each line of its standard output and gives it to `see`; whether the
/// program succeeded.
pub(crate) fn follow(command: &mut Command, mut see: impl FnMut(&str)) -> anyhow::Result<bool> {
    let name = name(command);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| name.clone())?;
    let stdout = child.stdout.take().context("no standard output")?;
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line.with_context(|| name.clone())?;
        let line = String::from_utf8_lossy(&line);
        say(&line);
        see(&line);
    }
    Ok(child.wait().with_context(|| name)?.success())
}

/// The program and its first argument, for messages.
fn name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_stem().unwrap_or_default().to_string_lossy();
    let first = command.get_args().next().unwrap_or_default();
    format!("{program} {}", first.to_string_lossy())
}
