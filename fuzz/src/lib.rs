//! Fuzzing of `airdock-bundle`: what the targets run, and the seeds that they start from.
//!
//! [`bodies`] is also compiled into a property test of the bundle crate, so that whatever is
//! asserted here is asserted on every toolchain, for some seconds, by `cargo test`.
#![forbid(unsafe_code)]

pub mod bodies;
mod memory;

pub use memory::within_memory;
