//! The agent's status socket: HTTP over a unix socket, one documented, versioned document and a
//! stream of events. Nothing that is asked of it can change anything.

pub mod client;
pub mod document;
pub mod metrics;
pub mod server;

/// Where the agent is asked, unless its state directory is another than the default.
pub const DEFAULT_SOCKET: &str = "/run/airdock/airdock.sock";
