//! The agent's side of the status socket.

use std::convert::Infallible;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use axum::Json;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{mpsc, oneshot};

use super::document::Status;
use crate::output::Reporter;

/// Whoever can open the socket can see what runs on the node.
const MODE: u32 = 0o600;
/// With a group: its members too.
const GROUP_MODE: u32 = 0o660;

/// Queries that wait for the agent's loop; more wait at the socket.
pub const QUERIES: usize = 16;

/// A question to the agent's loop.
pub type Query = oneshot::Sender<Status>;

/// Why there is no status socket.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Another process serves it.
    #[error("status socket {}: another agent answers there; choose another with --socket", .0.display())]
    Taken(PathBuf),
    /// It can't be made.
    #[error("status socket {}: {action}: {source}; choose another with --socket", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The socket.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// A status socket that is listened on.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
}

impl Server {
    /// Makes the socket. What a process left there that no longer lives is replaced.
    pub async fn bind(path: &Path, group: Option<u32>) -> Result<Self, ServerError> {
        if UnixStream::connect(path).await.is_ok() {
            return Err(ServerError::Taken(path.to_owned()));
        }
        let failed = |action| {
            let path = path.to_owned();
            move |source| ServerError::Io {
                action,
                path,
                source,
            }
        };
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(failed("create its directory"))?;
        }
        // Made beside and renamed into place: at no time can others connect.
        let beside = path.with_extension(std::process::id().to_string());
        let listener = UnixListener::bind(&beside).map_err(failed("listen"))?;
        close_to_others(&beside, group).map_err(failed("set its permissions"))?;
        fs::rename(&beside, path).map_err(failed("rename"))?;
        Ok(Self {
            listener,
            path: path.to_owned(),
        })
    }

    /// Starts to answer; questions go to `queries`.
    pub fn serve(self, queries: mpsc::Sender<Query>, reporter: Reporter) -> Served {
        let router = Router::new()
            .route("/v1/status", get(status))
            .route("/v1/events", get(events))
            .with_state(Shared { queries, reporter });
        let task = tokio::spawn(async move {
            // It ends with the process.
            drop(axum::serve(self.listener, router).await);
        });
        let path = self.path;
        Served { path, task }
    }
}

/// A socket that is answered on; dropping it takes it away.
#[derive(Debug)]
pub struct Served {
    path: PathBuf,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
        drop(fs::remove_file(&self.path));
    }
}

fn close_to_others(socket: &Path, group: Option<u32>) -> io::Result<()> {
    let mode = match group {
        Some(group) => {
            std::os::unix::fs::chown(socket, None, Some(group))?;
            GROUP_MODE
        }
        None => MODE,
    };
    fs::set_permissions(socket, Permissions::from_mode(mode))
}

#[derive(Clone, Debug)]
struct Shared {
    queries: mpsc::Sender<Query>,
    reporter: Reporter,
}

async fn status(State(shared): State<Shared>) -> Response {
    let (reply, answer) = oneshot::channel();
    let asked = shared.queries.send(reply).await;
    match (asked, answer.await) {
        (Ok(()), Ok(status)) => Json(status).into_response(),
        _ => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// One JSON object a line, for as long as somebody reads.
async fn events(State(shared): State<Shared>) -> Response {
    let listening = shared.reporter.listen();
    let lines = stream::unfold(listening, |mut listening| async move {
        loop {
            let line = match listening.recv().await {
                Ok(event) => serde_json::to_string(&*event).ok(),
                Err(RecvError::Lagged(lost)) => {
                    Some(format!(r#"{{"event":"missed","count":{lost}}}"#))
                }
                Err(RecvError::Closed) => return None,
            };
            if let Some(line) = line {
                let line = Bytes::from(format!("{line}\n"));
                return Some((Ok::<_, Infallible>(line), listening));
            }
        }
    });
    let kind = [(header::CONTENT_TYPE, "application/x-ndjson")];
    (kind, Body::from_stream(lines)).into_response()
}
