//! Sends blobs as the queue gives them out and as they come out of a stream, until all are there.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;

use airdock_containerd::Body;

use super::Sender;
use super::queue::Queue;
use crate::agent::failure::Failure;
use crate::agent::offer::OfferedBlob;
use crate::store::{Put, StoreError};

/// A blob that a pass over the bundle came to.
pub(super) type Handed = (OfferedBlob, Body);

/// How a blob went.
type Outcome = (OfferedBlob, Result<Put, StoreError>);

enum Step {
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
) -> Result<Vec<(OfferedBlob, Put)>, Failure> {
    let mut sending = FuturesUnordered::new();
    let mut outcomes = Vec::new();
    loop {
        while let Some(blob) = queue.next() {
            sending.push(one(sender, blob, None));
        }
        let open = handed.as_mut().filter(|_| queue.has_room());
        let step = step(&mut sending, open);
        match sender.context.unless_cancelled(step).await? {
            Step::Handed((blob, body)) => {
                queue.begin(&blob);
                sending.push(one(sender, blob, Some(body)));
            }
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
) -> Step {
    let is_open = handed.is_some();
    let next = async {
        match handed {
            Some(handed) => handed.recv().await,
            None => None,
        }
    };
    tokio::select! {
        blob = next, if is_open => blob.map_or(Step::AllHanded, Step::Handed),
        Some(outcome) = sending.next(), if !sending.is_empty() => Step::Done(outcome),
        else => Step::End,
    }
}

async fn one(sender: &Sender<'_>, blob: OfferedBlob, body: Option<Body>) -> Outcome {
    let put = match body {
        Some(body) => sender.put(&blob, body).await,
        None => sender.send_one(&blob).await,
    };
    (blob, put)
}
