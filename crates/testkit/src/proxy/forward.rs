//! The way of one connection, one call, one message.

use std::future::{pending, poll_fn};
use std::os::unix::net::UnixListener as StdListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::server::{self, SendResponse};
use h2::{RecvStream, SendStream};
use http::{HeaderMap, HeaderValue, Request, Response, request};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::fault::Kind;
use super::{Record, Struck, lock};

/// What a call may send before it is asked to wait: enough for whole messages.
const WINDOW: u32 = 4 << 20;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Which side of a way broke.
enum Broken {
    From(Error),
    To(Error),
}

/// What became of a call; the connection goes on, or not.
#[derive(PartialEq, Eq)]
enum End {
    Call,
    Connection,
}

pub(super) async fn serve(
    listener: StdListener,
    upstream: PathBuf,
    record: Arc<Mutex<Record>>,
) -> Result<(), Error> {
    let listener = UnixListener::from_std(listener)?;
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        connections.spawn(connection(stream, upstream.clone(), Arc::clone(&record)));
    }
}

/// A client's connection with one of its own to the daemon, so that both break together.
async fn connection(
    client: UnixStream,
    upstream: PathBuf,
    record: Arc<Mutex<Record>>,
) -> Result<(), Error> {
    let (daemon, driver) = h2::client::Builder::new()
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .handshake(UnixStream::connect(upstream).await?)
        .await?;
    let mut client = server::Builder::new()
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .handshake(client)
        .await?;
    let mut calls = JoinSet::new();
    tokio::pin!(driver);
    loop {
        tokio::select! {
            ended = &mut driver => return Ok(ended?),
            Some(end) = calls.join_next() => if end? == End::Connection {
                return Ok(());
            },
            accepted = client.accept() => match accepted {
                Some(accepted) => {
                    let (request, respond) = accepted?;
                    calls.spawn(call(request, respond, daemon.clone(), Arc::clone(&record)));
                }
                None => return Ok(()),
            },
        }
    }
}

/// Passes a call on, up to where it is to be spoilt.
async fn call(
    request: Request<RecvStream>,
    respond: SendResponse<Bytes>,
    daemon: SendRequest<Bytes>,
    record: Arc<Mutex<Record>>,
) -> End {
    let (number, fault) = lock(&record).begin(request.uri().path());
    let mut down = Down {
        respond,
        stream: None,
    };
    let (head, mut body) = request.into_parts();
    if let Some(end) = strike(fault, &mut down).await {
        return end;
    }
    let Ok((response, mut up)) = open(daemon, head, body.is_end_stream()).await else {
        return End::Call;
    };
    let note = |bytes| lock(&record).sent(number, bytes);
    let fault = tokio::select! {
        passed = pass_up(&mut body, &mut up, note) => passed.ok(),
        _ = pass_down(response, &mut down) => None,
    };
    // Without one it is over; or it broke, and the client sees its stream end.
    strike(fault, &mut down).await.unwrap_or(End::Call)
}

async fn open(
    daemon: SendRequest<Bytes>,
    head: request::Parts,
    is_whole: bool,
) -> Result<(ResponseFuture, SendStream<Bytes>), h2::Error> {
    let mut daemon = daemon.ready().await?;
    daemon.send_request(Request::from_parts(head, ()), is_whole)
}

/// What becomes of a call that is struck; `None` when it goes on.
async fn strike(struck: Option<Struck>, down: &mut Down) -> Option<End> {
    let Struck { kind, healing } = struck?;
    match kind {
        Kind::Cut => Some(End::Connection),
        Kind::Hang => {
            healed(healing).await;
            Some(End::Connection)
        }
        Kind::Stop => {
            healed(healing).await;
            None
        }
        Kind::Status(code, message) => {
            // Fails where the client has gone, who then needs no answer.
            let _ = down.end(code, &message);
            Some(End::Call)
        }
    }
}

