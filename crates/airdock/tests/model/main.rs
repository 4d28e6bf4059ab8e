//! Random sequences of what happens to directories, agents and stores; afterwards the store is
//! what the directory says, and nothing of anybody else has changed.
//!
//! A failure prints its seed: `AIRDOCK_MODEL_SEED=<seed>` runs that sequence alone, first.
//! `AIRDOCK_MODEL_SEQUENCES=<n>` sets how many each store gets.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests state facts about values that they made themselves"
)]

mod action;
mod agent;
mod choose;
mod containerd;
mod dice;
mod directory;
mod expectation;
mod image;
mod layout;
mod meaning;
mod sequence;
mod store;

use std::process::ExitCode;

use airdock_testkit::daemon::Options;
use airdock_testkit::mount::Mount;
use airdock_testkit::{Need, Suite, Version};

use crate::sequence::run_all;
use crate::store::Store;

const NAME: &str = "the_store_becomes_what_the_directory_says";

/// The file systems that stores are on, so that they can be filled: room for all that a sequence
/// brings, and little enough to be filled in a moment.
const DISK: u64 = 128 << 20;

fn main() -> ExitCode {
    let suite = Suite::new().test(&format!("embedded::{NAME}"), &[], |dir| {
        run_all(&mut Store::layout(dir), dir)
    });
    let small = format!("embedded::{NAME}_on_a_disk_that_fills_up");
    let suite = suite.test(&small, &[Need::Root], |dir| {
        let disk = Mount::tmpfs(&dir.join("disk"), DISK)?;
        run_all(&mut Store::layout_on(disk), dir)
    });
    let suite = Version::ALL.into_iter().fold(suite, |suite, version| {
        suite.on_containerd(
            version,
            Options::in_memory(DISK),
            NAME,
            &[],
            |daemon, dir| run_all(&mut Store::Containerd(daemon), dir),
        )
    });
    suite.run()
}
