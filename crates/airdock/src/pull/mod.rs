//! Pulls from registries: the OCI distribution protocol, as a client that only reads.
//!
//! [`Registries`] is all that others use. Below it, `http` makes one request, `auth` answers
//! challenges with what `credential` finds, `retry` says when to try again, and `cache` keeps
//! blobs between runs. What a registry sends is never trusted: documents and blobs are compared
//! with their digests, words are escaped before they are shown.

mod auth;
mod cache;
mod credential;
mod error;
mod http;
mod limits;
mod registry;
mod resolve;
mod retry;
mod said;
mod settings;
mod status;
mod tls;

pub use credential::CredentialError;
pub use error::{Fault, PullError, SettingsError};
pub use limits::{JOBS, RETRIES};
pub use registry::{Referrer, Registries};
pub use said::Said;
pub use settings::{Hosts, Mirror, Settings};
