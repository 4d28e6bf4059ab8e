//! Writing a blob: what is asked for, and what happens when somebody was there before us.

use std::iter;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc::{self, Receiver};

use super::session::Session;
use crate::Labels;
use crate::client::Client;
use crate::error::{Call, Error};
use crate::limits::{
    COMMIT_DEADLINE, COMMIT_SIZE, LOCKED_PAUSE, LOCKED_PAUSE_MAX, LOCKED_PAUSES, WRITE_IDLE,
};
use crate::proto::content::{WriteAction, WriteContentRequest};
use crate::proto::signed;

/// Why the source of a blob's bytes gave up.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// A blob's bytes in order; an error ends the write.
pub type Chunks = Receiver<Result<Bytes, BodyError>>;

/// The bytes of a blob.
#[derive(Debug)]
pub enum Body {
    Whole(Bytes),
    /// Not read at all when the store has the blob already.
    Chunks(Chunks),
}

/// A blob to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteRequest {
    /// The name of the ingest. Whoever uses it must mean the same digest, and a failed write
    /// drops what stands under it.
    pub reference: String,
    /// What the daemon checks the bytes against.
    pub digest: String,
    /// In bytes.
    pub size: u64,
    /// Set along with the commit. Not applied when the blob is there already.
    pub labels: Labels,
}

/// How a write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    Committed,
    AlreadyExists,
}

impl Client {
    /// Writes a blob, under a lease if one is given. The daemon has checked its digest and size
    /// when this returns; it is under the lease in either case of [`Written`].
    ///
    /// A write that fails leaves nothing behind, as long as the daemon can still be asked. One
    /// that is dropped half-way leaves its ingest, which the next write of that reference, or
    /// [`Client::abort`], drops.
    pub async fn write(
        &self,
        lease: Option<&str>,
        request: WriteRequest,
        body: Body,
    ) -> Result<Written, Error> {
        let writer = Writer {
            client: self,
            call: Call::new("content.Write", &request.digest).under(lease),
            request,
        };
        if let Body::Whole(data) = &body {
            writer.check_size(data.len() as u64)?;
        }
        match writer.write(body).await {
            Ok(()) => Ok(Written::Committed),
            Err(Error::AlreadyExists { .. }) => Ok(Written::AlreadyExists),
            Err(error) => {
                writer.clear_after(&error).await;
                Err(error)
            }
        }
    }
}

struct Writer<'a> {
    client: &'a Client,
    call: Call,
    request: WriteRequest,
}

impl Writer<'_> {
    async fn write(&self, body: Body) -> Result<(), Error> {
        match body {
            Body::Whole(data) if data.len() <= COMMIT_SIZE => self.write_whole(data).await,
            Body::Whole(data) => self.write_chunks(&mut single(data)).await,
            Body::Chunks(mut chunks) => self.write_chunks(&mut chunks).await,
        }
    }

    /// One message opens, fills and commits. At offset 0 it also truncates what an earlier writer
    /// may have left.
    async fn write_whole(&self, data: Bytes) -> Result<(), Error> {
        let message = WriteContentRequest {
            data,
            ..self.message(WriteAction::Commit)
        };
        let session = self.open(message, COMMIT_DEADLINE).await?;
        session.committed().await
    }

    async fn write_chunks(&self, chunks: &mut Chunks) -> Result<(), Error> {
        let Some(mut session) = self.open_empty().await? else {
            return Ok(());
        };
        let filled = session.fill(chunks).await;
        if let Err(error) = filled.and_then(|given| self.check_size(given)) {
            session.close().await;
            return Err(error);
        }
        session.commit(self.message(WriteAction::Commit)).await
    }

    /// An open ingest without a byte in it; None when the blob could be committed at once.
    async fn open_empty(&self) -> Result<Option<Session<'_>>, Error> {
        let session = self.stat().await?;
        let offset = session.offset();
        if offset == 0 {
            return Ok(Some(session));
        }
        // Complete: the blob is in another namespace of this daemon, which shares it as soon as
        // we commit; or an earlier writer stopped just there.
        if offset == self.request.size {
            match session.commit(self.message(WriteAction::Commit)).await {
                Err(Error::FailedPrecondition { .. }) => {}
                answer => return answer.map(|()| None),
            }
        } else {
            session.close().await;
        }
        // Left behind by an earlier writer. Going on from there would trust bytes that nobody
        // vouches for, to fail at the very end.
        self.client.abort(&self.request.reference).await?;
        self.stat().await.map(Some)
    }

    async fn stat(&self) -> Result<Session<'_>, Error> {
        let message = self.message(WriteAction::Stat);
        self.open(message, WRITE_IDLE).await
    }

    /// Opens the ingest, and waits a little for another writer to leave it.
    async fn open(
        &self,
        first: WriteContentRequest,
        deadline: Duration,
    ) -> Result<Session<'_>, Error> {
        let mut pauses = pauses();
        loop {
            let first = first.clone();
            let session = Session::open(self.client, &self.call, first, deadline);
            match session.await {
                Err(error) if is_locked(&error) => match pauses.next() {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => return Err(error),
                },
                answer => return answer,
            }
        }
    }

    /// A message that says all about the blob; its labels count with a COMMIT only.
    fn message(&self, action: WriteAction) -> WriteContentRequest {
        WriteContentRequest {
            action: action.into(),
            r#ref: self.request.reference.clone(),
            total: signed(self.request.size),
            expected: self.request.digest.clone(),
            labels: self.request.labels.clone(),
            ..WriteContentRequest::default()
        }
    }

    fn check_size(&self, given: u64) -> Result<(), Error> {
        if given == self.request.size {
            return Ok(());
        }
        Err(Error::BodySize {
            call: self.call.clone(),
            given,
            size: self.request.size,
        })
    }

    /// Drops the ingest that a failed write left, unless it is another writer's, or never was, or
    /// nobody can be asked.
    async fn clear_after(&self, error: &Error) {
        let is_ours = !matches!(error, Error::Unavailable { .. } | Error::NotFound { .. });
        if is_ours && error.is_answer() {
            // The write has failed already, and that is the error to tell.
            let _ = self.client.abort(&self.request.reference).await;
        }
    }
}

fn single(data: Bytes) -> Chunks {
    let (sender, receiver) = mpsc::channel(1);
    // There is room for one.
    let _ = sender.try_send(Ok(data));
    receiver
}

/// The pauses between attempts to open a locked ingest.
fn pauses() -> impl Iterator<Item = Duration> {
    let longer = |pause: &Duration| Some((*pause * 2).min(LOCKED_PAUSE_MAX));
    iter::successors(Some(LOCKED_PAUSE), longer).take(LOCKED_PAUSES)
}

/// Whether another stream has this ingest open; the daemon says so in words alone.
fn is_locked(error: &Error) -> bool {
    matches!(error, Error::Unavailable { message, .. } if message.contains("locked"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_locked_ingest_takes_about_ten_seconds() {
        let all: Duration = pauses().sum();
        assert!((8..12).contains(&all.as_secs()), "{all:?}");
    }
}
