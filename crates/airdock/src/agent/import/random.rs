//! Blobs that can be read anywhere: several at once, with `pread` on one descriptor.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use airdock_bundle::archive::{EntryId, Region};
use airdock_bundle::open::Bundle;
use airdock_containerd::{Body, BodyError};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use tokio::sync::mpsc;

use super::{CHUNK, CHUNKS_AHEAD, CONCURRENT_BLOBS, Outcome, Sender, WHOLE, body_error};
use crate::agent::failure::Failure;
use crate::agent::offer::OfferedBlob;
use crate::store::StoreError;

/// Sends blobs, the largest first: the last to end are then small ones, and no connection idles.
pub(super) async fn send(
    sender: &Sender<'_>,
    mut blobs: Vec<OfferedBlob>,
) -> Result<Vec<Outcome>, Failure> {
    blobs.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.digest.cmp(&b.digest)));
    let mut sending = stream::iter(blobs)
        .map(|blob| async move {
            let outcome = sender.send_one(&blob).await;
            (blob, outcome)
        })
        .buffer_unordered(CONCURRENT_BLOBS);
    let mut outcomes = Vec::new();
    while let Some((blob, outcome)) = sender.context.unless_cancelled(sending.next()).await? {
        outcomes.push((blob, Ok(outcome?)));
    }
    Ok(outcomes)
}

/// The bytes of an entry, read ahead of the store by a bounded amount.
pub(super) async fn body(
    bundle: &Arc<Bundle>,
    entry: EntryId,
    size: u64,
) -> Result<Body, StoreError> {
    let region = bundle.archive().region(entry).map_err(|e| body_error(&e))?;
    let region = region.ok_or_else(|| StoreError::Body("it must be streamed".to_owned()))?;
    if size <= WHOLE {
        let read = tokio::task::spawn_blocking(move || whole(&region)).await;
        let read = read.unwrap_or_else(|e| Err(std::io::Error::other(e)));
        return Ok(Body::Whole(
            read.map_err(|e| StoreError::Body(e.to_string()))?,
        ));
    }
    let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
    tokio::task::spawn_blocking(move || read_ahead(&region, &sender));
    Ok(Body::Chunks(receiver))
}

fn whole(region: &Region) -> std::io::Result<Bytes> {
    let length = usize::try_from(region.len).map_err(std::io::Error::other)?;
    read_at(&region.file, region.offset, length)
}

fn read_ahead(region: &Region, sender: &mpsc::Sender<Result<Bytes, BodyError>>) {
    let end = region.offset.saturating_add(region.len);
    let mut offset = region.offset;
    while offset < end {
        let length = usize::try_from(end - offset).map_or(CHUNK, |left| left.min(CHUNK));
        let chunk = read_at(&region.file, offset, length).map_err(Into::into);
        let failed = chunk.is_err();
        // A receiver that is gone has the reason already.
        if sender.blocking_send(chunk).is_err() || failed {
            return;
        }
        offset += length as u64;
    }
}

fn read_at(file: &File, offset: u64, length: usize) -> std::io::Result<Bytes> {
    let mut chunk = vec![0; length];
    file.read_exact_at(&mut chunk, offset)?;
    Ok(Bytes::from(chunk))
}
