//! Blobs for tests, and what the daemon's own client says of them.

use airdock_containerd::{Body, BodyError, Chunks, Client, Error, Labels, WriteRequest, Written};
use airdock_testkit::Daemon;
use airdock_testkit::fixture::{Layer, sha256};
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::LEASE;

/// Bytes and their digest.
#[derive(Clone)]
pub(crate) struct Blob {
    pub(crate) data: Bytes,
    pub(crate) digest: String,
}

impl Blob {
    pub(crate) fn of(data: impl Into<Bytes>) -> Blob {
        let data = data.into();
        let digest = sha256(&data);
        Blob { data, digest }
    }

    /// A blob that needs several messages.
    pub(crate) fn large(seed: u64) -> Blob {
        const SIZE: usize = 9_000_000;
        Blob::of(Layer::noise(seed, SIZE).blob().content.clone())
    }

    pub(crate) fn reference(&self) -> String {
        format!("airdock-{}", self.digest)
    }

    pub(crate) fn request(&self) -> WriteRequest {
        WriteRequest {
            reference: self.reference(),
            digest: self.digest.clone(),
            size: self.data.len() as u64,
            labels: labels(&[("io.airdock.bundle", "b1")]),
        }
    }

    pub(crate) fn whole(&self) -> Body {
        Body::Whole(self.data.clone())
    }

    pub(crate) fn chunks(&self) -> Body {
        const CHUNK: usize = 300_000;
        let chunks = self.data.chunks(CHUNK);
        Body::Chunks(queue(chunks.map(|chunk| Ok(Bytes::copy_from_slice(chunk)))))
    }

    pub(crate) async fn write(&self, client: &Client, body: Body) -> Result<Written, Error> {
        client.write(Some(LEASE), self.request(), body).await
    }

    /// Whether `ctr` reads the same bytes.
    pub(crate) fn is_in(&self, daemon: &Daemon) -> bool {
        let got = daemon.ctr(&["content", "get", &self.digest]);
        got.is_ok_and(|out| out.status.success() && out.stdout == self.data)
    }
}

/// All of `chunks` at once, without a reader having to keep up.
pub(crate) fn queue(chunks: impl IntoIterator<Item = Result<Bytes, BodyError>>) -> Chunks {
    let chunks: Vec<_> = chunks.into_iter().collect();
    let (sender, receiver) = mpsc::channel(chunks.len().max(1));
    for chunk in chunks {
        sender.try_send(chunk).expect("a queue of the right length");
    }
    receiver
}

pub(crate) fn labels(pairs: &[(&str, &str)]) -> Labels {
    let pairs = pairs.iter();
    pairs
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

/// What `ctr` lists of ingests: reference, size and age, a line each.
pub(crate) fn ingests(daemon: &Daemon) -> std::io::Result<Vec<String>> {
    let listed = daemon.ctr_text(&["content", "active"])?;
    Ok(listed.lines().skip(1).map(str::to_owned).collect())
}
