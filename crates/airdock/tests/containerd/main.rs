//! The program with real containerd daemons of each release; what they hold is asked of `ctr`.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state facts about values that they made themselves"
)]

mod disk;
mod faults;
mod importers;
mod killing;
mod loading;
mod midway;
mod order;
mod owning;
mod packing;
mod pods;
mod showing;
mod snapshot;
mod support;
mod watching;
mod whole;

use std::process::ExitCode;

use airdock_testkit::Suite;

fn main() -> ExitCode {
    let suite = loading::tests(Suite::new());
    let suite = watching::tests(suite);
    let suite = killing::tests(suite);
    let suite = owning::tests(suite);
    let suite = faults::tests(suite);
    let suite = disk::tests(suite);
    let suite = midway::tests(suite);
    let suite = importers::tests(suite);
    let suite = showing::tests(suite);
    let suite = order::tests(suite);
    let suite = packing::tests(suite);
    pods::tests(suite).run()
}
