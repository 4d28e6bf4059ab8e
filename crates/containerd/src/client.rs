//! The connection: a lazily opened HTTP/2 channel over a unix socket, and what every call shares.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, Stream, TryStreamExt};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status, Streaming};

use crate::error::{Call, Error, Unreachable};
use crate::limits::{CALL_DEADLINE, CONNECTION_WINDOW, STREAM_WINDOW};

const NAMESPACE: &str = "containerd-namespace";
const LEASE: &str = "containerd-lease";

/// A connection to one containerd, in one namespace. Clones share the connection.
#[derive(Debug, Clone)]
pub struct Client {
    channel: Channel,
    address: Arc<Address>,
}

#[derive(Debug)]
struct Address {
    socket: PathBuf,
    namespace: String,
    header: MetadataValue<Ascii>,
}

impl Client {
    /// Prepares a connection; the first call opens it, and a later one opens it again when it
    /// broke. Fails only for a namespace that no header can carry. The connection lives in the
    /// tokio runtime that this is called in, and there must be one.
    pub fn connect(socket: &Path, namespace: &str) -> Result<Client, Error> {
        let call = Call::new("connect", socket.display().to_string());
        let address = Address {
            socket: socket.to_path_buf(),
            namespace: namespace.to_owned(),
            header: header(&call, namespace)?,
        };
        Ok(Client {
            channel: open(socket),
            address: Arc::new(address),
        })
    }

    /// `count` clients with a connection each: one HTTP/2 connection carries less than the daemon
    /// can take, two to four fill it.
    pub fn connections(&self, count: usize) -> Vec<Client> {
        let one = || self.reconnected();
        std::iter::repeat_with(one).take(count).collect()
    }

    /// The same with a connection of its own: what breaks one doesn't break the other.
    #[must_use]
    pub fn reconnected(&self) -> Client {
        Client {
            channel: open(&self.address.socket),
            address: Arc::clone(&self.address),
        }
    }

    /// The socket that this client talks to.
    pub fn socket(&self) -> &Path {
        &self.address.socket
    }

    /// The containerd namespace of every call.
    pub fn namespace(&self) -> &str {
        &self.address.namespace
    }

    pub(crate) fn channel(&self) -> Channel {
        self.channel.clone()
    }

    /// `message` for our namespace.
    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let namespace = self.address.header.clone();
        request.metadata_mut().insert(NAMESPACE, namespace);
        request
    }

    /// `message` for our namespace, under the call's lease if it has one.
    pub(crate) fn leased<T>(&self, call: &Call, message: T) -> Result<Request<T>, Error> {
        let mut request = self.request(message);
        if let Some(lease) = &call.lease {
            let lease = header(call, lease)?;
            request.metadata_mut().insert(LEASE, lease);
        }
        Ok(request)
    }

    pub(crate) fn error(&self, call: &Call, status: &Status) -> Error {
        Error::from_status(call.clone(), status, &self.address.socket)
    }

    /// The answer to a unary call within the usual deadline.
    pub(crate) async fn answer<T>(
        &self,
        call: &Call,
        pending: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Error> {
        self.answer_within(CALL_DEADLINE, call, pending).await
    }

    pub(crate) async fn answer_within<T>(
        &self,
        after: Duration,
        call: &Call,
        pending: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Error> {
        match tokio::time::timeout(after, pending).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(self.error(call, &status)),
            Err(_) => Err(Error::Deadline {
                call: call.clone(),
                after,
            }),
        }
    }

    /// The messages of a streaming answer, each due within `idle` of the one before. The call
    /// starts when the stream is first polled.
    pub(crate) fn messages<T, F>(
        &self,
        call: Call,
        idle: Duration,
        pending: F,
    ) -> impl Stream<Item = Result<T, Error>> + use<T, F>
    where
        F: Future<Output = Result<Response<Streaming<T>>, Status>>,
    {
        let client = self.clone();
        let opened = async move {
            let stream = client.answer_within(idle, &call, pending).await?;
            Ok(stream::try_unfold(stream, move |mut stream| {
                let (client, call) = (client.clone(), call.clone());
                async move {
                    let next = async { stream.message().await.map(Response::new) };
                    let message = client.answer_within(idle, &call, next).await?;
                    Ok(message.map(|message| (message, stream)))
                }
            }))
        };
        stream::once(opened).try_flatten()
    }
}

/// Gives a generated client our connection and our message limit. A macro because the generated
/// clients have these methods in common, but no trait.
macro_rules! service {
    ($client:expr, $service:ty) => {
        <$service>::new($client.channel()).max_decoding_message_size($crate::limits::MESSAGE_SIZE)
    };
}
pub(crate) use service;

fn header(call: &Call, value: &str) -> Result<MetadataValue<Ascii>, Error> {
    value.parse().map_err(|_| Error::InvalidArgument {
        call: call.clone(),
        message: format!("{value:?} cannot stand in a header"),
    })
}

fn open(socket: &Path) -> Channel {
    let socket = socket.to_path_buf();
    // The authority is never resolved: the connector knows where to go.
    Endpoint::from_static("http://localhost")
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .connect_with_connector_lazy(tower::service_fn(move |_| dial(socket.clone())))
}

async fn dial(socket: PathBuf) -> Result<TokioIo<UnixStream>, Unreachable> {
    match UnixStream::connect(&socket).await {
        Ok(stream) => Ok(TokioIo::new(stream)),
        Err(error) => Err(Unreachable::from_io(&error, &socket)),
    }
}
