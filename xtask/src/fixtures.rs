//! Writes the bundles in `examples/`.

use std::fs;
use std::process::ExitCode;

use airdock_testkit::examples;
use anyhow::bail;

use crate::shell::say;

/// Builds every example, and writes those that differ.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    if let Some(reason) = examples::missing_compiler() {
        bail!("{reason}; Debian 12's packages clang and lld build the examples");
    }
    for example in examples::build()? {
        let path = examples::folder().join(example.file);
        let same = fs::read(&path).is_ok_and(|old| old == example.tar);
        if !same {
            fs::write(&path, &example.tar)?;
        }
        let state = if same { "unchanged" } else { "written" };
        say(&format!(
            "examples/{}: {state}, {} bytes",
            example.file,
            example.tar.len()
        ));
    }
    Ok(ExitCode::SUCCESS)
}
