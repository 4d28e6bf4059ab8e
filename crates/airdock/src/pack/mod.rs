//! Makes bundles: names in, one file out that holds exactly what they need.
//!
//! [`request`] is what is asked for, [`origin`] where images come from, [`select`] follows a name
//! to everything that is taken of it, [`pack`] puts all of it together, and [`mod@file`] writes it as
//! a whole or not at all.

pub mod base;
mod error;
pub mod file;
mod making;
pub mod node;
pub mod origin;
pub mod request;
pub mod select;
mod split;

pub use error::PackError;
pub use making::{Failed, Packed, Progress, pack};
pub use split::{Part, split};
