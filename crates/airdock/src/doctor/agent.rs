//! The agent: whether one answers, and whether it is of this program.

use std::path::Path;

use super::Finding;
use crate::admin::client::{ClientError, status};

const CHECK: &str = "agent";

pub(super) async fn examine(socket: &Path) -> Finding {
    let own = env!("CARGO_PKG_VERSION");
    match status(socket).await {
        Ok(status) if status.agent.version == own => {
            let (pid, socket) = (status.agent.pid, socket.display());
            Finding::ok(
                CHECK,
                format!("airdock {own}, pid {pid}, answers at {socket}"),
            )
        }
        Ok(status) => {
            let found = format!("airdock {} runs, this is {own}", status.agent.version);
            Finding::warning(CHECK, found, "systemctl restart airdock")
        }
        Err(ClientError::NoAgent { socket, source }) => {
            let found = format!("none answers at {}: {source}", socket.display());
            Finding::warning(CHECK, found, "start it: systemctl start airdock")
        }
        Err(error) => Finding::error(CHECK, error.to_string(), "systemctl restart airdock"),
    }
}
