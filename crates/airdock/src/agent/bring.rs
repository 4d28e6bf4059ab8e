//! The way of one bundle, from a settled file to names that were read back.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use airdock_bundle::Verdict;
use airdock_bundle::digest::Digest;
use airdock_bundle::name::Name;
use jiff::Timestamp;

use super::context::Context;
use super::elsewhere;
use super::event::Event;
use super::failure::Failure;
use super::import::{self, Planned};
use super::ledger::index::IndexFile;
use super::offer::{Offer, OfferedImage};
use super::open::{self, Asked, Opened};
use super::plan::{BundlePlan, Conflict, Holding, Plan, plan};
use super::publish::{self, Published, Refused, announce};
use super::settle::Settled;
use super::terms::Terms;
use super::unpack::{self, Arrivals};
use crate::config::OnConflict;
use crate::store::extent::Extent;
use crate::store::view::{Record, View};

/// A holding that lives on its own, for tasks that outlive the agent's borrow.
#[derive(Clone, Debug)]
pub struct OwnedHolding {
    /// As in [`Holding`].
    pub path: PathBuf,
    /// As in [`Holding`].
    pub source: String,
    /// As in [`Holding`].
    pub arrived: Timestamp,
    /// As in [`Holding`].
    pub live: bool,
    /// What the file gave when it was read last, and not what an earlier version did.
    pub is_latest: bool,
    /// As in [`Holding`].
    pub on_conflict: OnConflict,
    /// As in [`Holding`].
    pub offer: Arc<Offer>,
}

impl OwnedHolding {
    /// The same, borrowed.
    pub fn borrowed(&self) -> Holding<'_> {
        Holding {
            path: &self.path,
            source: &self.source,
            arrived: self.arrived,
            live: self.live,
            on_conflict: self.on_conflict,
            offer: &self.offer,
        }
    }

    /// Whether nothing about it is different, without reading what it gives.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.offer, &other.offer)
            && (&self.path, &self.source) == (&other.path, &other.source)
            && (self.arrived, self.live, self.is_latest)
                == (other.arrived, other.live, other.is_latest)
            && self.on_conflict == other.on_conflict
    }
}

/// For whom a bundle is brought, and who else holds images.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The bundle's source, as a label value.
    pub source: String,
    /// When its file came.
    pub arrived: Timestamp,
    /// When contents came that are held now, by bundle id: a copy, a renamed or a touched file is
    /// as old as what it is the same as.
    pub known: BTreeMap<Digest, Timestamp>,
    /// What its source says about names that aren't ours.
    pub on_conflict: OnConflict,
    /// Under which settings it is judged.
    pub terms: Terms,
    /// The other bundles.
    pub others: Vec<OwnedHolding>,
    /// Files in which the rest of a delta may be, imported or not.
    pub beside: Vec<PathBuf>,
    /// A name for the one image of the bundle that has none.
    pub name: Option<Name>,
    /// Where the index of a compressed bundle is kept.
    pub index: Option<IndexFile>,
}

/// A bundle whose images are in the store.
#[derive(Clone, Debug)]
pub struct Brought {
    /// What the bundle turned out to be.
    pub verdict: Verdict,
    /// What is in the store of it.
    pub offer: Offer,
    /// When its content came.
    pub arrived: Timestamp,
    /// Images that are not imported.
    pub refused: Vec<Refused>,
    /// Names that its source doesn't let it give.
    pub left_out: Vec<Refused>,
    /// Bytes that went to the store.
    pub bytes_sent: u64,
    /// Bytes that were needed and there.
    pub bytes_skipped: u64,
    /// Whether anything had to be written.
    pub changed: bool,
    /// At least its names in the store, as they were read last.
    pub records: BTreeMap<String, Record>,
}

impl Standing {
    fn asked(&self, context: &Context) -> Asked {
        Asked {
            platform: context.platform.clone(),
            name: self.name.clone(),
            names: self.terms.names.clone(),
        }
    }

