//! The asking side of the status socket.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

use super::document::{Status, VERSION};

/// The agent answers from memory, after a look at its directories.
const ANSWER: Duration = Duration::from_secs(10);

/// Why the agent can't be asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens, or who did went away.
    #[error(
        "no agent answers at {}: {source}; is `airdock watch` running? (another socket: --socket)",
        socket.display()
    )]
    NoAgent {
        /// The socket.
        socket: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// What came isn't an answer.
    #[error("the agent at {} gave no usable answer: {reason}", socket.display())]
    Unusable {
        /// The socket.
        socket: PathBuf,
        /// Why.
        reason: String,
    },
}

/// Asks the agent for everything that it knows.
pub async fn status(socket: &Path) -> Result<Status, ClientError> {
    let unusable = |reason: String| ClientError::Unusable {
        socket: socket.to_owned(),
        reason,
    };
    let answer = tokio::time::timeout(ANSWER, get(socket, "/v1/status")).await;
    let answer = answer.map_err(|_| unusable("it took too long".to_owned()))?;
    let (code, body) = answer.map_err(|source| ClientError::NoAgent {
        socket: socket.to_owned(),
        source,
    })?;
    if !code.is_success() {
        return Err(unusable(code.to_string()));
    }
    let status: Status =
        serde_json::from_slice(&body).map_err(|error| unusable(error.to_string()))?;
    if status.version != VERSION {
        let version = status.version;
        return Err(unusable(format!(
            "its document has version {version}, not {VERSION}"
        )));
    }
    Ok(status)
}

async fn get(socket: &Path, path: &str) -> io::Result<(StatusCode, Bytes)> {
    let stream = UnixStream::connect(socket).await?;
    let broken = io::Error::other::<hyper::Error>;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    let connection = tokio::spawn(connection);
    let request = Request::get(path)
        .header("host", "airdock")
        .body(Empty::<Bytes>::new())
        .map_err(io::Error::other)?;
    let response = sender.send_request(request).await.map_err(broken)?;
    let code = response.status();
    let body = response.into_body().collect().await.map_err(broken)?;
    connection.abort();
    Ok((code, body.to_bytes()))
}
