//! The packages: what is in them, that others read them, and that what they install works.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state facts about values that they made themselves"
)]

mod booted;
mod documented;
mod installed;
mod kubernetes;
mod listed;
mod support;
mod unit;

use std::process::ExitCode;

use airdock_testkit::Suite;

fn main() -> ExitCode {
    let suite = Suite::of(&[
        documented::tests,
        listed::tests,
        installed::tests,
        kubernetes::tests,
        unit::tests,
        booted::tests,
    ]);
    suite.run()
}
