//! What the installation's document says can be typed, and is in the packages.

use std::fs;
use std::path::Path;

use airdock_testkit::{Outcome, Suite, repository};

use crate::support::listed;

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test("every_command_in_the_installation_exists", &[], commands)
        .test("every_package_in_the_installation_is_made", &[], packages)
}

fn document() -> std::io::Result<String> {
    fs::read_to_string(repository().join("docs/install.md"))
}

fn commands(_: &Path) -> Outcome {
    let document = document()?;
    let lines = document.lines().filter_map(|line| line.strip_prefix("# "));
    let ours: Vec<&str> = lines.filter(|line| line.starts_with("airdock ")).collect();
    assert!(ours.len() >= 5, "{ours:?}");
    for line in ours {
        let parsed = airdock::cli::command().try_get_matches_from(line.split_whitespace());
        parsed.map_err(|error| format!("{line}: {error}"))?;
    }
    Ok(())
}

fn packages(_: &Path) -> Outcome {
    let (document, release) = (document()?, listed());
    for name in release
        .packages()?
        .keys()
        .filter(|name| !name.ends_with(".sha256"))
    {
        let shown = name.replace(&release.version, "VERSION");
        let shown = shown.replace("amd64", "ARCH").replace("x86_64", "ARCH");
        assert!(document.contains(&shown), "{shown} is not in the document");
    }
    Ok(())
}
