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
mod unpacking;
mod watching;
mod whole;

use std::process::ExitCode;

use airdock_testkit::Suite;

fn main() -> ExitCode {
    let suite = Suite::of(&[
        loading::tests,
        watching::tests,
        killing::tests,
        owning::tests,
        faults::tests,
        disk::tests,
        midway::tests,
        importers::tests,
        showing::tests,
        order::tests,
        packing::tests,
        unpacking::tests,
        pods::tests,
    ]);
    suite.run()
}
