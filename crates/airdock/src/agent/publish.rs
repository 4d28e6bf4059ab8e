//! From blobs in the store to names: written last, then read back.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use airdock_bundle::Verdict;
use airdock_bundle::digest::Digest;
use airdock_bundle::image::Image;
use serde::{Deserialize, Serialize};

use super::context::Context;
use super::event::Event;
use super::failure::Failure;
use super::import::Complete;
use super::offer::{Offer, OfferedImage};
use super::open::Opened;
use super::patterns::Patterns;
use super::plan::{Action, Step};
use crate::store::Session;
use crate::store::extent::Extent;
use crate::store::view::{Record, View};

/// CRI follows the store's events one at a time: a bundle of many images takes it a moment.
const CRI_DELAY: Duration = Duration::from_secs(5);
/// How often it is asked meanwhile.
const CRI_POLL: Duration = Duration::from_millis(20);

/// A bundle whose names the store has shown after they were written.
#[derive(Debug)]
pub struct Published {
    /// The bundle.
    pub opened: Opened,
    /// Its images that are whole in the store.
    pub offer: Offer,
    /// Names that were written.
    pub written: Vec<Step>,
    /// Images that are not imported, each with its reason.
    pub refused: Vec<Refused>,
    /// Bytes that went to the store.
    pub bytes_sent: u64,
    /// Bytes that were needed and there.
    pub bytes_skipped: u64,
    /// At least its names in the store, as they were read back.
    pub records: BTreeMap<String, Record>,
}

/// An image that isn't imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// How messages call it: its names, or its digest where it has none; escaped.
    pub image: String,
    /// Its names, each by itself.
    #[serde(default)]
    pub names: Vec<String>,
    /// Why.
    pub reason: String,
}

impl Refused {
    /// Of an image that can't be imported as it is.
    pub fn of(image: &Image) -> Self {
        Self {
            image: image.title(),
            names: image.names.iter().map(ToString::to_string).collect(),
            reason: image.reason().unwrap_or_default(),
        }
    }
}

impl Published {
    /// What the bundle turned out to be, content included.
    pub fn verdict(&self) -> Verdict {
        if self.refused.is_empty() {
            Verdict::Ok
        } else {
            Verdict::Partial
        }
    }

    /// The reasons of all refused images in one line.
    pub fn reason(&self) -> Option<String> {
        reasons(&self.refused)
    }
}

/// All reasons in one line.
pub fn reasons(refused: &[Refused]) -> Option<String> {
    let one = |r: &Refused| format!("{}: {}", r.image, r.reason);
    let all: Vec<String> = refused.iter().map(one).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Writes the names of all whole images, and reads them back.
pub async fn publish(complete: Complete, context: &Context) -> Result<Published, Failure> {
    match named(&complete, context).await {
        Ok(published) => {
            complete.session.finish().await;
            seen_by_cri(&published, context).await;
            Ok(published)
        }
        Err(failure) => {
            complete.session.abandon().await;
            Err(failure)
        }
    }
}

async fn named(complete: &Complete, context: &Context) -> Result<Published, Failure> {
    let opened = &complete.opened;
    if !opened.bundle.archive().unchanged().unwrap_or(false) {
        return Err(Failure::Changed(opened.path.clone()));
    }
    let (offer, refused) = judge(opened, &complete.damaged);
    if offer.images.is_empty() {
        return Err(Failure::Verdict {
            verdict: Verdict::Refused,
            reason: reasons(&refused).unwrap_or_default(),
            refused,
        });
    }
    let [first, rest] = sound_steps(complete, &context.first);
    let steps = [first.as_slice(), &rest].concat();
    let extent = Extent::of(&offer, context.store.rules());
    is_whole(&steps, &offer, &context.store.view_of(&extent).await?)?;
    for steps in [&first, &rest] {
        write_names(&complete.session, steps, context).await?;
    }
    let view = context.store.view_of(&extent).await?;
    read_back(&steps, &offer, &view)?;
    Ok(Published {
        opened: opened.clone(),
        offer,
        written: steps,
        refused,
        bytes_sent: complete.bytes_sent,
        bytes_skipped: complete.bytes_skipped,
        records: view.records,
    })
}

/// Writes names, all of them unless the program is being stopped.
pub async fn write_names(
    session: &Session,
    steps: &[Step],
    context: &Context,
) -> Result<(), Failure> {
    session.publish(steps, &context.cancel).await?;
    match context.cancel.is_cancelled() {
        true => Err(Failure::Cancelled),
        false => Ok(()),
    }
}

/// Asks CRI for what kubelet will ask it for. It follows the store with a little delay; what it
/// doesn't list in time is told, not undone: the image is there.
async fn seen_by_cri(published: &Published, context: &Context) {
    let deadline = tokio::time::Instant::now() + CRI_DELAY;
    for image in &published.offer.images {
        let Some(name) = image.names.first().map(ToString::to_string) else {
            continue;
        };
        loop {
            match context.store.seen_by_cri(&name).await {
                None => return,
                Some(true) => break,
                Some(false) if tokio::time::Instant::now() >= deadline => {
                    context.report(&Event::UnseenByCri { name });
                    break;
                }
                Some(false) => tokio::time::sleep(CRI_POLL).await,
            }
        }
    }
}

/// Takes the images out that need a damaged blob, and says of each image that stays out why.
pub fn judge(opened: &Opened, damaged: &HashSet<Digest>) -> (Offer, Vec<Refused>) {
    let mut refused = refused_by_structure(opened);
    let mut offer = Offer::clone(&opened.offer);
    offer.images.retain(|image| {
        let Some(blob) = damaged_blob(image, damaged) else {
            return true;
        };
        refused.push(Refused {
            image: names_of(image),
            names: image.names.iter().map(ToString::to_string).collect(),
            reason: format!(
                "blob {blob}: its content isn't what its digest or size says; \
                 copy the bundle again, and compare checksums with where it came from"
            ),
        });
        false
    });
    (offer, refused)
}

fn damaged_blob<'a>(image: &'a OfferedImage, damaged: &HashSet<Digest>) -> Option<&'a Digest> {
    let mut digests = image.blobs.iter().map(|blob| &blob.digest);
    digests.find(|digest| damaged.contains(digest))
}

