//! From a settled file to the images in it: structure, sizes and presence checked, nothing sent.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use airdock_bundle::Verdict;
use airdock_bundle::archive::{Archive, ArchiveError, Region};
use airdock_bundle::digest::Digest;
use airdock_bundle::image::{Image, ImageError};
use airdock_bundle::name::Name;
use airdock_bundle::open::Bundle;
use airdock_bundle::platform::Matcher;
use jiff::{SignedDuration, Timestamp};

use super::failure::Failure;
use super::ledger::index::IndexFile;
use super::offer::Offer;
use super::publish::Refused;
use super::scan::Fingerprint;
use super::settle::Settled;
use crate::config::NameFilter;

/// How long after its last change a layout directory may still be on its way.
const YOUNG: SignedDuration = SignedDuration::from_secs(300);

/// A bundle whose images are known.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Where it stands.
    pub path: PathBuf,
    /// What it was when it was opened.
    pub fingerprint: Fingerprint,
    /// Its images and where their blobs are.
    pub bundle: Arc<Bundle>,
    /// Those that can be imported, under the names that they may have.
    pub offer: Arc<Offer>,
    /// Which names those are.
    pub names: NameFilter,
    /// Layers of a delta that were found in other bundles.
    pub elsewhere: HashMap<Digest, Region>,
}

/// Under which aspect a bundle is looked at.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Whose images are wanted.
    pub platform: Matcher,
    /// A name for the one image that has none.
    pub name: Option<Name>,
    /// Which names its images may have.
    pub names: NameFilter,
}

/// Opens a bundle, and keeps what saves reading it another time. A bundle of which nothing can be
/// imported is a failure with its verdict.
pub async fn open(
    settled: Settled,
    asked: Asked,
    index: Option<IndexFile>,
) -> Result<Opened, Failure> {
    let open = move || {
        let opened = open_now(settled, asked)?;
        if let Some(index) = index {
            index.keep(opened.bundle.archive().remember().as_deref());
        }
        Ok(opened)
    };
    let opened = tokio::task::spawn_blocking(open).await;
    opened.unwrap_or_else(|_| {
        let reason = "the reader ended without an answer".to_owned();
        Err(Failure::Unreadable { reason })
    })
}

/// Opens a compressed bundle without reading it, by what was kept of this very file when it was
/// read. `None` where nothing was, or nothing that holds: the bundle is to be opened then.
pub async fn recall(settled: &Settled, asked: Asked, index: IndexFile) -> Option<Opened> {
    let file = settled.file.as_ref()?.try_clone().ok()?;
    let (path, fingerprint) = (settled.path.clone(), settled.fingerprint);
    let recall = move || {
        let archive = index.read().and_then(|kept| Archive::recall(&file, &kept));
        let opened = archive.and_then(|it| inspect(it, path, fingerprint, asked).ok());
        if opened.is_none() {
            index.remove();
        }
        opened
    };
    tokio::task::spawn_blocking(recall).await.ok().flatten()
}

fn open_now(settled: Settled, asked: Asked) -> Result<Opened, Failure> {
    let Settled {
        path,
        fingerprint,
        file,
    } = settled;
    let archive = match file {
        Some(file) => Archive::from_file(file, &path),
        None => Archive::open(&path),
    };
    let archive = archive.map_err(|error| judged(error.verdict(), &error))?;
    inspect(archive, path, fingerprint, asked)
}

fn inspect(
    archive: Archive,
    path: PathBuf,
    fingerprint: Fingerprint,
    asked: Asked,
) -> Result<Opened, Failure> {
    let Asked {
        platform,
        name,
        names,
    } = asked;
    let mut bundle =
        Bundle::open(archive, &platform).map_err(|error| judged(error.verdict(), &error))?;
    if let Some(name) = name {
        bundle.give_name(name);
    }
    if may_still_arrive(&bundle, &fingerprint) {
        return Err(Failure::Verdict {
            verdict: Verdict::Incomplete,
            reason: bundle.reason().unwrap_or_default(),
            refused: refused(&bundle),
        });
    }
    if !matches!(bundle.verdict(), Verdict::Ok | Verdict::Partial) {
        let reason = bundle.reason().unwrap_or_default();
        let verdict = bundle.verdict();
        return Err(Failure::Verdict {
            verdict,
            reason,
            refused: refused(&bundle),
        });
    }
    Ok(Opened {
        path,
        fingerprint,
        offer: Arc::new(Offer::of(&bundle).under(&names)),
        names,
        elsewhere: HashMap::new(),
        bundle: Arc::new(bundle),
    })
}

/// Who asks for an image by name is told why it isn't imported, though nothing of its bundle is.
fn refused(bundle: &Bundle) -> Vec<Refused> {
    let images = bundle.images().iter();
    let not_ok = images.filter(|image| image.verdict() != Verdict::Ok);
    not_ok.map(Refused::of).collect()
}

/// Whether something that a young layout directory lacks may be on its way: a copy of a directory
/// is not over when its index is there, and nothing says when it is. An archive says it itself.
fn may_still_arrive(bundle: &Bundle, fingerprint: &Fingerprint) -> bool {
    let lacks = |image: &Image| image.outcome.as_ref().is_err_and(ImageError::is_absence);
    let age = Timestamp::now().duration_since(fingerprint.changed);
    bundle.archive().is_directory() && age < YOUNG && bundle.images().iter().any(lacks)
}

fn judged(verdict: Option<Verdict>, error: &dyn std::error::Error) -> Failure {
    let reason = error.to_string();
    match verdict {
        Some(verdict) => Failure::Verdict {
            verdict,
            reason,
            refused: Vec::new(),
        },
        None => Failure::Unreadable { reason },
    }
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        judged(error.verdict(), &error)
    }
}
