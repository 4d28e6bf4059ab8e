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
    let suite = Suite::new();
    let suite = documented::tests(suite);
    let suite = listed::tests(suite);
    let suite = installed::tests(suite);
    let suite = kubernetes::tests(suite);
    let suite = unit::tests(suite);
    booted::tests(suite).run()
}
