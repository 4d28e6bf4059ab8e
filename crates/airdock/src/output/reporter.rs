//! Who hears what happens.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::broadcast;

use super::log;
use super::pace::Pace;
use super::progress::Bars;
use crate::agent::event::Event;

/// Events that a slow listener may be behind by; then it loses the oldest, and is told so.
const EVENTS_KEPT: usize = 1024;

/// The listeners of one run. Clones share them.
#[derive(Clone, Debug)]
pub struct Reporter {
    shown: Shown,
    progress: Arc<Mutex<HashMap<PathBuf, Progress>>>,
    pace: Arc<Mutex<Pace>>,
    events: broadcast::Sender<Arc<Event>>,
}

/// What is shown of events.
#[derive(Clone, Debug)]
pub enum Shown {
    /// Log lines: the agent.
    Log,
    /// Progress bars: `load` on a terminal.
    Bars(Bars),
    /// Log lines of what went wrong, and lines of progress: `load` elsewhere, whose result is
    /// printed at the end.
    Problems(Bars),
}

/// How far the import of a bundle is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are written.
    pub done: u64,
    /// Bytes that were to be written.
    pub total: u64,
}

impl Reporter {
    /// Listeners that show events in this way.
    pub fn new(shown: Shown) -> Self {
        let (events, _) = broadcast::channel(EVENTS_KEPT);
        Self {
            shown,
            progress: Arc::default(),
            pace: Arc::default(),
            events,
        }
    }

    /// Tells whoever listens.
    pub fn report(&self, event: &Event) {
        self.count(event);
        if self.events.receiver_count() > 0 {
            // The last listener may just have gone.
            drop(self.events.send(Arc::new(event.clone())));
        }
        match &self.shown {
            Shown::Log => {
                log::write(event);
                self.log_progress(event);
            }
            Shown::Bars(bars) => bars.show(event),
            Shown::Problems(_) if log::is_problem(event) => log::write(event),
            Shown::Problems(bars) => bars.show(event),
        }
    }

    /// A long import is seen to live, and doesn't fill the log.
    fn log_progress(&self, event: &Event) {
        let Event::Progress { bundle, .. } = event else {
            return;
        };
        let pace = self.pace.lock();
        let mut pace = pace.unwrap_or_else(PoisonError::into_inner);
        if !pace.is_due(Instant::now()) {
            return;
        }
        if let Some(progress) = self.progress(bundle) {
            log::write_progress(bundle, progress);
        }
    }

    /// Everything that happens from now on.
    pub fn listen(&self) -> broadcast::Receiver<Arc<Event>> {
        self.events.subscribe()
    }

    /// How far the import of a bundle is, while it is under way.
    pub fn progress(&self, bundle: &Path) -> Option<Progress> {
        let progress = self.progress.lock();
        let progress = progress.unwrap_or_else(PoisonError::into_inner);
        progress.get(bundle).copied()
    }

    fn count(&self, event: &Event) {
        let progress = self.progress.lock();
        let mut progress = progress.unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Importing {
                bundle, missing, ..
            } => {
                let total = *missing;
                progress.insert(bundle.clone(), Progress { done: 0, total });
            }
            Event::Progress { bundle, bytes } => {
                if let Some(progress) = progress.get_mut(bundle) {
                    progress.done += bytes;
                }
            }
            Event::Loaded { bundle, .. }
            | Event::Failed { bundle, .. }
            | Event::Judged { bundle, .. } => {
                progress.remove(bundle);
            }
            _ => {}
        }
    }
}
