//! The writing of a bundle, beside the runtime's threads.

use std::io::{self, Read};

use airdock_bundle::digest::Digest;
use airdock_bundle::write::Contents;
use tokio_util::sync::CancellationToken;

use crate::pack::file::{self, FileError, Written};
use crate::pack::origin::{Blob, Blobs};
use crate::pack::request::Request;

/// What happens while a bundle is made.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// The file is begun, with so many bytes to write.
    Writing(u64),
    /// Bytes that were written.
    Wrote(u64),
}

/// On a thread that may wait for blobs.
pub(in crate::pack) async fn write(
    contents: Contents,
    blobs: Blobs,
    request: &Request,
    cancel: &CancellationToken,
    progress: impl Fn(Progress) + Send + 'static,
) -> Result<(Contents, Written), FileError> {
    let (request, cancel) = (request.clone(), cancel.clone());
    let writing = tokio::task::spawn_blocking(move || {
        progress(Progress::Writing(contents.size()));
        let mut bodies = |digest: &Digest, _: u64| -> io::Result<Box<dyn Read + '_>> {
            blobs.get(digest).map_or_else(absent, Blob::open)
        };
        let file = file::write(&contents, &request, &cancel, &mut bodies, &mut |bytes| {
            progress(Progress::Wrote(bytes));
        })?;
        Ok((contents, file))
    });
    writing.await.unwrap_or(Err(FileError::Worker))
}

fn absent<'a>() -> io::Result<Box<dyn Read + 'a>> {
    Err(io::Error::new(io::ErrorKind::NotFound, "it is not there"))
}