async fn healed(mut healing: watch::Receiver<()>) {
    // Fails when the proxy ends, and its connections with it.
    let _ = healing.changed().await;
}

/// Our side of the way to the client.
struct Down {
    respond: SendResponse<Bytes>,
    /// Once the answer has begun.
    stream: Option<SendStream<Bytes>>,
}

impl Down {
    /// Ends the call as a server does: in trailers, or in headers where nothing came before.
    fn end(&mut self, code: u8, message: &str) -> Result<(), Error> {
        let mut status = HeaderMap::new();
        status.insert("grpc-status", HeaderValue::from(u16::from(code)));
        status.insert("grpc-message", HeaderValue::from_str(message)?);
        if let Some(stream) = &mut self.stream {
            return Ok(stream.send_trailers(status)?);
        }
        let mut response = Response::new(());
        *response.headers_mut() = status;
        let grpc = HeaderValue::from_static("application/grpc");
        response.headers_mut().insert("content-type", grpc);
        self.respond.send_response(response, true)?;
        Ok(())
    }
}

/// The client's side of a call, up to a fault that ends it. Without one it has no end: the answer
/// has.
async fn pass_up(
    body: &mut RecvStream,
    up: &mut SendStream<Bytes>,
    mut note: impl FnMut(u64) -> Option<Struck>,
) -> Result<Struck, Error> {
    loop {
        match pass(body, up, &mut note).await {
            Ok(Some(struck)) if struck.kind == Kind::Stop => healed(struck.healing).await,
            Ok(Some(struck)) => return Ok(struck),
            // The client gave the call up.
            Err(Broken::From(error)) => return Err(error),
            // The daemon takes no more; its answer, which may be under way, says why.
            Ok(None) | Err(Broken::To(_)) => return pending().await,
        }
    }
}

async fn pass_down(response: ResponseFuture, down: &mut Down) -> Result<(), Error> {
    let (head, mut body) = response.await?.into_parts();
    let response = Response::from_parts(head, ());
    let is_whole = body.is_end_stream();
    let stream = down.respond.send_response(response, is_whole)?;
    let stream = down.stream.insert(stream);
    if !is_whole {
        pass(&mut body, stream, |_| None).await?;
    }
    Ok(())
}

/// Passes everything on, then trailers, unless `note` finds a fault at some piece.
async fn pass(
    from: &mut RecvStream,
    to: &mut SendStream<Bytes>,
    mut note: impl FnMut(u64) -> Option<Struck>,
) -> Result<Option<Struck>, Broken> {
    while let Some(piece) = from.data().await {
        let piece = piece.map_err(Broken::from)?;
        let bytes = piece.len();
        send(to, piece).await.map_err(Broken::To)?;
        let taken = from.flow_control().release_capacity(bytes);
        taken.map_err(Broken::from)?;
        if let Some(struck) = note(bytes as u64) {
            return Ok(Some(struck));
        }
    }
    let trailers = from.trailers().await.map_err(Broken::from)?;
    let ended = match trailers {
        Some(trailers) => to.send_trailers(trailers),
        None => to.send_data(Bytes::new(), true),
    };
    ended.map_err(|error| Broken::To(error.into()))?;
    Ok(None)
}

impl From<h2::Error> for Broken {
    fn from(error: h2::Error) -> Self {
        Self::From(error.into())
    }
}

impl From<Broken> for Error {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::From(error) | Broken::To(error) => error,
        }
    }
}

/// Sends all of `data`, as fast as the other side takes it.
async fn send(to: &mut SendStream<Bytes>, mut data: Bytes) -> Result<(), Error> {
    while !data.is_empty() {
        to.reserve_capacity(data.len());
        let room = poll_fn(|context| to.poll_capacity(context)).await;
        let room = room.ok_or("the stream has ended")??;
        to.send_data(data.split_to(room.min(data.len())), false)?;
    }
    Ok(())
}
