//! The packages of the static program.

use std::env;
use std::process::Command;

use airdock_testkit::repository;

use crate::release;
use crate::shell::{cargo, read, run};

/// Where they go, below the top folder.
const DIST: &str = "target/dist";

/// Builds the program, and packs it, if it is static.
pub(crate) fn build() -> anyhow::Result<()> {
    let program = release::compile(&["--package=airdock"])?;
    let mut pack = cargo(&["run", "--quiet", "--package=airdock-dist", "--"]);
    pack.arg(program).args(["--out", DIST]);
    run(pack.args(["--time", &time()?]))
}

/// The time of the last commit, so that the same sources are packed as the same bytes; another may
/// be said (reproducible-builds.org, SOURCE_DATE_EPOCH).
fn time() -> anyhow::Result<String> {
    if let Ok(said) = env::var("SOURCE_DATE_EPOCH") {
        return Ok(said);
    }
    let mut git = Command::new("git");
    git.args(["log", "-1", "--format=%ct"])
        .current_dir(repository());
    Ok(read(&mut git)?.trim().to_owned())
}
