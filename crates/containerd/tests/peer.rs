//! What becomes of a call when the other side is silent, broken, full, or no containerd at all.
//!
//! The clock stands still but for deadlines: it jumps to the next one whenever both sides wait.

#![expect(
    clippy::unwrap_used,
    reason = "tests state facts about values that they made themselves"
)]

use airdock_containerd::limits::{CALL_DEADLINE, COMMIT_DEADLINE, WRITE_IDLE, WRITE_WINDOW};
use airdock_containerd::{Body, Client, Error, Labels, Unreachable, WriteRequest, Written};
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request, Response};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

/// What the peer does with a call; when the steps are over it is silent.
#[derive(Clone, Copy)]
enum Step {
    Message(&'static [u8]),
    Status(&'static str, &'static str),
    Cut,
}

/// What the peer does with each call, by its path.
type Script = fn(&str) -> &'static [Step];

/// A Write answer with every field zero: the ingest is open and empty.
const OPENED: Step = Step::Message(&[]);

/// A call of which both ends are kept, so that it neither goes on nor ends.
type Kept = (RecvStream, SendStream<Bytes>);

/// A client of a peer that follows `script`. The socket is gone with the folder.
fn client(script: Script) -> (Client, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, script));
        }
    });
    (Client::connect(&socket, "k8s.io").unwrap(), dir)
}

async fn serve(stream: UnixStream, script: Script) {
    let mut connection = h2::server::handshake(stream).await.unwrap();
    let mut kept = Vec::new();
    while let Some(Ok((request, respond))) = connection.accept().await {
        let steps = script(request.uri().path());
        match play(request, respond, steps) {
            Some(call) => kept.push(call),
            None => return,
        }
    }
}

/// Follows the steps; None when the connection is to be cut.
fn play(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    steps: &[Step],
) -> Option<Kept> {
    let headers = Response::builder().header("content-type", "application/grpc");
    let mut answer = respond
        .send_response(headers.body(()).unwrap(), false)
        .unwrap();
    for step in steps {
        match *step {
            Step::Message(message) => answer.send_data(frame(message), false).unwrap(),
            Step::Status(code, message) => answer.send_trailers(trailers(code, message)).unwrap(),
            Step::Cut => return None,
        }
    }
    Some((request.into_body(), answer))
}

/// Not compressed, and the length in four bytes.
fn frame(message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0], &length[..], message].concat().into()
}

fn trailers(code: &'static str, message: &'static str) -> HeaderMap {
    let pairs = [("grpc-status", code), ("grpc-message", message)];
    let headers = pairs.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
    headers.into_iter().collect()
}

fn request(size: u64) -> WriteRequest {
    WriteRequest {
        reference: "airdock-x".to_owned(),
        digest: "sha256:x".to_owned(),
        size,
        labels: Labels::new(),
    }
}

/// Writes a blob of this size, which comes as it is read.
async fn write(client: &Client, size: u64) -> Result<Written, Error> {
    let (chunks, receiver) = mpsc::channel(1);
    let data = Bytes::from(vec![0; usize::try_from(size).unwrap()]);
    chunks.try_send(Ok(data)).unwrap();
    drop(chunks);
    client
        .write(None, request(size), Body::Chunks(receiver))
        .await
}

fn is_deadline<T>(answer: Result<T, Error>, expected: std::time::Duration) -> bool {
    matches!(answer, Err(error @ Error::Deadline { after, .. }) if after == expected && error.is_retryable())
}

#[tokio::test(start_paused = true)]
async fn a_silent_daemon_is_given_up() {
    let (client, _dir) = client(|_| &[]);
    assert!(is_deadline(client.version().await, CALL_DEADLINE));
    assert!(is_deadline(client.content_list().await, CALL_DEADLINE));
    assert!(is_deadline(write(&client, 1).await, WRITE_IDLE));
}

#[tokio::test(start_paused = true)]
async fn a_daemon_that_takes_no_more_bytes_is_given_up() {
    let (client, _dir) = client(|_| &[OPENED]);
    let written = write(&client, WRITE_WINDOW).await;
    assert!(is_deadline(written, WRITE_IDLE));
}

#[tokio::test(start_paused = true)]
async fn a_commit_has_longer() {
    let (client, _dir) = client(|_| &[OPENED]);
    assert!(is_deadline(write(&client, 1).await, COMMIT_DEADLINE));
}

#[tokio::test]
async fn an_end_without_a_commit_is_no_success() {
    let (client, _dir) = client(|_| &[OPENED, Step::Status("0", "")]);
    for size in [1, 2 * WRITE_WINDOW] {
        let error = write(&client, size).await.unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
    }
    let whole = Body::Whole(Bytes::from_static(b"x"));
    let error = client.write(None, request(1), whole).await.unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error}");
}

#[tokio::test]
async fn a_full_disk_is_told_apart() {
    const FULL: Step = Step::Status("2", "write /x: no space left on device: unknown");
    for script in [(|_| &[FULL]) as Script, |_| &[OPENED, FULL]] {
        let (client, _dir) = client(script);
        let error = write(&client, 1).await.unwrap_err();
        assert!(matches!(error, Error::NoSpace { .. }), "{error}");
        assert!(!error.is_retryable());
    }
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_stays_ends_in_unavailable() {
    let (client, _dir) = client(|_| &[Step::Status("14", "ref x locked for 1s: unavailable")]);
    let begin = tokio::time::Instant::now();
    let error = write(&client, 1).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }), "{error}");
    assert!(error.is_retryable());
    assert_eq!(begin.elapsed().as_secs(), 9);
}

#[tokio::test]
async fn a_broken_connection_is_worth_a_retry() {
    let (client, _dir) = client(|_| &[Step::Cut]);
    let error = client.version().await.unwrap_err();
    assert!(matches!(error, Error::Disconnected { .. }), "{error}");
    assert!(error.is_retryable());
}

fn is_not_containerd<T>(answer: Result<T, Error>) -> bool {
    matches!(
        answer,
        Err(error @ Error::Connect { reason: Unreachable::NotContainerd(_), .. }) if !error.is_retryable()
    )
}

#[tokio::test]
async fn another_runtime_is_not_containerd() {
    let (client, _dir) = client(|_| &[Step::Status("12", "unknown service")]);
    assert!(is_not_containerd(client.version().await));
}

#[tokio::test]
async fn another_protocol_is_not_containerd() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    let client = Client::connect(&socket, "k8s.io").unwrap();
    let web = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let words = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(words).await.unwrap();
        stream
    };
    let (_stream, answer) = tokio::join!(web, client.version());
    assert!(is_not_containerd(answer));
}
