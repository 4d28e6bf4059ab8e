//! Layers unpacked ahead of the first container, where that is asked for: each as soon as it and
//! those below it are in the store, while the import goes on with others.
//!
//! Otherwise the runtime does it when the first pod starts, and the pod waits for it. An image is
//! imported without it: what goes wrong here is told, and nothing else.

mod arrivals;
mod chain;

use std::collections::HashMap;
use std::num::NonZero;
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use airdock_containerd::Unpack;
use futures_util::future::{join, join_all, ready};
use futures_util::{StreamExt, stream};
use tokio::sync::{Mutex, Semaphore};

pub(super) use arrivals::Arrivals;
use arrivals::Awaited;
use chain::{Chain, Link};

use super::context::Context;
use super::event::Event;
use super::offer::Offer;
use super::open::Opened;
use crate::store::containerd::unpacking::{Snapshots, Unpacking};
use crate::store::{Store, StoreError};

/// Layers that are unpacked at once: each keeps one processor of the daemon busy.
const AT_ONCE: usize = 2;

/// Processors that an import keeps busy, the daemon's and ours: unpacking beside it shall not
/// hold its names up.
const IMPORTING: usize = 2;

/// Images that are asked after at once, whether they are unpacked.
const ASKED_AT_ONCE: usize = 8;

/// Unpacks those of a bundle's images that are meant to be, and aren't yet, as their layers come.
pub(super) fn beside(
    opened: &Opened,
    context: &Context,
) -> (Arrivals, impl Future<Output = ()> + use<>) {
    let (arrivals, awaited) = Arrivals::awaited();
    let images = opened.offer.images.iter();
    let meant = images.filter(|image| context.unpack.has(image));
    let chains = meant.filter_map(|image| Chain::of(opened, image)).collect();
    let ahead = Ahead {
        bundle: opened.path.clone(),
        awaited,
        context: context.clone(),
        turns: Semaphore::new(beside_an_import()),
    };
    (arrivals, ahead.unpack(chains))
}

/// The same for a bundle that is imported.
pub(super) async fn afterwards(opened: &Opened, offer: &Offer, context: &Context) {
    let (arrivals, unpacked) = beside(opened, context);
    arrivals.there(offer.blobs().map(|blob| &blob.digest));
    arrivals.imported(offer);
    unpacked.await;
}

/// The unpacking of a bundle.
struct Ahead {
    bundle: PathBuf,
    awaited: Awaited,
    context: Context,
    turns: Semaphore,
}

/// By chain id: images that begin alike wait for each other, and do it once.
type Doors = HashMap<String, Mutex<()>>;

impl Ahead {
    async fn unpack(self, chains: Vec<Chain>) {
        let Store::Containerd(store) = &self.context.store else {
            return;
        };
        if chains.is_empty() {
            return;
        }
        let looked = async {
            let snapshots = Snapshots::of(store).await;
            let left = left(&snapshots, chains).await;
            (snapshots, left)
        };
        let Some((snapshots, left)) = self.unless_stopped(looked).await else {
            return;
        };
        if left.is_empty() {
            return;
        }
        // Outside of what is stopped: nobody would give back a lease of which the answer is lost.
        match snapshots.begin().await {
            Ok(unpacking) => self.unpack_under(unpacking, &left).await,
            Err(error) => {
                for chain in &left {
                    self.tell(chain, Err(error.to_string())).await;
                }
            }
        }
    }

    async fn unpack_under(&self, unpacking: Unpacking<'_>, chains: &[Chain]) {
        let links = chains.iter().flat_map(|chain| &chain.links);
        let doors = links.map(|link| (link.layer.chain_id.clone(), Mutex::default()));
        let doors: Doors = doors.collect();
        let images = chains
            .iter()
            .map(|chain| self.image(unpacking.image(), chain, &doors));
        let work = join(join_all(images), self.make_room());
        let stopped = self.unless_stopped(work).await.is_none();
        unpacking.end(stopped).await;
    }

    /// Once the import has ended, its processors are free.
    async fn make_room(&self) {
        self.awaited.end().await;
        self.turns.add_permits(AT_ONCE - beside_an_import());
    }

    async fn image(&self, unpack: Unpack, chain: &Chain, doors: &Doors) {
        let outcome = self.layers(unpack, chain, doors).await;
        let outcome = outcome.map_err(|error| error.to_string());
        self.tell(chain, outcome).await;
    }

    /// How long it took; `None` for an image of which something doesn't come.
    async fn layers(
        &self,
        mut unpack: Unpack,
        chain: &Chain,
        doors: &Doors,
    ) -> Result<Option<Duration>, StoreError> {
        let mut elapsed = Duration::ZERO;
        for link in &chain.links {
            if !self.awaited.blob(&link.blob).await {
                return Ok(None);
            }
            elapsed += self.layer(&mut unpack, link, doors).await?;
        }
        if !self.awaited.blob(&chain.config).await {
            return Ok(None);
        }
        unpack.hold(chain.config.as_str()).await?;
        Ok(Some(elapsed))
    }

    async fn layer(
        &self,
        unpack: &mut Unpack,
        link: &Link,
        doors: &Doors,
    ) -> Result<Duration, StoreError> {
        let _alone = match doors.get(&link.layer.chain_id) {
            Some(door) => Some(door.lock().await),
            None => None,
        };
        let _turn = self.turns.acquire().await;
        let started = Instant::now();
        unpack.layer(&link.layer).await?;
        Ok(started.elapsed())
    }

    /// Once the image is imported; of one that isn't, that is told alone.
    async fn tell(&self, chain: &Chain, outcome: Result<Option<Duration>, String>) {
        if !self.awaited.image(&chain.target).await {
            return;
        }
        let (image, bundle) = (chain.names.clone(), self.bundle.clone());
        match outcome {
            Ok(None) => {}
            Ok(Some(elapsed)) => self.context.report(&Event::Unpacked {
                image,
                bundle,
                elapsed,
            }),
            Err(reason) => self.context.report(&Event::NotUnpacked {
                image,
                bundle,
                reason,
            }),
        }
    }

    /// Waits for something, unless the import fails or the program is being stopped.
    async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = self.context.unless_cancelled(work) => done.ok(),
            () = self.awaited.failed() => None,
        }
    }
}

/// Layers that are unpacked at once while the import goes on.
fn beside_an_import() -> usize {
    let processors = available_parallelism().map_or(1, NonZero::get);
    processors.saturating_sub(IMPORTING).clamp(1, AT_ONCE)
}

/// Those that aren't unpacked. One that can't be asked after is tried.
async fn left(snapshots: &Snapshots, chains: Vec<Chain>) -> Vec<Chain> {
    let looked = stream::iter(chains).map(|chain| is_left(snapshots, chain));
    let left = looked.buffered(ASKED_AT_ONCE);
    left.filter_map(ready).collect().await
}

async fn is_left(snapshots: &Snapshots, chain: Chain) -> Option<Chain> {
    let top = chain.top()?;
    let is_unpacked = snapshots.have(&chain.config, top).await;
    (!is_unpacked.unwrap_or(false)).then_some(chain)
}
