//! Events as log lines: one each, to follow and to grep.

use std::path::Path;

use airdock_bundle::Verdict;
use airdock_bundle::escape::escaped;
use tracing::{debug, info, warn};

use crate::agent::event::{Event, Totals};

/// Writes an event to the log.
pub(super) fn write(event: &Event) {
    match event {
        Event::Watching { .. }
        | Event::SourceMissing { .. }
        | Event::DirectoryChanged { .. }
        | Event::EventsLost
        | Event::Departed { .. } => write_watch(event),
        Event::StoreUnreachable { .. }
        | Event::StoreReachable { .. }
        | Event::Restoring { .. }
        | Event::Lost { .. }
        | Event::Released { .. }
        | Event::UnseenByCri { .. } => write_store(event),
        Event::LedgerFailed { reason } => {
            warn!(
                component = "ledger",
                reason, "cannot remember what was done"
            );
        }
        Event::BundlesDisagree { .. } | Event::ForeignName { .. } => write_conflict(event),
        _ => write_import(event),
    }
}

/// Whether an event says that something isn't as it should be.
pub(super) fn is_problem(event: &Event) -> bool {
    matches!(
        event,
        Event::ForeignName { .. } | Event::BundlesDisagree { .. } | Event::UnseenByCri { .. }
    )
}

fn shown(path: &Path) -> String {
    escaped(&path.to_string_lossy()).to_string()
}

fn write_watch(event: &Event) {
    match event {
        Event::Watching { directory, polled } => {
            let directory = shown(directory);
            let how = if *polled { "polling" } else { "events" };
            info!(component = "watch", how, "started to watch {directory}");
        }
        Event::SourceMissing { directory, reason } => {
            let directory = shown(directory);
            warn!(
                component = "watch",
                directory, reason, "cannot list the directory; what it gave stays"
            );
        }
        Event::DirectoryChanged {
            directory,
            changed,
            gone,
        } => {
            let directory = shown(directory);
            info!(
                component = "watch",
                directory, changed, gone, "bundle directory changed, reconciling"
            );
        }
        Event::EventsLost => warn!(
            component = "watch",
            "the kernel dropped events; listing the directories again"
        ),
        Event::Departed { bundle, grace } => {
            let (bundle, seconds) = (shown(bundle), grace.as_secs());
            info!(
                component = "watch",
                bundle, seconds, "bundle gone; holding its images for a while"
            );
        }
        _ => {}
    }
}

fn write_import(event: &Event) {
    match event {
        Event::Importing {
            bundle,
            images,
            missing,
            present,
        } => {
            let bundle = shown(bundle);
            info!(
                component = "import",
                bundle, images, missing, present, "importing"
            );
        }
        Event::ImageImported {
            name,
            digest,
            moved_from,
            bundle,
        } => {
            let (name, bundle, digest) = (escaped(name), shown(bundle), digest.to_string());
            let moved_from = moved_from.as_ref().map(ToString::to_string);
            info!(
                component = "import",
                digest, bundle, moved_from, "imported image {name}"
            );
        }
        Event::ImageRefused {
            image,
            reason,
            bundle,
        } => {
            let bundle = shown(bundle);
            warn!(component = "import", image, bundle, reason, "refused image");
        }
        Event::Loaded { bundle, totals } => write_loaded(bundle, totals),
        Event::Unchanged { bundle } => {
            let bundle = shown(bundle);
            info!(
                component = "import",
                bundle, "the store has all of this bundle"
            );
        }
        Event::Judged {
            bundle,
            verdict,
            reason,
            kept,
        } => write_judged(bundle, *verdict, reason, *kept),
        Event::Failed {
            bundle,
            reason,
            retry,
        } => {
            let (bundle, retry) = (shown(bundle), retry.as_secs_f32());
            warn!(
                component = "import",
                bundle,
                reason,
                retry_seconds = retry,
                "failed; will be tried again"
            );
        }
        Event::Progress { bundle, bytes } => {
            debug!(
                component = "import",
                bundle = shown(bundle),
                bytes,
                "blob written"
            );
        }
        _ => {}
    }
}

fn write_loaded(bundle: &Path, totals: &Totals) {
    info!(
        component = "import",
        bundle = shown(bundle),
        images = totals.images,
        bytes_sent = totals.bytes_sent,
        bytes_skipped = totals.bytes_skipped,
        seconds = (totals.elapsed.as_secs_f64() * 1000.0).round() / 1000.0,
        "bundle loaded"
    );
}

fn write_judged(bundle: &Path, verdict: Verdict, reason: &str, kept: bool) {
    let bundle = shown(bundle);
    let kept = kept.then_some("the images of its last good version stay");
    match verdict {
        Verdict::Incomplete => info!(
            component = "import",
            bundle, reason, kept, "incomplete; looked at again when it changes"
        ),
        verdict => {
            let verdict = verdict.as_str();
            warn!(
                component = "import",
                bundle, verdict, reason, kept, "refused bundle"
            );
        }
    }
}

fn write_store(event: &Event) {
    match event {
        Event::StoreUnreachable {
            store,
            reason,
            retry,
        } => {
            let retry = retry.as_secs_f32();
            warn!(
                component = "store",
                store,
                reason,
                retry_seconds = retry,
                "the store doesn't answer"
            );
        }
        Event::StoreReachable { store } => info!(component = "store", store, "the store answers"),
        Event::Restoring {
            bundle,
            names,
            blobs,
        } => {
            let bundle = shown(bundle);
            warn!(
                component = "store",
                bundle, names, blobs, "images were changed by somebody else; putting them right"
            );
        }
        Event::Lost { bundle, image } => {
            let bundle = shown(bundle);
            warn!(
                component = "store",
                bundle,
                image,
                "an image is lost, and its bundle can't give it back; copy the bundle again"
            );
        }
        Event::Released { name, policy } => {
            let name = escaped(name);
            info!(component = "store", policy, "released image {name}");
        }
        Event::UnseenByCri { name } => {
            let name = escaped(name);
            warn!(component = "store", "CRI doesn't list image {name}");
        }
        _ => {}
    }
}

fn write_conflict(event: &Event) {
    match event {
        Event::BundlesDisagree {
            name,
            winner,
            loser,
        } => {
            let (name, winner, loser) = (escaped(name), shown(winner), shown(loser));
            warn!(
                component = "plan",
                winner, loser, "two bundles give image {name}; the one that came last has it"
            );
        }
        Event::ForeignName {
            name,
            stored,
            offered,
            bundle,
            kept,
        } => {
            let (name, bundle) = (escaped(name), shown(bundle));
            let (stored, offered) = (stored.to_string(), offered.to_string());
            let what = if *kept { "kept" } else { "replaced" };
            warn!(
                component = "plan",
                bundle, stored, offered, "image {name} was in the store already: {what}"
            );
        }
        _ => {}
    }
}
