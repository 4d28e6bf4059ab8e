//! The program with a real registry on loopback, and a proxy in front of it that spoils answers.
//! What the registry holds is pushed by skopeo, and what it should have given is asked of skopeo.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state facts about values that they made themselves"
)]

mod credentials;
mod failing;
mod proxy;
mod pulling;
mod referring;
mod registry;
mod resuming;
mod support;
mod trusting;

use std::process::ExitCode;

use airdock_testkit::Suite;

fn main() -> ExitCode {
    let suite = Suite::of(&[
        pulling::tests,
        resuming::tests,
        failing::tests,
        credentials::tests,
        trusting::tests,
        referring::tests,
    ]);
    suite.run()
}
