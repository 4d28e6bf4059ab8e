//! What airdock's tests share: bundles to read, daemons to talk to, programs to run.
//!
//! Nothing here uses the product's own code: a fixture is written and hashed by a second hand,
//! and what containerd holds is asked through its own `ctr`.
#![forbid(unsafe_code)]

pub mod containerd;
pub mod corpus;
pub mod daemon;
pub mod examples;
pub mod fixture;
pub mod mount;
pub mod needs;
#[cfg(feature = "pods")]
pub mod pods;
pub mod process;
#[cfg(feature = "proxy")]
pub mod proxy;
pub mod suite;
pub mod unpacked;
pub mod wait;

pub use containerd::Version;
pub use daemon::Daemon;
pub use needs::Need;
pub use suite::{Outcome, Suite};

/// The top folder of the repository.
pub fn repository() -> &'static std::path::Path {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}