    /// When the content of this id came.
    fn arrival(&self, bundle: &Digest) -> Timestamp {
        self.known.get(bundle).copied().unwrap_or(self.arrived)
    }
}

/// What is known of a bundle's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Basis {
    /// They were read.
    Read,
    /// They are remembered.
    Remembered,
}

/// Brings a bundle.
pub async fn bring(
    settled: Settled,
    standing: Standing,
    context: &Context,
) -> Result<Brought, Failure> {
    let started = Instant::now();
    if let Some(brought) = recalled(&settled, &standing, started, context).await {
        return brought;
    }
    let asked = standing.asked(context);
    let opened = open::open(settled, asked, standing.index.clone()).await?;
    bring_opened(opened, Basis::Read, &standing, started, context).await
}

/// Brings a compressed bundle by the index that was kept of it, in one pass. `None` where none
/// was, or where the file isn't what the index says: then it is read whole, and what is wrong
/// with it is what that finds.
async fn recalled(
    settled: &Settled,
    standing: &Standing,
    started: Instant,
    context: &Context,
) -> Option<Result<Brought, Failure>> {
    let index = standing.index.as_ref()?;
    let opened = open::recall(settled, standing.asked(context), index.clone()).await?;
    match bring_opened(opened, Basis::Remembered, standing, started, context).await {
        Err(failure) if failure.is_about_content() => {
            index.remove();
            None
        }
        brought => Some(brought),
    }
}

async fn bring_opened(
    opened: Opened,
    basis: Basis,
    standing: &Standing,
    started: Instant,
    context: &Context,
) -> Result<Brought, Failure> {
    announce_left_out(&opened, context);
    let arrived = standing.arrival(&opened.offer.id);
    let extent = Extent::of(&opened.offer, context.store.rules());
    let view = context.store.view_of(&extent).await?;
    let Some(planned) = plan_for(&opened, standing, &view, context) else {
        let unchanged = unchanged(&opened, arrived, view.records, context);
        unpack::afterwards(&opened, &unchanged.offer, context).await;
        return Ok(unchanged);
    };
    let planned = elsewhere::complete(planned, &standing.beside, &context.platform).await?;
    announce_import(&planned, context);
    let (arrivals, unpacked) = unpack::beside(&planned.opened, context);
    let named = named(planned, basis, arrivals, started, context);
    let (published, ()) = tokio::join!(named, unpacked);
    let published = published?;
    Ok(Brought {
        verdict: published.verdict(),
        left_out: left_out(&published.opened),
        offer: published.offer,
        arrived,
        refused: published.refused,
        bytes_sent: published.bytes_sent,
        bytes_skipped: published.bytes_skipped,
        changed: true,
        records: published.records,
    })
}

/// From a plan to names; what has come meanwhile is told.
async fn named(
    planned: Planned,
    basis: Basis,
    arrivals: Arrivals,
    started: Instant,
    context: &Context,
) -> Result<Published, Failure> {
    let complete = import::import(planned, &arrivals, context).await?;
    if basis == Basis::Remembered && !complete.damaged.is_empty() {
        complete.session.abandon().await;
        // Nobody sees this: the bundle is read whole, and judged by that.
        let reason = "it isn't what is remembered of it".to_owned();
        return Err(Failure::Unreadable { reason });
    }
    let published = publish::publish(complete, context).await?;
    announce(&published, started.elapsed(), context).await;
    arrivals.imported(&published.offer);
    Ok(published)
}

