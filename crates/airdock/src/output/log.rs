//! Events as log lines: one each, to follow and to grep.
//!
//! The text is a field, `msg`, rather than tracing's own `message`: that is the key which k0s and
//! containerd write, and which people grep for.

use std::path::Path;

use airdock_bundle::Verdict;
use airdock_bundle::escape::escaped;
use tracing::{debug, info, warn};

use super::reporter::Progress;
use super::shown;
use crate::agent::event::{Event, Totals};

/// Writes an event to the log.
pub(super) fn write(event: &Event) {
    match event {
        Event::Watching { .. }
        | Event::SourceMissing { .. }
        | Event::SourceUnsafe { .. }
        | Event::NotUtf8 { .. }
        | Event::DirectoryChanged { .. }
        | Event::EventsLost
        | Event::Departed { .. } => write_watch(event),
        Event::StoreUnreachable { .. }
        | Event::StoreReachable { .. }
        | Event::Restoring { .. }
        | Event::Lost { .. }
        | Event::Released { .. }
        | Event::UnseenByCri { .. } => write_store(event),
        Event::VerifyingAfterCrash { .. }
        | Event::DamagedInStore { .. }
        | Event::SandboxMissing { .. } => write_node(event),
        Event::SourceRemoved { .. }
        | Event::Reloaded { .. }
        | Event::NotReloaded { .. }
        | Event::RestartNeeded { .. } => write_config(event),
        Event::LedgerFailed { .. } | Event::LedgerRecovered => write_ledger(event),
        Event::NoStatusSocket { reason } => {
            warn!(
                msg = "going on without a status socket",
                component = "admin",
                reason
            );
        }
        Event::BundlesDisagree { .. } | Event::ForeignName { .. } => write_conflict(event),
        Event::Unpacked { .. } | Event::NotUnpacked { .. } => write_unpack(event),
        _ => write_import(event),
    }
}

/// Writes that a key of the configuration file means nothing.
pub(super) fn misspelt(warning: &str) {
    warn!(msg = warning, component = "config");
}

/// Whether an event says that something isn't as it should be.
pub(super) fn is_problem(event: &Event) -> bool {
    matches!(
        event,
        Event::ForeignName { .. }
            | Event::BundlesDisagree { .. }
            | Event::UnseenByCri { .. }
            | Event::NotUnpacked { .. }
    )
}

fn write_watch(event: &Event) {
    match event {
        Event::Watching { directory, polled } => {
            let directory = shown(directory);
            let how = if *polled { "polling" } else { "events" };
            info!(msg = %format_args!("started to watch {directory}"), component = "watch", how);
        }
        Event::SourceMissing { directory, reason } => {
            let directory = shown(directory);
            warn!(
                msg = "cannot list the directory; what it gave stays",
                component = "watch",
                directory,
                reason
            );
        }
        Event::NotUtf8 { path } => warn!(
            msg = "a name that is not UTF-8 is not looked at; rename it",
            component = "watch",
            path
        ),
        Event::SourceUnsafe { directory, reason } => {
            let directory = shown(directory);
            warn!(
                msg = "the directory is not safe; nothing is taken from it, what it gave stays",
                component = "watch",
                directory,
                reason
            );
        }
        Event::DirectoryChanged {
            directory,
            changed,
            gone,
        } => {
            let directory = shown(directory);
            info!(
                msg = "bundle directory changed, reconciling",
                component = "watch",
                directory,
                changed,
                gone
            );
        }
        Event::EventsLost => warn!(
            msg = "the kernel dropped events; listing the directories again",
            component = "watch"
        ),
        Event::Departed { bundle, grace } => {
            let (bundle, seconds) = (shown(bundle), grace.as_secs());
            info!(
                msg = "bundle gone; holding its images for a while",
                component = "watch",
                bundle,
                seconds
            );
        }
        _ => {}
    }
}

