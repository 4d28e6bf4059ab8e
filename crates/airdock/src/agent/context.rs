//! What every stage needs beside the bundle.

use std::future::Future;

use airdock_bundle::platform::Matcher;
use tokio_util::sync::CancellationToken;

use super::event::Event;
use super::failure::Failure;
use super::patterns::Patterns;
use crate::output::Reporter;
use crate::store::Store;

/// Shared by all stages and all bundles. Clones share it.
#[derive(Clone, Debug)]
pub struct Context {
    /// Where images go.
    pub store: Store,
    /// The platform whose images are wanted.
    pub platform: Matcher,
    /// Bytes that must stay free.
    pub reserve: u64,
    /// Names that are published before others.
    pub first: Patterns,
    /// Images whose layers are unpacked ahead of their first container.
    pub unpack: Patterns,
    /// Who hears what happens.
    pub reporter: Reporter,
    /// Set when the program is being stopped.
    pub cancel: CancellationToken,
}

impl Context {
    /// Tells everybody who listens.
    pub fn report(&self, event: &Event) {
        self.reporter.report(event);
    }

    /// Waits for something, unless the program is being stopped.
    pub async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        match self.cancel.run_until_cancelled(work).await {
            Some(done) => Ok(done),
            None => Err(Failure::Cancelled),
        }
    }
}
