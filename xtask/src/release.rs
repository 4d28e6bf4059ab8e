//! The program as it is shipped: one static file.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::shell::{self, say};

/// Builds it, and refuses what a dynamic loader would have to finish.
pub(crate) fn build() -> anyhow::Result<PathBuf> {
    let program = compile(&["--package=airdock"])?;
    let headers = Command::new("readelf")
        .arg("--wide")
        .args(["--file-header", "--program-headers"])
        .arg(&program)
        .env("LC_ALL", "C")
        .output()
        .context("readelf")?;
    check(&String::from_utf8_lossy(&headers.stdout))?;
    let kib = program.metadata()?.len() >> 10;
    say(&format!("{}: static-pie, {kib} KiB", name(&program)));
    Ok(program)
}

/// Builds a program as it is shipped, by the options that name it; where cargo put it.
pub(crate) fn compile(which: &[&str]) -> anyhow::Result<PathBuf> {
    let mut build = shell::cargo(&["build", "--release"]);
    build.args(which);
    build.arg("--message-format=json-render-diagnostics");
    let built = shell::read(build.stderr(Stdio::inherit()))?;
    let mut messages = built.lines().filter_map(executable);
    messages.next().context("cargo names no executable")
}

fn executable(line: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    message.get("executable")?.as_str().map(PathBuf::from)
}

/// A static-pie is position independent (DYN) and names no interpreter.
fn check(headers: &str) -> anyhow::Result<()> {
    if headers.contains("INTERP") {
        bail!("the program asks for a dynamic loader");
    }
    if !headers.contains("DYN") {
        bail!("the program isn't position independent");
    }
    Ok(())
}

fn name(program: &Path) -> String {
    let name = program.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_static_pie_passes() {
        assert!(check("Type: DYN (Position-Independent)\nLOAD").is_ok());
        assert!(check("Type: DYN (Position-Independent)\nINTERP").is_err());
        assert!(check("Type: EXEC (Executable file)\nLOAD").is_err());
    }
}
