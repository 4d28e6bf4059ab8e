//! What tests need from the machine: packages of the system, and daemons that nothing starts.
//!
//! Nothing here is needed to build. What can't be had is said, and the tests that need it are
//! skipped visibly.

use std::process::ExitCode;

use crate::shell::{say, step};
use crate::{daemons, packages};

/// Sets the machine up; fails when something could not be had.
pub(crate) fn run() -> ExitCode {
    match missing() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Sets the machine up, and says what is still missing; how many things that is.
pub(crate) fn missing() -> usize {
    // A step says how it ended; what follows may well do without it.
    let _ = step("packages", packages::install);
    let _ = step("daemons", daemons::fetch);
    let missing: Vec<String> = packages::missing().chain(daemons::missing()).collect();
    for what in &missing {
        say(&format!("could not be had: {what}; its tests are skipped"));
    }
    missing.len()
}
