//! Blobs into the cache: gone on with where they were cut, verified, several at a time.

use std::path::PathBuf;
use std::time::Duration;

use airdock_bundle::document::Descriptor;
use airdock_bundle::name::Name;
use bytes::Bytes;
use reqwest::header::CONTENT_RANGE;
use reqwest::{Response, StatusCode};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::{Ask, Patience, Place, PullError, Registries, http, nowhere};
use crate::pull::cache::{Begun, Partial};
use crate::pull::error::Fault;
use crate::pull::limits;

/// How often it is looked whether another run is done with a blob.
const LOOK: Duration = Duration::from_millis(100);

impl Registries {
    /// The file of a blob, whole and verified. It belongs to the cache: not to be changed.
    ///
    /// # Errors
    /// When no place gives it, or it can't be written.
    pub async fn blob(&self, name: &Name, descriptor: &Descriptor) -> Result<PathBuf, PullError> {
        let subject = format!("blob {} of {}", descriptor.digest, name.repository());
        let of = |fault| PullError {
            subject: subject.clone(),
            host: name.domain().to_owned(),
            fault,
        };
        let mut partial = match self.begin(descriptor).await.map_err(of)? {
            Begun::Partial(partial) => partial,
            Begun::Whole(path) => return Ok(path),
            Begun::Busy => return Err(of(Fault::Stopped)),
        };
        let mut last = None;
        for place in self.places(name) {
            match self.blob_at(&place, descriptor, partial).await {
                (_, Ok(path)) => return Ok(path),
                (kept, Err(fault)) => {
                    let disk = matches!(fault, Fault::Disk { .. } | Fault::Stopped);
                    let error = self.failed(&place, &subject, fault);
                    match kept {
                        Some(kept) if !disk => partial = kept,
                        _ => return Err(error),
                    }
                    last = Some(error);
                }
            }
        }
        Err(last.unwrap_or_else(|| nowhere(&subject, name)))
    }

    /// What is there of a blob; waits for another run that fetches it.
    async fn begin(&self, descriptor: &Descriptor) -> Result<Begun, Fault> {
        loop {
            let (cache, wanted) = (self.cache.clone(), descriptor.clone());
            let begun = spawn_blocking(move || cache.begin(&wanted.digest, wanted.size)).await;
            let begun = begun.map_err(|_| Fault::Stopped)?;
            match begun.map_err(|source| self.disk(source))? {
                Begun::Busy => {
                    self.unless_stopped(async {
                        tokio::time::sleep(LOOK).await;
                        Ok(())
                    })
                    .await?;
                }
                begun => return Ok(begun),
            }
        }
    }

    /// The partial blob comes back with a fault, unless it is lost.
    async fn blob_at(
        &self,
        place: &Place,
        descriptor: &Descriptor,
        mut partial: Partial,
    ) -> (Option<Partial>, Result<PathBuf, Fault>) {
        let mut patience = Patience::new(self.settings.retries);
        loop {
            let before = partial.have;
            let (kept, fetched) = self.blob_once(place, descriptor, partial).await;
            let Some(kept) = kept else {
                return (None, fetched);
            };
            partial = kept;
            let fault = match fetched {
                Ok(path) => return (Some(partial), Ok(path)),
                Err(fault) => fault,
            };
            if partial.have >= before.saturating_add(limits::PROGRESS) {
                patience.renew();
            }
            if let Err(fault) = self.wait(place, &mut patience, fault).await {
                return (Some(partial), Err(fault));
            }
        }
    }

    async fn blob_once(
        &self,
        place: &Place,
        descriptor: &Descriptor,
        mut partial: Partial,
    ) -> (Option<Partial>, Result<PathBuf, Fault>) {
        if partial.have < descriptor.size || descriptor.size == 0 {
            let path = format!("blobs/{}", descriptor.digest);
            let ask = Ask {
                from: partial.have,
                ..Ask::default()
            };
            let asked = self.unless_stopped(self.ask(place, &path, ask)).await;
            let response = match asked.and_then(|response| self.start(response, &mut partial)) {
                Ok(response) => response,
                Err(fault) => return (Some(partial), Err(fault)),
            };
            let (kept, received) = self.receive(response, descriptor.size, partial).await;
            match (kept, received) {
                (Some(kept), Ok(())) => partial = kept,
                (kept, Err(fault)) => return (kept, Err(fault)),
                (None, Ok(())) => return (None, Err(Fault::Stopped)),
            }
        }
        let finished = self.finish(descriptor, &mut partial);
        (Some(partial), finished)
    }

