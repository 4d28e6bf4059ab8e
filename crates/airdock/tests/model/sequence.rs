//! Sequences: a world, what happens in it, and that it comes to rest as it should.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use airdock_testkit::mount::Filler;
use airdock_testkit::{Outcome, wait};
use jiff::Timestamp;
use serde_json::Value;

use crate::action::Action;
use crate::agent::{Agent, End};
use crate::dice::Dice;
use crate::directory::{Directory, is_layout};
use crate::expectation::{Expectation, Foreign, Policy, every_name_is_whole};
use crate::image::Seed;
use crate::meaning::Meaning;
use crate::store::Store;

/// Sequences of a short run, for each store.
const SEQUENCES: u64 = 6;
/// What happens in one.
const ACTIONS: usize = 14;
/// All must have come to rest within this, on a busy machine too.
const DEADLINE: Duration = Duration::from_secs(40);

/// Where images start that the store never had.
const FRESH: Seed = 10_000;

/// Everything that a sequence plays with.
pub(crate) struct World<'s, 'd> {
    pub(crate) dice: Dice,
    pub(crate) dir: PathBuf,
    pub(crate) directory: Directory,
    pub(crate) meaning: Meaning,
    pub(crate) foreign: Foreign,
    pub(crate) agent: Agent,
    pub(crate) store: &'s mut Store<'d>,
    pub(crate) fresh: Seed,
    /// What fills the store's disk.
    pub(crate) full: Option<Filler>,
    policy: Policy,
    done: Vec<Action>,
}

fn number(variable: &str, default: u64) -> u64 {
    let set = env::var(variable).ok();
    set.and_then(|text| text.parse().ok()).unwrap_or(default)
}

pub(crate) fn run_all(store: &mut Store<'_>, dir: &Path) -> Outcome {
    let first = number("AIRDOCK_MODEL_SEED", 1);
    for seed in first..first + number("AIRDOCK_MODEL_SEQUENCES", SEQUENCES) {
        let dir = dir.join(seed.to_string());
        let mut world = World::new(seed, store, &dir)?;
        let outcome = world.run();
        outcome.map_err(|failed| world.told(seed, failed.message().unwrap_or_default()))?;
        store.clear()?;
        fs::remove_dir_all(dir)?;
    }
    Ok(())
}

impl<'s, 'd> World<'s, 'd> {
    fn new(seed: u64, store: &'s mut Store<'d>, dir: &Path) -> io::Result<Self> {
        let mut dice = Dice::new(seed);
        let directory = Directory::new(dir)?;
        let policy = Policy::ALL[dice.below(Policy::ALL.len())];
        let grace = ["0", "0.3"][dice.below(2)];
        // Where hints come, the timer mustn't be what puts things right. In a third of the sequences
        // it is fast all the same: most looks then find a store that is known, and may miss nothing.
        let resync = match store.tells() {
            true => ["600", "600", "0.1"][dice.below(3)],
            false => "0.3",
        };
        let more = [
            "--on-remove",
            policy.as_str(),
            "--release-grace",
            grace,
            "--resync",
            resync,
        ];
        let state = dir.join("state");
        let agent = Agent::new(&store.argument(), directory.path(), &state, &more);
        Ok(Self {
            dice,
            dir: dir.to_owned(),
            directory,
            meaning: Meaning::default(),
            foreign: Foreign::default(),
            agent,
            store,
            fresh: FRESH,
            full: None,
            policy,
            done: Vec::new(),
        })
    }

    fn run(&mut self) -> Outcome {
        self.settle()?;
        for _ in 0..ACTIONS {
            let action = self.choose();
            self.done.push(action.clone());
            self.carry_out(&action)?;
        }
        self.settle()?;
        self.agent.end(End::Stopped)?;
        let left = self.store.leftovers()?;
        if !left.is_empty() {
            return Err(format!("left behind after the end: {left:?}").into());
        }
        self.as_expected().map_err(Into::into)
    }

