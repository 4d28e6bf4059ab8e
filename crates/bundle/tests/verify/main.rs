//! Verifying whole bundles: each test makes one, breaks it in one way, and asserts on what a user
//! is told.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what a test builds its input with fails as a test does"
)]

mod content;
mod listed;
mod notices;
mod required;
mod seen;