    /// Whether an answer goes on where we are; otherwise we begin anew.
    fn start(&self, response: Response, partial: &mut Partial) -> Result<Response, Fault> {
        let goes_on = response.status() == StatusCode::PARTIAL_CONTENT
            && first_byte(&response) == Some(partial.have);
        if goes_on {
            return Ok(response);
        }
        let was_asked_for_more = partial.have > 0;
        partial.restart().map_err(|source| self.disk(source))?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE
                if was_asked_for_more =>
            {
                Err(Fault::Cut {
                    reason: "it can't go on where it stopped".to_owned(),
                })
            }
            status if status == StatusCode::OK => Ok(response),
            status => Err(Fault::Malformed {
                what: format!("the status {} for a whole blob", status.as_u16()),
            }),
        }
    }

    /// Hands the body to a thread that hashes and writes it.
    async fn receive(
        &self,
        response: Response,
        size: u64,
        partial: Partial,
    ) -> (Option<Partial>, Result<(), Fault>) {
        let (sender, receiver) = mpsc::channel(limits::PIECES_AHEAD);
        let writing = spawn_blocking(move || write(partial, receiver, size));
        let sent = self.unless_stopped(send(response, sender)).await;
        let Ok((partial, written)) = writing.await else {
            return (None, Err(Fault::Stopped));
        };
        let result = written.map_err(|source| self.disk(source)).and(sent);
        (Some(partial), result)
    }

    fn finish(&self, descriptor: &Descriptor, partial: &mut Partial) -> Result<PathBuf, Fault> {
        let (found, expected) = (partial.have, descriptor.size);
        if found < expected {
            return Err(Fault::Cut {
                reason: format!("it ended after {found} of {expected} bytes"),
            });
        }
        let digest = descriptor.digest.clone();
        if found > expected {
            partial.restart().map_err(|source| self.disk(source))?;
            return Err(Fault::Size {
                digest,
                expected,
                found,
            });
        }
        let finished = self.cache.finish(partial);
        let finished = finished.map_err(|source| self.disk(source))?;
        finished.map_err(|found| Fault::Broken {
            expected: digest,
            found,
        })
    }

    fn disk(&self, source: std::io::Error) -> Fault {
        Fault::Disk {
            path: self.cache.shown().to_owned(),
            source,
        }
    }
}

/// `Content-Range: bytes FIRST-LAST/SIZE`.
fn first_byte(response: &Response) -> Option<u64> {
    let range = response.headers().get(CONTENT_RANGE)?.to_str().ok()?;
    let (first, _) = range.strip_prefix("bytes ")?.split_once('-')?;
    first.trim().parse().ok()
}

async fn send(mut response: Response, sender: mpsc::Sender<Bytes>) -> Result<(), Fault> {
    let authority = http::authority(response.url());
    loop {
        let piece = response.chunk().await;
        let piece = piece.map_err(|error| http::fault_of(&error, &authority))?;
        let Some(piece) = piece else {
            return Ok(());
        };
        if sender.send(piece).await.is_err() {
            // Who writes has had enough, and says why.
            return Ok(());
        }
    }
}

/// Writes what comes, up to the piece with which it is too much.
fn write(
    mut partial: Partial,
    mut pieces: mpsc::Receiver<Bytes>,
    size: u64,
) -> (Partial, std::io::Result<()>) {
    while let Some(piece) = pieces.blocking_recv() {
        if let Err(error) = partial.append(&piece) {
            return (partial, Err(error));
        }
        if partial.have > size {
            break;
        }
    }
    (partial, Ok(()))
}
