//! What the commands share that ask a running agent.

use std::path::PathBuf;

use clap::Args;

use crate::admin::DEFAULT_SOCKET;
use crate::admin::client::{ClientError, status};
use crate::admin::document::Status;

/// Which agent is asked.
#[derive(Debug, Args)]
pub(super) struct AskOptions {
    /// Where the agent answers
    #[arg(long, env = "AIRDOCK_SOCKET", default_value = DEFAULT_SOCKET, value_name = "PATH")]
    socket: PathBuf,
}

impl AskOptions {
    /// Asks it for everything.
    pub(super) async fn status(&self) -> Result<Status, ClientError> {
        status(&self.socket).await
    }
}
