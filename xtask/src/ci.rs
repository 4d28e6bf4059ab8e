//! Everything that a change must pass, the tests last.

use std::env;
use std::process::ExitCode;

use airdock_testkit::needs::program;

use crate::shell::{cargo, run as execute, say, step};
use crate::{setup, test};

/// A check with its name.
type Check = (&'static str, fn() -> anyhow::Result<()>);

const CHECKS: [Check; 4] = [
    ("format", format),
    ("lints", lints),
    ("documentation", documentation),
    ("licences, bans, sources", deny),
];

/// Runs all checks, also after one has failed; the last line is the sum of the tests.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    setup::missing();
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        if step(name, check).is_err() {
            failed.push(name);
        }
    }
    let sum = step("tests", test::all)?;
    for name in &failed {
        say(&format!("FAILED: {name}"));
    }
    say(&sum.to_string());
    Ok(match failed.is_empty() && sum.is_good() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn format() -> anyhow::Result<()> {
    execute(&mut cargo(&["fmt", "--all", "--check"]))
}

fn lints() -> anyhow::Result<()> {
    let clippy = ["clippy", "--workspace", "--all-targets"];
    execute(cargo(&clippy).args(["--", "--deny", "warnings"]))
}

fn documentation() -> anyhow::Result<()> {
    // Not RUSTFLAGS, which would take the place of the static flags and build all anew.
    let mut doc = cargo(&[
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
    ]);
    execute(doc.env("RUSTDOCFLAGS", "--deny warnings"))
}

/// Advisories are left out: their database is fetched, and this must pass without a network.
fn deny() -> anyhow::Result<()> {
    if program("cargo-deny").is_none() {
        // From a neutral folder, so that this repository's flags aren't applied to it.
        let mut install = cargo(&["install", "cargo-deny", "--locked"]);
        execute(install.current_dir(env::temp_dir()))?;
    }
    execute(&mut cargo(&[
        "deny", "check", "licenses", "bans", "sources",
    ]))
}
