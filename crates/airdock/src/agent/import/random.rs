//! Blobs that can be read anywhere, with `pread` on one descriptor.

use std::num::NonZeroU64;

use airdock_bundle::archive::{Archive, EntryId, Region};
use airdock_containerd::{Body, BodyError};
use bytes::Bytes;
use rustix::fs::{Advice, fadvise};
use tokio::sync::mpsc;

use super::buffers::Buffers;
use super::sending::OnTheirWay;
use super::{CHUNK, CHUNKS_AHEAD, WHOLE, body_error};
use crate::store::StoreError;

/// The bytes of an entry, read ahead of the store by a bounded amount.
pub(super) async fn body(
    archive: &Archive,
    entry: EntryId,
    size: u64,
    buffers: &Buffers,
    sent: Option<OnTheirWay>,
) -> Result<Body, StoreError> {
    let region = archive.region(entry).map_err(|e| body_error(&e))?;
    let region = region.ok_or_else(|| StoreError::Body("it must be streamed".to_owned()))?;
    let region = Region {
        len: size,
        ..region
    };
    region_body(region, buffers, sent).await
}

/// The bytes of a region, read ahead of the store by a bounded amount.
pub(super) async fn region_body(
    region: Region,
    buffers: &Buffers,
    sent: Option<OnTheirWay>,
) -> Result<Body, StoreError> {
    let buffers = buffers.clone();
    if region.len <= WHOLE {
        let read = tokio::task::spawn_blocking(move || whole(&region, &buffers)).await;
        let read = read.unwrap_or_else(|e| Err(std::io::Error::other(e)));
        return Ok(Body::Whole(
            read.map_err(|e| StoreError::Body(e.to_string()))?,
        ));
    }
    let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
    tokio::task::spawn_blocking(move || {
        read_ahead(&region, &buffers, &sender);
        drop(sent);
    });
    Ok(Body::Chunks(receiver))
}

fn whole(region: &Region, buffers: &Buffers) -> std::io::Result<Bytes> {
    let length = usize::try_from(region.len).map_err(std::io::Error::other)?;
    buffers.read_at(&region.file, region.offset, length)
}

fn read_ahead(region: &Region, buffers: &Buffers, sender: &mpsc::Sender<Result<Bytes, BodyError>>) {
    let end = region.offset.saturating_add(region.len);
    let mut offset = region.offset;
    while offset < end {
        let length = usize::try_from(end - offset).map_or(CHUNK, |left| left.min(CHUNK));
        let chunk = buffers.read_at(&region.file, offset, length);
        let failed = chunk.is_err();
        // A receiver that is gone has the reason already.
        if sender.blocking_send(chunk.map_err(Into::into)).is_err() || failed {
            return;
        }
        offset += length as u64;
    }
    leave_page_cache(region);
}

/// What was read is not read again, and the page cache belongs to the node's pods. A hint: where
/// the file system doesn't take it, nothing is lost.
fn leave_page_cache(region: &Region) {
    let length = NonZeroU64::new(region.len);
    let _ = fadvise(&region.file, region.offset, length, Advice::DontNeed);
}
