//! The asking side of the status socket.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

use super::document::{Status, VERSION};

/// The agent answers from memory, after a look at its directories.
const ANSWER: Duration = Duration::from_secs(10);

/// Why the agent can't be asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens.
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
    let stream = UnixStream::connect(socket).await;
    let stream = stream.map_err(|source| ClientError::NoAgent {
        socket: socket.to_owned(),
        source,
    })?;
    let body = tokio::time::timeout(ANSWER, get(stream, "/v1/status")).await;
    let body = body.map_err(|_| unusable("it took too long".to_owned()))?;
    let body = body.map_err(|error| unusable(error.to_string()))?;
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

async fn get(
    stream: UnixStream,
    path: &str,
) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let request = Request::get(path)
        .header("host", "airdock")
        .body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
    if !response.status().is_success() {
        return Err(response.status().to_string().into());
    }
    let body = response.into_body().collect().await?.to_bytes();
    connection.abort();
    Ok(body)
}
