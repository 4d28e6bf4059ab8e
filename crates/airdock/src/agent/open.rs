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

/// Opens a bundle. A bundle of which nothing can be imported is a failure with its verdict.
pub async fn open(
    settled: Settled,
    platform: &Matcher,
    name: Option<Name>,
    names: NameFilter,
) -> Result<Opened, Failure> {
    let platform = platform.clone();
    let open = move || open_now(settled, &platform, name, names);
    let opened = tokio::task::spawn_blocking(open).await;
    opened.unwrap_or_else(|_| {
        let reason = "the reader ended without an answer".to_owned();
        Err(Failure::Unreadable { reason })
    })
}

fn open_now(
    settled: Settled,
    platform: &Matcher,
    name: Option<Name>,
    names: NameFilter,
) -> Result<Opened, Failure> {
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
    let mut bundle =
        Bundle::open(archive, platform).map_err(|error| judged(error.verdict(), &error))?;
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
