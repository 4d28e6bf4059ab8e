//! What other tools see in the same files.
//!
//! That we refuse what they accept is allowed; what must never be is that both accept a file and
//! see different things in it: then what was checked here is not what runs.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "what a test builds its input with fails as a test does"
)]

mod bundles;
mod made;
mod random;
mod tarfile;
mod variants;

use std::process::ExitCode;

use airdock_testkit::Suite;

fn main() -> ExitCode {
    let suite = Suite::of(&[tarfile::tests, bundles::tests]);
    suite.run()
}
