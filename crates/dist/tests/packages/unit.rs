//! The unit, as systemd's own tools judge it.

use std::fs;
use std::path::Path;
use std::process::Command;

use airdock_testkit::{Need, Outcome, Suite, repository};

use crate::support::{built_deb, install, read};

/// Tenths: the worst that `systemd-analyze security` may say. Releases differ by a few.
const EXPOSURE: u32 = 12;

pub(crate) fn tests(suite: Suite) -> Suite {
    const ANALYZE: Need = Need::Program("systemd-analyze");
    suite
        .test(
            "systemd_finds_nothing_wrong_with_the_unit",
            &[
                Need::Root,
                Need::Airdock,
                ANALYZE,
                Need::Program("dpkg"),
                Need::Program("kill"),
            ],
            verified,
        )
        .test(
            "the_unit_is_as_closed_as_the_documents_say",
            &[ANALYZE],
            closed,
        )
}

fn verified(dir: &Path) -> Outcome {
    let root = dir.join("root");
    install(&built_deb(dir)?, &root)?;
    // What the unit calls besides is the system's.
    fs::create_dir_all(root.join("bin"))?;
    fs::copy("/bin/kill", root.join("bin/kill"))?;
    let mut analyze = Command::new("systemd-analyze");
    analyze.arg(format!("--root={}", root.display()));
    analyze.args([
        "verify",
        "--man=no",
        "--recursive-errors=no",
        "airdock.service",
    ]);
    let output = analyze.env("LC_ALL", "C").output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let about_us: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("airdock"))
        .collect();
    assert!(output.status.success() && about_us.is_empty(), "{said}");
    Ok(())
}

fn closed(_: &Path) -> Outcome {
    let unit = repository().join("contrib/systemd/airdock.service");
    let mut analyze = Command::new("systemd-analyze");
    analyze.args(["security", "--offline=true", "--no-pager"]);
    analyze.arg(format!("--threshold={EXPOSURE}")).arg(unit);
    read(&mut analyze).map(drop)?;
    Ok(())
}
