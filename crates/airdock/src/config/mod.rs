//! From what was typed and written to what is meant: one resolution, after which nothing asks the
//! command line, the environment or the file again.
//!
//! [`Typed`] and [`Written`] are what was said, [`Settings`] is what is meant, and [`resolve()`] leads
//! from the one to the other: flags win over environment variables, these over the file, and the
//! file over the defaults.

mod distro;
mod error;
mod example;
mod file;
mod key;
mod lines;
mod names;
mod resolve;
mod settings;
mod show;
mod store_spec;
mod typed;
mod unknown;
mod value;

pub use distro::Distro;
pub use error::ConfigError;
pub use example::example;
pub use file::{DEFAULT_PATH, Layer, LogTable, SourceTable, Written};
pub use key::Key;
pub use names::NameFilter;
pub use resolve::{FIRST, resolve};
pub use settings::{OnConflict, OnRemove, Policy, Settings, Socket, Source, WatchSettings};
pub use show::{Shown, shown};
pub use store_spec::{DEFAULT_NAMESPACE, Endpoint, StoreSpec, StoreSpecError, resolve_store};
pub use typed::{Given, Origin, Typed};
pub use unknown::Unknown;
pub use value::{PlatformText, Seconds};