/// An image's names, as they are shown.
pub fn names_of(image: &OfferedImage) -> String {
    let names: Vec<String> = image.names.iter().map(ToString::to_string).collect();
    names.join(", ")
}

/// Images that may have none of their names are no concern of ours, whatever is wrong with them.
fn refused_by_structure(opened: &Opened) -> Vec<Refused> {
    let is_left_out = |image: &Image| {
        let none_passes = !image.names.iter().any(|name| opened.names.passes(name));
        none_passes && !image.names.is_empty()
    };
    let images = opened.bundle.images().iter();
    let not_ok = images.filter(|i| i.verdict() != Verdict::Ok && !is_left_out(i));
    not_ok.map(Refused::of).collect()
}

/// The names of whole images: of those that others wait for, and of the rest.
fn sound_steps(complete: &Complete, first: &Patterns) -> [Vec<Step>; 2] {
    let image = |step: &Step| complete.opened.offer.images.get(step.image);
    let damaged = |image| damaged_blob(image, &complete.damaged).is_some();
    let is_sound = |step: &&Step| image(step).is_some_and(|image| !damaged(image));
    let steps = complete.plan.steps.iter().filter(is_sound).cloned();
    let is_first = |step: &Step| image(step).is_some_and(|image| first.has(image));
    let (first, rest) = steps.partition(is_first);
    [first, rest]
}

/// What we report is what the store says after the fact.
fn read_back(steps: &[Step], offer: &Offer, view: &View) -> Result<(), Failure> {
    for step in steps {
        let shown = view.records.get(&step.name);
        if shown.is_none_or(|record| record.target != step.target.digest) {
            return Err(Failure::NotReadBack(step.name.clone()));
        }
    }
    is_whole(steps, offer, view)
}

/// Whether all is there that the names need: a name never comes before it, whatever the store
/// answered on the way.
fn is_whole(steps: &[Step], offer: &Offer, view: &View) -> Result<(), Failure> {
    let absent = offer
        .images
        .iter()
        .filter(|image| steps.is_empty() || steps.iter().any(|s| s.target == image.target))
        .flat_map(|image| &image.blobs)
        .find(|blob| !view.has(&blob.digest, blob.size));
    match absent {
        Some(blob) => Err(Failure::NotReadBack(blob.digest.to_string())),
        None => Ok(()),
    }
}

/// Tells of every name that was created or moved, and of what was refused.
pub async fn announce(published: &Published, elapsed: Duration, context: &Context) {
    let bundle = &published.opened.path;
    for step in &published.written {
        let moved_from = match &step.action {
            Action::Create => None,
            Action::Move { from } => Some(from.clone()),
            Action::Hold => continue,
        };
        context.report(&Event::ImageImported {
            name: step.name.clone(),
            digest: step.target.digest.clone(),
            moved_from,
            bundle: bundle.clone(),
        });
    }
    for refused in &published.refused {
        context.report(&Event::ImageRefused {
            image: refused.image.clone(),
            reason: refused.reason.clone(),
            bundle: bundle.clone(),
        });
    }
    context.report(&Event::Loaded {
        bundle: bundle.clone(),
        totals: super::event::Totals {
            images: published.offer.images.len(),
            bytes_sent: published.bytes_sent,
            bytes_skipped: published.bytes_skipped,
            elapsed,
        },
    });
}