fn unchanged(
    opened: &Opened,
    arrived: Timestamp,
    records: BTreeMap<String, Record>,
    context: &Context,
) -> Brought {
    let (offer, refused) = publish::judge(opened, &HashSet::new());
    context.report(&Event::Unchanged {
        bundle: opened.path.clone(),
    });
    for image in &refused {
        context.report(&Event::ImageRefused {
            image: image.image.clone(),
            reason: image.reason.clone(),
            bundle: opened.path.clone(),
        });
    }
    Brought {
        verdict: if refused.is_empty() {
            Verdict::Ok
        } else {
            Verdict::Partial
        },
        bytes_skipped: offer.blobs().map(|blob| blob.size).sum(),
        offer,
        arrived,
        refused,
        left_out: left_out(opened),
        bytes_sent: 0,
        changed: false,
        records,
    }
}

/// Plans for one bundle among the others; `None` where the store has all that it gives.
fn plan_for(
    opened: &Opened,
    standing: &Standing,
    view: &View,
    context: &Context,
) -> Option<Planned> {
    let offer = Arc::clone(&opened.offer);
    let own = Holding {
        path: &opened.path,
        source: &standing.source,
        arrived: standing.arrival(&offer.id),
        live: true,
        on_conflict: standing.on_conflict,
        offer: &offer,
    };
    let mut holdings = vec![own];
    let rivals = rivals(&offer, &standing.others);
    holdings.extend(rivals.map(OwnedHolding::borrowed));
    let plan = plan(&holdings, view, context.store.rules());
    report_conflicts(&plan, &holdings, context);
    let own: Option<BundlePlan> = plan.bundles.into_iter().find(|bundle| bundle.holding == 0);
    own.map(|plan| Planned {
        opened: opened.clone(),
        plan,
    })
}

/// The others that give a name of this bundle: what the rest has is no part of its plan.
fn rivals<'a>(
    offer: &'a Offer,
    others: &'a [OwnedHolding],
) -> impl Iterator<Item = &'a OwnedHolding> {
    let images = &offer.images;
    let names: HashSet<&Name> = images.iter().flat_map(|image| &image.names).collect();
    let targets: HashSet<&Digest> = images.iter().map(|image| &image.target.digest).collect();
    let configs: HashSet<&Digest> = images.iter().map(|image| &image.config).collect();
    let is_rival = move |image: &OfferedImage| {
        targets.contains(&image.target.digest)
            || configs.contains(&image.config)
            || image.names.iter().any(|name| names.contains(name))
    };
    others
        .iter()
        .filter(move |other| other.offer.images.iter().any(&is_rival))
}

/// Those that this bundle is a party of: the others have been told of already.
fn report_conflicts(plan: &Plan, holdings: &[Holding<'_>], context: &Context) {
    let path = |index: usize| holdings.get(index).map(|h| h.path.to_owned());
    for conflict in &plan.conflicts {
        let event = match conflict {
            Conflict::Bundles {
                name,
                winner,
                loser,
            } if *winner == 0 || *loser == 0 => {
                path(*winner)
                    .zip(path(*loser))
                    .map(|(winner, loser)| Event::BundlesDisagree {
                        name: name.clone(),
                        winner,
                        loser,
                    })
            }
            Conflict::Foreign {
                name,
                holding: 0,
                stored,
                offered,
                kept,
            } => path(0).map(|bundle| Event::ForeignName {
                name: name.clone(),
                stored: stored.clone(),
                offered: offered.clone(),
                bundle,
                kept: *kept,
            }),
            _ => None,
        };
        if let Some(event) = event {
            context.report(&event);
        }
    }
}

fn left_out(opened: &Opened) -> Vec<Refused> {
    let images = opened.bundle.images().iter();
    opened.names.left_out(images.flat_map(|image| &image.names))
}

fn announce_left_out(opened: &Opened, context: &Context) {
    for left_out in left_out(opened) {
        context.report(&Event::ImageLeftOut {
            image: left_out.image,
            bundle: opened.path.clone(),
        });
    }
}

fn announce_import(planned: &Planned, context: &Context) {
    context.report(&Event::Importing {
        bundle: planned.opened.path.clone(),
        images: planned.opened.offer.images.len(),
        missing: planned.plan.missing(),
        present: planned.plan.spared(),
    });
}
