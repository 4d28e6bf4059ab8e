//! Every test of the workspace, and the sum of what they said.

use std::fmt;
use std::process::ExitCode;

use crate::setup;
use crate::shell::{self, say, step};

/// What all test binaries together reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Sum {
    /// Adds one `test result:` line; other lines count nothing.
    fn add(&mut self, line: &str) {
        let Some(result) = line.trim().strip_prefix("test result: ") else {
            return;
        };
        self.passed += count(result, "passed");
        self.failed += count(result, "failed");
        self.skipped += count(result, "ignored");
    }

    pub(crate) fn is_good(self) -> bool {
        self.failed == 0
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            skipped,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// `ok. 3 passed; 1 failed; …`: the number before a word.
fn count(result: &str, word: &str) -> u64 {
    let mut words = result.split([' ', ';']).filter(|word| !word.is_empty());
    let mut before = None;
    words
        .find_map(|this| match this == word {
            true => before,
            false => {
                before = this.parse().ok();
                None
            }
        })
        .unwrap_or(0)
}

/// Set-up and tests; the last line is the sum.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    setup::missing();
    let sum = step("tests", all)?;
    say(&sum.to_string());
    Ok(match sum.is_good() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Runs the tests of all crates, documentation's included.
pub(crate) fn all() -> anyhow::Result<Sum> {
    let mut sum = Sum::default();
    let mut cargo = shell::cargo(&["test", "--workspace", "--no-fail-fast"]);
    let succeeded = shell::follow(&mut cargo, |line| sum.add(line))?;
    if !succeeded && sum.is_good() {
        say("a test program did not build, or ended without a result: counted as one failure");
        sum.failed = 1;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_summed() {
        let mut sum = Sum::default();
        for line in [
            "running 5 tests",
            "test result: ok. 20 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.06s",
            "test a_test_result ... ok",
            "test result: FAILED. 3 passed; 2 failed; 4 ignored; 0 measured; 0 filtered out",
        ] {
            sum.add(line);
        }
        assert_eq!(sum.to_string(), "23 passed, 2 failed, 5 skipped");
        assert!(!sum.is_good());
    }
}
