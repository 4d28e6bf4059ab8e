//! Reads all entries that are asked for, on all processors.
//!
//! Where entries can be read at random, each thread takes the next one. A compressed bundle is
//! unpacked by one thread in one pass, which hands what comes out to the others.

mod random;
mod stream;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::panic;
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

use super::allowance::Allowance;
use super::examine::{Examined, Job, examine};
use crate::archive::{Archive, ArchiveError, EntryId};
use crate::codec::Codec;
use crate::limits;

/// What came of each entry; an error is one that concerns this entry alone.
pub(super) type Outcomes = BTreeMap<EntryId, Outcome>;
pub(super) type Outcome = Result<Examined, Arc<ArchiveError>>;

/// What one thread got done.
type Share = Result<Vec<(EntryId, Outcome)>, ArchiveError>;

/// What is to be read.
pub(super) struct Work<'a> {
    pub(super) archive: &'a Archive,
    pub(super) jobs: &'a BTreeMap<EntryId, Job>,
    pub(super) allowance: Allowance,
    /// Is told the bytes of each piece read, by any thread.
    pub(super) progress: &'a (dyn Fn(u64) + Sync),
}

impl Work<'_> {
    /// Reads every entry once.
    ///
    /// # Errors
    /// When the bundle was cut or changed meanwhile, and when the one pass over a compressed one
    /// fails.
    pub(super) fn run(&self) -> Result<Outcomes, ArchiveError> {
        let outcomes = match self.archive.codec() {
            _ if self.jobs.is_empty() => Outcomes::default(),
            Codec::Plain => random::read(self)?,
            _ => stream::read(self)?,
        };
        match self.archive.unchanged() {
            Ok(true) if outcomes.len() == self.jobs.len() => Ok(outcomes),
            Ok(_) => Err(ArchiveError::Unsettled),
            Err(error) => Err(ArchiveError::read(error)),
        }
    }

    fn examine(
        &self,
        entry: EntryId,
        source: impl Read,
        buffer: &mut [u8],
    ) -> io::Result<Examined> {
        let nothing = Job::default();
        let job = self.jobs.get(&entry).unwrap_or(&nothing);
        let source = Metered {
            source,
            progress: self.progress,
        };
        examine(job, source, &self.allowance, buffer)
    }

    fn threads(&self) -> usize {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        processors.min(limits::VERIFIERS).min(self.jobs.len())
    }
}

/// Each thread reads through one.
fn buffer() -> Vec<u8> {
    vec![0; limits::OUTPUT_BUFFER]
}

/// All that the threads got done, or what stopped one of them.
fn joined(threads: Vec<ScopedJoinHandle<'_, Share>>) -> Result<Outcomes, ArchiveError> {
    let mut outcomes = Outcomes::new();
    for thread in threads {
        let share = thread
            .join()
            .unwrap_or_else(|payload| panic::resume_unwind(payload));
        outcomes.extend(share?);
    }
    Ok(outcomes)
}

/// Tells of what is read from it.
struct Metered<'a, R> {
    source: R,
    progress: &'a (dyn Fn(u64) + Sync),
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        (self.progress)(u64::try_from(count).unwrap_or(u64::MAX));
        Ok(count)
    }
}
