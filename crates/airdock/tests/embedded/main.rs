//! The program with its embedded store: no daemon, no root.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests state facts about values that they made themselves"
)]

mod asking;
mod cli;
mod config;
mod contrib;
mod documented;
mod hostile;
mod layout;
mod noticing;
mod packing;
mod recalling;
mod service;
mod support;
mod unreadable;
mod verify;
mod watching;

use std::process::ExitCode;

use airdock_testkit::Suite;

fn main() -> ExitCode {
    let suite = Suite::of(&[
        asking::tests,
        cli::tests,
        config::tests,
        contrib::tests,
        documented::tests,
        hostile::tests,
        layout::tests,
        unreadable::tests,
        noticing::tests,
        packing::tests,
        recalling::tests,
        verify::tests,
        service::tests,
        watching::tests,
    ]);
    suite.run()
}
