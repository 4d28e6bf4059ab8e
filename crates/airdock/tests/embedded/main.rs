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
mod service;
mod support;
mod unreadable;
mod verify;
mod watching;

use std::process::ExitCode;

use airdock_testkit::Suite;

fn main() -> ExitCode {
    let suite = Suite::new();
    let suite = asking::tests(suite);
    let suite = cli::tests(suite);
    let suite = config::tests(suite);
    let suite = contrib::tests(suite);
    let suite = documented::tests(suite);
    let suite = hostile::tests(suite);
    let suite = layout::tests(suite);
    let suite = unreadable::tests(suite);
    let suite = noticing::tests(suite);
    let suite = packing::tests(suite);
    let suite = verify::tests(suite);
    let suite = service::tests(suite);
    watching::tests(suite).run()
}
