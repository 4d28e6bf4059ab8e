//! The calls that airdock makes to containerd, and no others.
//!
//! Everything goes through [`Client`], over containerd's v1 services and CRI. Each service has a
//! file: [`content`], [`images`], [`leases`], [`snapshots`] (and [`unpack`]), [`containers`],
//! [`events`], [`introspection`], [`cri`].
//!
//! Every call ends: unary calls and the messages of a stream have deadlines ([`limits`]). Every
//! failure says which call failed, on what, and whether a retry can help ([`Error`]).
#![forbid(unsafe_code)]

pub mod client;
pub mod containers;
pub mod content;
pub mod cri;
pub mod error;
pub mod events;
pub mod images;
pub mod introspection;
pub mod leases;
pub mod limits;
pub mod listing;
mod proto;
pub mod snapshots;
pub mod unpack;

pub use client::Client;
pub use containers::Container;
pub use content::write::{Body, BodyError, Chunks, WriteRequest, Written};
pub use content::{ContentInfo, Ingest};
pub use cri::{CriImage, CriStatus, ImageFs};
pub use error::{Call, Error, Unreachable};
pub use events::{Event, Topic};
pub use images::{Record, Target};
pub use introspection::Version;
pub use leases::Lease;
pub use listing::{Listing, SumKey};
pub use unpack::{Unpack, UnpackLayer};

/// Labels of a blob, an image, a lease or a snapshot: key to value.
pub type Labels = std::collections::BTreeMap<String, String>;
