//! The agent's loop: one task that owns all state. Whatever takes time runs beside it and comes
//! back as a value.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use futures_util::StreamExt;
use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::context::Context;
use super::event::Event;
use super::heal::Healing;
use super::heal::Sandbox;
use super::ledger::{Ledger, LedgerError};
use super::release::Departures;
use super::sources::SourceState;
use super::tracked::{State, Tracked};
use super::unclean::Boot;
use super::watch::{Hint, Watcher};
use super::work::Done;
use crate::admin::server::Query;
use crate::config::WatchSettings;
use crate::exit::Exit;
use crate::service::Service;
use crate::store::Store;
use crate::store::view::Told;

/// Events come in bursts; they are waited for this long before a directory is listed.
pub(super) const SCAN_DELAY: Duration = Duration::from_millis(20);

/// What runs when the program is stopped may take this long; then it is dropped, which leaves
/// nothing that a later start doesn't clean up.
const STOP_TIMEOUT: Duration = Duration::from_secs(4);

/// When the agent ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// When it is told to.
    Forever,
    /// When everything in the sources has come to an end.
    Once,
}

/// What the agent knows of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreState {
    /// It hasn't been asked yet.
    Unknown,
    /// It answered the last time.
    Reachable,
    /// It didn't.
    Unreachable,
}

/// The agent.
#[derive(Debug)]
pub struct Agent {
    pub(super) settings: WatchSettings,
    pub(super) context: Context,
    pub(super) ledger: Ledger,
    pub(super) watcher: Watcher,
    pub(super) bundles: BTreeMap<PathBuf, Tracked>,
    /// Bundles that are being brought: one that is taken away and put back waits for the end of
    /// what was begun.
    pub(super) at_work: BTreeSet<PathBuf>,
    pub(super) tasks: JoinSet<Done>,
    pub(super) store: StoreState,
    pub(super) healing: Healing,
    pub(super) departures: Departures,
    pub(super) boot: Boot,
    /// The image that CRI starts every pod with, once it was asked; told when nothing has it.
    pub(super) sandbox: Sandbox,
    /// What the store's names pointed to when it was looked at last.
    pub(super) records: BTreeMap<String, Told>,
    pub(super) started: Timestamp,
    /// Whether all that stood in the sources at the start has come to an end.
    pub(super) ready: bool,
    /// When the sources are listed next.
    pub(super) scan_at: Instant,
    /// Directories below sources that can't be listed, and were told of.
    pub(super) unlisted: BTreeSet<PathBuf>,
    /// What stands in sources and isn't looked at, because its name isn't UTF-8.
    pub(super) unnamed: BTreeSet<PathBuf>,
    /// How each source was found.
    pub(super) sources: BTreeMap<PathBuf, SourceState>,
    pub(super) service: Service,
    mode: Mode,
    inbox: Inbox,
}

/// What comes in from outside while an agent runs.
#[derive(Debug)]
pub struct Inbox {
    /// Questions, which are answered at once.
    pub queries: mpsc::Receiver<Query>,
    /// New settings, which hold from then on.
    pub reloads: mpsc::Receiver<WatchSettings>,
}

impl Agent {
    /// Takes the state directory and starts to watch.
    pub fn new(
        settings: WatchSettings,
        context: Context,
        mode: Mode,
        inbox: Inbox,
    ) -> Result<Self, LedgerError> {
        let sources = settings.sources.iter();
        let directories: Vec<PathBuf> = sources.map(|s| s.directory.clone()).collect();
        let ledger = Ledger::open(&settings.state_directory)?;
        let boot = Boot::begin(&settings.state_directory);
        if boot.is_after_a_crash() {
            ledger.forget_indexes();
        }
        Ok(Self {
            ledger,
            boot,
            sandbox: Sandbox::default(),
            watcher: Watcher::start(&directories),
            bundles: BTreeMap::new(),
            at_work: BTreeSet::new(),
            tasks: JoinSet::new(),
            store: StoreState::Unknown,
            healing: Healing::now(),
            departures: Departures::default(),
            records: BTreeMap::new(),
            started: Timestamp::now(),
            ready: false,
            scan_at: Instant::now(),
            unlisted: BTreeSet::new(),
            unnamed: BTreeSet::new(),
            sources: BTreeMap::new(),
            settings,
            context,
            service: Service::from_environment(),
            mode,
            inbox,
        })
    }