fn write_config(event: &Event) {
    match event {
        Event::SourceRemoved { directory } => {
            let directory = shown(directory);
            info!(
                msg = "the directory is no longer watched; its images are left as they are",
                component = "config",
                directory
            );
        }
        Event::Reloaded { sources } => {
            info!(
                msg = "new settings hold from now on",
                component = "config",
                sources
            );
        }
        Event::NotReloaded { reason } => warn!(
            msg = "the new settings cannot be used; the old ones still hold",
            component = "config",
            reason
        ),
        Event::RestartNeeded { keys } => {
            let keys = keys.join(", ");
            warn!(
                msg = "these settings have changed and hold after a restart only",
                component = "config",
                keys
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
                msg = "importing",
                component = "import",
                bundle,
                images,
                missing,
                present
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
            info!(msg = %format_args!("imported image {name}"), component = "import", digest, bundle, moved_from);
        }
        Event::ImageRefused {
            image,
            reason,
            bundle,
        } => {
            let bundle = shown(bundle);
            warn!(
                msg = "refused image",
                component = "import",
                image,
                bundle,
                reason
            );
        }
        Event::ImageLeftOut { image, bundle } => {
            let bundle = shown(bundle);
            info!(
                msg = "image left out by allow and deny of its source",
                component = "import",
                image,
                bundle
            );
        }
        Event::Loaded { bundle, totals } => write_loaded(bundle, totals),
        Event::Unchanged { bundle } => {
            let bundle = shown(bundle);
            info!(
                msg = "the store has all of this bundle",
                component = "import",
                bundle
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
                msg = "failed; will be tried again",
                component = "import",
                bundle,
                reason,
                retry_seconds = retry
            );
        }
        Event::Progress { bundle, bytes } => {
            debug!(
                msg = "bytes written",
                component = "import",
                bundle = shown(bundle),
                bytes
            );
        }
        _ => {}
    }
}

/// How far an import is.
pub(super) fn write_progress(bundle: &Path, progress: Progress) {
    info!(
        msg = "still importing",
        component = "import",
        bundle = shown(bundle),
        done = progress.done,
        total = progress.total
    );
}

fn write_loaded(bundle: &Path, totals: &Totals) {
    info!(
        msg = "bundle loaded",
        component = "import",
        bundle = shown(bundle),
        images = totals.images,
        bytes_sent = totals.bytes_sent,
        bytes_skipped = totals.bytes_skipped,
        seconds = (totals.elapsed.as_secs_f64() * 1000.0).round() / 1000.0
    );
}

fn write_judged(bundle: &Path, verdict: Verdict, reason: &str, kept: bool) {
    let bundle = shown(bundle);
    let kept = kept.then_some("the images of its last good version stay");
    match verdict {
        Verdict::Incomplete => info!(
            msg = "incomplete; looked at again when it changes",
            component = "import",
            bundle,
            reason,
            kept
        ),
        verdict => {
            let verdict = verdict.as_str();
            warn!(
                msg = "refused bundle",
                component = "import",
                bundle,
                verdict,
                reason,
                kept
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
                msg = "the store does not answer",
                component = "store",
                store,
                reason,
                retry_seconds = retry
            );
        }
        Event::StoreReachable { store } => {
            info!(msg = "the store answers", component = "store", store)
        }
        Event::Restoring {
            bundle,
            names,
            blobs,
        } => {
            let bundle = shown(bundle);
            warn!(
                msg = "images were changed by somebody else; putting them right",
                component = "store",
                bundle,
                names,
                blobs
            );
        }
        Event::Lost { bundle, image } => {
            let bundle = shown(bundle);
            warn!(
                msg = "an image is lost, and its bundle cannot give it back; copy the bundle again",
                component = "store",
                bundle,
                image
            );
        }
        Event::Released { name, policy } => {
            let name = escaped(name);
            info!(msg = %format_args!("released image {name}"), component = "store", policy);
        }
        Event::UnseenByCri { name } => {
            let name = escaped(name);
            warn!(msg = %format_args!("CRI does not list image {name}"), component = "store");
        }
        _ => {}
    }
}

fn write_unpack(event: &Event) {
    match event {
        Event::Unpacked {
            image,
            bundle,
            elapsed,
        } => {
            let bundle = shown(bundle);
            let seconds = elapsed.as_secs_f64();
            info!(msg = %format_args!("unpacked image {image}"), component = "import", bundle, seconds);
        }
        Event::NotUnpacked {
            image,
            bundle,
            reason,
        } => {
            let bundle = shown(bundle);
            warn!(
                msg = "cannot unpack an image ahead; the runtime tries it again at its first start",
                component = "import",
                image,
                bundle,
                reason
            );
        }
        _ => {}
    }
}

fn write_node(event: &Event) {
    match event {
        Event::VerifyingAfterCrash { blobs } => warn!(
            msg = "the machine went down while an agent ran; reading back what it had imported",
            component = "store",
            blobs
        ),
        Event::DamagedInStore { digest } => {
            let digest = digest.to_string();
            warn!(
                msg = "a blob in the store is damaged; it was removed and is brought again",
                component = "store",
                digest
            );
        }
        Event::SandboxMissing { name } => {
            let name = escaped(name);
            warn!(
                msg = %format_args!("no bundle and no store has the sandbox image {name}: no pod can start"),
                component = "store"
            );
        }
        _ => {}
    }
}

fn write_ledger(event: &Event) {
    match event {
        Event::LedgerFailed { reason } => warn!(
            msg = "cannot remember what was done; going on, and trying again",
            component = "ledger",
            reason
        ),
        Event::LedgerRecovered => info!(msg = "remembering what was done", component = "ledger"),
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
            warn!(msg = %format_args!("two bundles give image {name}; the one that came last has it"), component = "plan", winner, loser);
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
            warn!(msg = %format_args!("image {name} was in the store already: {what}"), component = "plan", bundle, stored, offered);
        }
        _ => {}
    }
}
