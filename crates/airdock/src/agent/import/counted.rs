//! Large blobs tell of their bytes while they are being sent: a layer of gigabytes takes minutes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use airdock_containerd::Body;
use tokio::sync::mpsc;

use crate::agent::event::Event;
use crate::output::Reporter;

/// So many bytes are told of at once: some times a second, whatever the disk is.
const STEP: u64 = 16 * 1024 * 1024;

/// How many bytes of one blob were told of.
#[derive(Clone, Debug)]
pub(super) struct Told {
    bundle: PathBuf,
    reporter: Reporter,
    bytes: Arc<AtomicU64>,
}

impl Told {
    /// Nothing yet.
    pub(super) fn nothing(bundle: PathBuf, reporter: Reporter) -> Self {
        let bytes = Arc::default();
        Self {
            bundle,
            reporter,
            bytes,
        }
    }

    /// The same bytes, each told of when the store takes it.
    pub(super) fn of(&self, body: Body) -> Body {
        let Body::Chunks(mut chunks) = body else {
            return body;
        };
        let (sender, counted) = mpsc::channel(1);
        let told = self.clone();
        tokio::spawn(async move {
            let mut untold = 0;
            while let Some(chunk) = chunks.recv().await {
                untold += chunk.as_ref().map_or(0, |bytes| bytes.len() as u64);
                // Before they are handed on: when the store has all, all of this was told.
                if untold >= STEP {
                    told.tell(std::mem::take(&mut untold));
                }
                // A receiver that is gone has the reason already.
                if sender.send(chunk).await.is_err() {
                    return;
                }
            }
        });
        Body::Chunks(counted)
    }

    /// The blob is in the store, whoever brought it.
    pub(super) fn all(&self, size: u64) {
        self.tell(size.saturating_sub(self.bytes.load(Ordering::Relaxed)));
    }

    fn tell(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.reporter.report(&Event::Progress {
            bundle: self.bundle.clone(),
            bytes,
        });
    }
}
