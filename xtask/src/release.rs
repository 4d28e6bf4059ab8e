//! Programs as they are shipped.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::Context as _;
use serde_json::Value;

use crate::shell;

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
