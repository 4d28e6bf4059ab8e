//! What the commands share that ask a running agent.

use std::path::PathBuf;

use clap::Args;

use super::options::GlobalOptions;
use crate::admin::client::status;
use crate::admin::document::Status;

/// Which agent is asked.
#[derive(Debug, Args)]
pub(super) struct AskOptions {
    /// Where the agent answers [default: /run/airdock/airdock.sock]
    #[arg(long, env = "AIRDOCK_SOCKET", value_name = "PATH")]
    socket: Option<PathBuf>,
}

impl AskOptions {
    /// Asks it for everything.
    pub(super) async fn status(&self, global: &GlobalOptions) -> anyhow::Result<Status> {
        let socket = || self.socket.clone();
        let settings = global.settings(|typed| typed.layer.socket = socket())?;
        Ok(status(&settings.socket.path).await?)
    }
}
