//! What the installation's document says is in the packages.

use std::fs;
use std::path::Path;

use airdock_testkit::{Outcome, Suite, repository};

use crate::support::listed;

pub(crate) fn tests(suite: Suite) -> Suite {
    suite.test("every_package_in_the_installation_is_made", &[], packages)
}

fn document() -> std::io::Result<String> {
    fs::read_to_string(repository().join("docs/install.md"))
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
