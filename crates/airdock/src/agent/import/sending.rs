//! Sends blobs as the queue gives them out and as they come out of a stream, until all are there.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio::sync::mpsc::UnboundedReceiver;

use airdock_containerd::Body;

use super::queue::Queue;
use super::{Sender, WHOLE};
use crate::agent::failure::Failure;
use crate::agent::offer::OfferedBlob;
use crate::store::{Put, StoreError};

/// A blob that a pass over the bundle came to.
pub(super) type Handed = (OfferedBlob, Body);

/// How a blob went.
type Outcome = (OfferedBlob, Result<Put, StoreError>);

/// Tells, when it is dropped, that the bytes of a large blob are out, or not wanted.
#[derive(Debug)]
pub(super) struct OnTheirWay(pub(super) mpsc::UnboundedSender<()>);

impl Drop for OnTheirWay {
    fn drop(&mut self) {
        // Nobody listens any more when the import has ended.
        let _ = self.0.send(());
    }
}

enum Step {
    Sent,
    Handed(Handed),
    AllHanded,
    Done(Outcome),
    End,
}

/// Sends all that is in the queue, and all that is handed over.
pub(super) async fn send(
    sender: &Sender<'_>,
    mut queue: Queue,
    mut handed: Option<mpsc::Receiver<Handed>>,
    mut sent: UnboundedReceiver<()>,
) -> Result<Vec<(OfferedBlob, Put)>, Failure> {
    let mut sending = FuturesUnordered::new();
    let mut outcomes = Vec::new();
    loop {
        while let Some(blob) = queue.next() {
            sending.push(one(sender, blob, None));
        }
        let open = handed.as_mut().filter(|_| queue.has_room());
        let is_told = queue.is_sending();
        let step = step(&mut sending, open, is_told.then_some(&mut sent));
        match sender.context.unless_cancelled(step).await? {
            Step::Handed((blob, body)) => {
                queue.begin(&blob);
                sending.push(one(sender, blob, Some(body)));
            }
            Step::Sent => queue.sent(),
            Step::AllHanded => handed = None,
            Step::Done((blob, put)) => {
                queue.done(&blob);
                outcomes.push((blob, put?));
            }
            Step::End => return Ok(outcomes),
        }
    }
}

/// Whatever comes first.
async fn step(
    sending: &mut FuturesUnordered<impl Future<Output = Outcome>>,
    handed: Option<&mut mpsc::Receiver<Handed>>,
    sent: Option<&mut UnboundedReceiver<()>>,
) -> Step {
    let (is_open, is_told) = (handed.is_some(), sent.is_some());
    let next = async {
        match handed {
            Some(handed) => handed.recv().await,
            None => None,
        }
    };
    let told = async {
        match sent {
            Some(sent) => sent.recv().await,
            None => None,
        }
    };
    tokio::select! {
        Some(()) = told, if is_told => Step::Sent,
        blob = next, if is_open => blob.map_or(Step::AllHanded, Step::Handed),
        Some(outcome) = sending.next(), if !sending.is_empty() => Step::Done(outcome),
        else => Step::End,
    }
}

async fn one(sender: &Sender<'_>, blob: OfferedBlob, body: Option<Body>) -> Outcome {
    let put = match body {
        Some(body) => sender.put(&blob, body).await,
        None => {
            let sent = (blob.size > WHOLE).then(|| OnTheirWay(sender.sent.clone()));
            sender.send_one(&blob, sent).await
        }
    };
    (blob, put)
}