    /// Waits until the agent has looked at everything, and the store is as it should be; then
    /// looks at every byte. Nothing comes to rest on a full disk.
    pub(crate) fn settle(&mut self) -> Outcome {
        self.full = None;
        self.agent.start()?;
        let mut last = String::new();
        let settled = wait::until("rest", DEADLINE, || match self.unsettled() {
            Ok(()) => Some(()),
            Err(why) => {
                last = why;
                None
            }
        });
        settled.map_err(|late| format!("{late}: {last}"))?;
        Ok(())
    }

    fn unsettled(&self) -> Result<(), String> {
        self.agent_has_looked()?;
        let left = self.store.leftovers().map_err(|e| format!("{e:?}"))?;
        if !left.is_empty() {
            return Err(format!("left behind: {left:?}"));
        }
        self.as_expected()
    }

    fn as_expected(&self) -> Result<(), String> {
        let records = self.store.records().map_err(|e| format!("{e:?}"))?;
        let expectation = Expectation {
            meaning: &self.meaning,
            foreign: &self.foreign,
            policy: self.policy,
        };
        if let Some(difference) = expectation.difference(self.store, &records) {
            return Err(difference);
        }
        every_name_is_whole(self.store, &records)
    }

    /// The agent's ledger knows each file as it is now, and no other.
    fn agent_has_looked(&self) -> Result<(), String> {
        let entries = fs::read_dir(self.dir.join("state/ledger")).map_err(|e| e.to_string())?;
        let mut known = 0;
        let paths = entries.filter_map(io::Result::ok).map(|entry| entry.path());
        // Beside an entry stands the index of a compressed bundle.
        for path in paths.filter(|path| path.extension().is_some_and(|it| it == "json")) {
            let bytes = fs::read(path).map_err(|e| e.to_string())?;
            let entry: Value = serde_json::from_slice(&bytes).map_err(|e| e.to_string())?;
            self.is_known(&entry)?;
            known += 1;
        }
        match known == self.meaning.files.len() {
            true => Ok(()),
            false => Err(format!(
                "{known} of {} files known",
                self.meaning.files.len()
            )),
        }
    }

    fn is_known(&self, entry: &Value) -> Result<(), String> {
        let path = Path::new(entry["path"].as_str().unwrap_or_default());
        let changed: Option<Timestamp> = entry["fingerprint"]["changed"]
            .as_str()
            .and_then(|text| text.parse().ok());
        match changed == changed_at(path).ok() && entry["gone"].is_null() {
            true => Ok(()),
            false => Err(format!("{} is known as it was", path.display())),
        }
    }

    fn told(&self, seed: u64, why: &str) -> String {
        let done: Vec<String> = self.done.iter().map(|a| format!("  {a:?}")).collect();
        format!(
            "AIRDOCK_MODEL_SEED={seed} ({:?}, {}): {why}\n{}\nfiles: {:#?}\nthe agents said:\n{}",
            self.policy,
            self.store.argument(),
            done.join("\n"),
            self.meaning.files,
            self.agent.said()
        )
    }
}

/// When an archive, or any document of a layout directory, last changed.
fn changed_at(path: &Path) -> io::Result<Timestamp> {
    let is_layout = path
        .file_name()
        .is_some_and(|n| is_layout(&n.to_string_lossy()));
    let parts: &[&str] = match is_layout {
        true => &["", "oci-layout", "index.json", "blobs", "blobs/sha256"],
        false => &[""],
    };
    let mut latest = Timestamp::MIN;
    for part in parts {
        let path = if part.is_empty() {
            path.to_owned()
        } else {
            path.join(part)
        };
        let metadata = fs::metadata(path)?;
        let nanoseconds = i32::try_from(metadata.ctime_nsec()).unwrap_or_default();
        let changed = Timestamp::new(metadata.ctime(), nanoseconds);
        latest = latest.max(changed.map_err(io::Error::other)?);
    }
    Ok(latest)
}
