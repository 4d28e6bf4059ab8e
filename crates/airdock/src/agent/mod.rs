//! The agent: what stands in the sources becomes what is in the store, and stays so.
//!
//! ```text
//! watch ──hint──▶ scan ─▶ settle ─▶ open ─▶ plan ─▶ import ─▶ publish ─▶ ledger
//!   ▲                                         ▲                            │
//!   └── store events ───── resync ────────────┘      bundle gone ─▶ release
//! ```
//!
//! Each stage is a file, and its result is the next one's argument. [`bring`] is the way of one
//! bundle; [`Agent`] decides, in one task, which bundle goes it when.

pub mod bring;
pub mod context;
mod elsewhere;
pub mod event;
pub mod failure;
mod heal;
pub mod import;
pub mod ledger;
mod look;
mod notice;
pub mod offer;
pub mod open;
pub mod patterns;
pub mod plan;
pub mod publish;
mod release;
mod reload;
pub mod retry;
mod run;
pub(crate) mod safety;
pub mod scan;
pub mod settle;
pub mod sources;
pub mod space;
mod status;
mod summary;
pub mod terms;
pub mod tracked;
mod unclean;
mod unpack;
pub mod watch;
pub mod work;

pub use run::{Agent, Inbox, Mode};
