//! From what was typed to what is meant: one resolution, after which nothing asks the command
//! line or the environment again.

mod distro;
mod settings;
mod store_spec;

pub use distro::Distro;
pub use settings::{OnConflict, OnRemove, Policy, Source, WatchSettings};
pub use store_spec::{DEFAULT_NAMESPACE, Endpoint, StoreSpec, StoreSpecError, resolve};
