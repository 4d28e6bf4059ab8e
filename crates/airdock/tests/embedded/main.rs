//! The program with its embedded store: no daemon, no root.

mod cli;
mod layout;
mod support;
mod watching;

use std::process::ExitCode;

use airdock_testkit::Suite;

fn main() -> ExitCode {
    let suite = Suite::new();
    let suite = cli::tests(suite);
    let suite = layout::tests(suite);
    watching::tests(suite).run()
}