    /// Works until the mode says that it is done, or the program is stopped.
    pub async fn run(mut self) -> Result<Exit, LedgerError> {
        let mut store_events = store_events(&self.context);
        self.remember(|_| true)?;
        self.scan();
        // Watching is all that others may wait for: a node never waits for its images.
        self.service.ready();
        while !self.context.cancel.is_cancelled() {
            self.advance();
            self.tell_status();
            if self.mode == Mode::Once && self.is_done() {
                break;
            }
            let wake = self.next_wake();
            tokio::select! {
                () = self.context.cancel.cancelled() => {}
                hint = self.watcher.hint() => self.hinted(hint),
                Some(done) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                    self.finished(done);
                }
                Some(query) = self.inbox.queries.recv() => {
                    // Who asked may have gone.
                    drop(query.send(self.status()));
                }
                Some(settings) = self.inbox.reloads.recv() => self.reload(settings),
                Some(()) = store_events.recv() => self.healing.soon(Instant::now()),
                () = self.service.beat() => {}
                () = sleep_until(wake) => {}
            }
        }
        Ok(self.stop().await)
    }

    fn hinted(&mut self, hint: Hint) {
        if hint == Hint::Overflow {
            self.context.report(&Event::EventsLost);
        }
        self.scan_at = self.scan_at.min(Instant::now() + SCAN_DELAY);
    }

    fn advance(&mut self) {
        let now = Instant::now();
        if now >= self.scan_at {
            self.scan();
        }
        self.advance_bundles(now);
        self.start_work(now);
        self.start_healing(now);
        self.ready |= self.store == StoreState::Reachable && self.is_done();
    }

    fn next_wake(&self) -> Instant {
        let bundles = self.bundles.values().filter_map(Tracked::wake);
        bundles
            .chain(self.healing.wake())
            .fold(self.scan_at, Instant::min)
    }

    /// Whether all has come to an end: only then `--once` ends.
    fn is_done(&self) -> bool {
        if self.store == StoreState::Unreachable {
            return true;
        }
        let at_rest = |b: &Tracked| b.is_at_rest() || matches!(b.state, State::Failing { .. });
        self.store == StoreState::Reachable
            && self.tasks.is_empty()
            && self.healing.is_quiet()
            && self.bundles.values().all(at_rest)
    }

    async fn stop(mut self) -> Exit {
        self.service.stopping();
        let finishing = async { while self.tasks.join_next().await.is_some() {} };
        drop(tokio::time::timeout(STOP_TIMEOUT, finishing).await);
        self.boot.end(&self.settings.state_directory);
        self.exit()
    }

    fn exit(&self) -> Exit {
        match self.mode {
            Mode::Forever => Exit::Success,
            Mode::Once if self.context.cancel.is_cancelled() => Exit::Interrupted,
            Mode::Once if self.store == StoreState::Unreachable => Exit::Store,
            Mode::Once => {
                let sources = self.sources.values().map(SourceState::exit);
                let unnamed = self.unnamed.iter().map(|_| Exit::Unreadable);
                let bundles = self.bundles.values().map(Tracked::exit);
                let exits = bundles.chain(sources).chain(unnamed);
                exits.max().unwrap_or(Exit::Success)
            }
        }
    }
}

/// Says when names or blobs of the store change, whoever changes them.
fn store_events(context: &Context) -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel(1);
    if let Store::Containerd(store) = &context.store {
        let client = store.client().clone();
        let cancel = context.cancel.clone();
        tokio::spawn(cancel.run_until_cancelled_owned(follow(client, sender)));
    }
    receiver
}

/// A subscription that ends is taken up again: containerd restarts, and drops slow readers.
async fn follow(client: airdock_containerd::Client, sender: mpsc::Sender<()>) {
    use airdock_containerd::Topic;
    let topics = [Topic::ImageUpdate, Topic::ImageDelete, Topic::ContentDelete];
    let mut failures: Option<super::retry::Retry> = None;
    loop {
        let mut events = std::pin::pin!(client.events(&topics));
        while let Some(Ok(_)) = events.next().await {
            failures = None;
            let _ = sender.try_send(());
        }
        let retry = super::retry::Retry::of_store(failures, Instant::now());
        failures = Some(retry);
        sleep_until(retry.at).await;
        let _ = sender.try_send(());
    }
}
