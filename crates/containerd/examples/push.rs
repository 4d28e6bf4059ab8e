//! Writes parts of a file to containerd's content store as blobs: all that an import has to do at
//! the least, for comparison.
//!
//! `push SOCKET NAMESPACE FILE CONNECTIONS`, with a line `DIGEST OFFSET SIZE` for each blob on
//! standard input. They go out in the order of the lines, one at a time on each connection.

use std::error::Error;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use airdock_containerd::{Body, Client, Labels, WriteRequest};
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::sync::mpsc;

/// Sent in one message, with the commit.
const WHOLE: usize = 1 << 20;

/// A message of a larger blob.
const CHUNK: usize = 1 << 20;

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Clone, Debug)]
struct Part {
    digest: String,
    offset: u64,
    size: usize,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [socket, namespace, file, connections] = arguments.as_slice() else {
        return Err("usage: push SOCKET NAMESPACE FILE CONNECTIONS".into());
    };
    let parts: Vec<Part> = io::stdin().lines().map(part).collect::<Result<_, _>>()?;
    let client = Client::connect(Path::new(socket), namespace)?;
    let clients = client.connections(connections.parse()?);
    let file = Arc::new(File::open(file)?);
    let writes = parts.into_iter().zip(clients.iter().cycle());
    stream::iter(writes)
        .map(|(part, client)| write(client, &file, part))
        .buffer_unordered(clients.len())
        .try_collect()
        .await
}

fn part(line: io::Result<String>) -> Result<Part, Failure> {
    let line = line?;
    let mut words = line.split_whitespace();
    let mut word = || words.next().ok_or("a line lacks a word");
    Ok(Part {
        digest: word()?.to_owned(),
        offset: word()?.parse()?,
        size: word()?.parse()?,
    })
}

async fn write(client: &Client, file: &Arc<File>, part: Part) -> Result<(), Failure> {
    let request = WriteRequest {
        reference: format!("push-{}", part.digest),
        digest: part.digest.clone(),
        size: part.size as u64,
        labels: Labels::new(),
    };
    let body = body(file, &part)?;
    client.write(None, request, body).await?;
    Ok(())
}

fn body(file: &Arc<File>, part: &Part) -> io::Result<Body> {
    if part.size <= WHOLE {
        return Ok(Body::Whole(read(file, part.offset, part.size)?));
    }
    let (sender, receiver) = mpsc::channel(2);
    let (file, part) = (Arc::clone(file), part.clone());
    tokio::task::spawn_blocking(move || {
        for start in (0..part.size).step_by(CHUNK) {
            let length = CHUNK.min(part.size - start);
            let chunk = read(&file, part.offset + start as u64, length);
            if sender.blocking_send(chunk.map_err(Into::into)).is_err() {
                return;
            }
        }
    });
    Ok(Body::Chunks(receiver))
}

fn read(file: &File, offset: u64, length: usize) -> io::Result<Bytes> {
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(Bytes::from(bytes))
}
