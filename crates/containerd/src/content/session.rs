//! One Write stream: messages go out without waiting for their answers, within a window.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::time::timeout;
use tonic::{Response, Status, Streaming};

use super::wire::{self, Messages};
use super::write::{BodyError, Chunks};
use crate::client::Client;
use crate::error::{Call, Error};
use crate::limits::{CALL_DEADLINE, COMMIT_DEADLINE, WRITE_IDLE, WRITE_SIZE, WRITE_WINDOW};
use crate::proto::content::{WriteAction, WriteContentRequest, WriteContentResponse};
use crate::proto::{signed, unsigned};

/// An ingest that is open, and locked by us.
pub(super) struct Session<'a> {
    client: &'a Client,
    call: &'a Call,
    /// Unbounded, for the window bounds what is in it; None once we have nothing more to say.
    requests: Option<UnboundedSender<WriteContentRequest>>,
    answers: Streaming<WriteContentResponse>,
    /// Where the next byte goes.
    sent: u64,
    /// What the daemon says it has.
    acknowledged: u64,
    committed: bool,
}

enum Next {
    Answer,
    Chunk(Bytes),
    End,
}

impl<'a> Session<'a> {
    /// Opens the ingest that `first` names, and takes the answer to it.
    pub(super) async fn open(
        client: &'a Client,
        call: &'a Call,
        first: WriteContentRequest,
        deadline: Duration,
    ) -> Result<Session<'a>, Error> {
        let (requests, queue) = mpsc::unbounded_channel();
        // The daemon opens the stream on its side only once a message is there.
        let _ = requests.send(first);
        let request = client.leased(call, Messages::new(queue))?;
        let pending = async { wire::write(client, request).await.map(Response::new) };
        let mut session = Session {
            client,
            call,
            requests: Some(requests),
            answers: client.answer_within(deadline, call, pending).await?,
            sent: 0,
            acknowledged: 0,
            committed: false,
        };
        session.answer(deadline).await?;
        session.sent = session.acknowledged;
        Ok(session)
    }

    /// Bytes that the daemon has.
    pub(super) fn offset(&self) -> u64 {
        self.acknowledged
    }

    /// Sends all of `chunks`; the number of bytes that this ingest then has.
    pub(super) async fn fill(&mut self, chunks: &mut Chunks) -> Result<u64, Error> {
        loop {
            match self.next(chunks).await? {
                Next::Answer => {}
                Next::Chunk(data) => self.push(data),
                Next::End => return Ok(self.sent),
            }
        }
    }

    /// Whatever comes first; an answer alone where the window is full. The daemon has a deadline
    /// then, and nobody else has one: a source may take its time.
    async fn next(&mut self, chunks: &mut Chunks) -> Result<Next, Error> {
        let is_open = if self.sent.saturating_sub(self.acknowledged) >= WRITE_WINDOW {
            self.answer(WRITE_IDLE).await?
        } else {
            tokio::select! {
                answer = self.answers.message() => self.note(answer)?,
                chunk = chunks.recv() => return match chunk {
                    Some(Ok(data)) => Ok(Next::Chunk(data)),
                    Some(Err(source)) => Err(self.unreadable(source)),
                    None => Ok(Next::End),
                },
            }
        };
        if is_open {
            return Ok(Next::Answer);
        }
        Err(self.unfinished())
    }

    /// Sends `data` in messages of the right size.
    fn push(&mut self, mut data: Bytes) {
        while !data.is_empty() {
            let piece = data.split_to(data.len().min(WRITE_SIZE));
            let offset = self.sent;
            self.sent += piece.len() as u64;
            self.send(WriteContentRequest {
                action: WriteAction::Write.into(),
                offset: signed(offset),
                data: piece,
                ..WriteContentRequest::default()
            });
        }
    }

    /// Sends `commit` and waits until the blob is in the store.
    pub(super) async fn commit(self, commit: WriteContentRequest) -> Result<(), Error> {
        self.send(WriteContentRequest {
            offset: signed(self.sent),
            ..commit
        });
        self.committed().await
    }

    /// Waits for the end of a stream that has seen its COMMIT.
    pub(super) async fn committed(mut self) -> Result<(), Error> {
        self.hang_up();
        while self.answer(COMMIT_DEADLINE).await? {}
        if self.committed {
            return Ok(());
        }
        Err(self.unfinished())
    }

    /// Ends a stream without a commit, and waits until the daemon has let go of the ingest.
    pub(super) async fn close(mut self) {
        self.hang_up();
        while matches!(self.answer(CALL_DEADLINE).await, Ok(true)) {}
    }

    /// Takes the next answer; false at the end of the stream.
    async fn answer(&mut self, deadline: Duration) -> Result<bool, Error> {
        match timeout(deadline, self.answers.message()).await {
            Ok(answer) => self.note(answer),
            Err(_) => Err(Error::Deadline {
                call: self.call.clone(),
                after: deadline,
            }),
        }
    }

    fn note(
        &mut self,
        answer: Result<Option<WriteContentResponse>, Status>,
    ) -> Result<bool, Error> {
        let answer = answer.map_err(|status| self.client.error(self.call, &status))?;
        let Some(answer) = answer else {
            return Ok(false);
        };
        self.acknowledged = unsigned(answer.offset);
        self.committed |= answer.action() == WriteAction::Commit;
        Ok(true)
    }

    fn send(&self, message: WriteContentRequest) {
        // Fails only when the stream has ended, and then an answer tells why.
        if let Some(requests) = &self.requests {
            let _ = requests.send(message);
        }
    }

    fn hang_up(&mut self) {
        self.requests = None;
    }

    /// The daemon ended the stream as if all was well, but committed nothing.
    fn unfinished(&self) -> Error {
        Error::Malformed {
            call: self.call.clone(),
            field: "a commit",
        }
    }

    fn unreadable(&self, source: BodyError) -> Error {
        Error::Body {
            call: self.call.clone(),
            source,
        }
    }
}
