//! What may happen, and making it happen: to the directory, the agent and the store, and to what
//! is expected of them.

use airdock_testkit::Outcome;

use crate::agent::End;
use crate::directory::Damage;
use crate::image::{Contents, Seed, digests};
use crate::meaning::Content;
use crate::sequence::World;

/// Names of images that no bundle has.
pub(crate) const FOREIGN: [&str; 2] = [
    "example.org/foreign/plain:1",
    "example.org/foreign/pinned:1",
];

/// Images that no bundle has.
pub(crate) const FOREIGN_SEED: Seed = 1_000;

const PIN: &str = "io.cri-containerd.pinned";

/// One thing that happens.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// A bundle comes, at a new path or in the place of another.
    Put {
        path: &'static str,
        contents: Contents,
        slowly: bool,
    },
    /// A bundle comes that isn't what it says.
    Spoil {
        path: &'static str,
        contents: Contents,
        damage: Damage,
    },
    Rename(&'static str, &'static str),
    Copy(&'static str, &'static str),
    Remove(&'static str),
    Touch(&'static str),
    /// The agent ends.
    End(End),
    Start,
    RestartStore,
    /// Somebody removes a record.
    Delete(String),
    /// Somebody takes a pin off.
    Unpin(String),
    /// Somebody removes the one layer that is an image's own.
    DropLayer(Seed),
    /// Somebody brings an image under a name that no bundle has.
    ForeignImage(&'static str),
    /// Somebody labels a record.
    ForeignLabel(String),
    /// Somebody brings an image under a name that bundles have, and pins it.
    ForeignPin(&'static str),
    /// Somebody moves a name to another image.
    ForeignMove(&'static str),
    /// Somebody gives an image another name.
    ForeignTag(&'static str),
    /// The store's disk fills up, but for so many bytes.
    FillDisk(u64),
    FreeDisk,
    /// All comes to rest.
    Settle,
}

impl World<'_, '_> {
    pub(crate) fn carry_out(&mut self, action: &Action) -> Outcome {
        match action {
            Action::Put {
                path,
                contents,
                slowly,
            } => self.put(path, contents, None, *slowly),
            Action::Spoil {
                path,
                contents,
                damage,
            } => {
                self.settle()?;
                self.put(path, contents, Some(*damage), false)
            }
            Action::Rename(from, to) => self.rename(from, to),
            Action::Copy(from, to) => self.copy(from, to),
            Action::Remove(path) => {
                self.meaning.remove(path);
                Ok(self.directory.remove(path)?)
            }
            Action::Touch(path) => {
                self.meaning.touch(path);
                Ok(self.directory.touch(path)?)
            }
            Action::End(how) => Ok(self.agent.end(*how)?),
            Action::Start => Ok(self.agent.start()?),
            Action::RestartStore => {
                self.full = None;
                self.store.restart()
            }
            Action::FillDisk(left) => self.fill(*left),
            Action::FreeDisk => {
                self.full = None;
                Ok(())
            }
            Action::Settle => self.settle(),
            others => self.disturb(others),
        }
    }

    fn put(
        &mut self,
        path: &'static str,
        contents: &Contents,
        damage: Option<Damage>,
        slowly: bool,
    ) -> Outcome {
        self.directory.put(path, contents, damage, slowly)?;
        let content = Content {
            gives: gives(path, contents, damage),
            damaged: damage.is_some(),
        };
        self.meaning.put(path, content);
        Ok(())
    }

    fn rename(&mut self, from: &'static str, to: &'static str) -> Outcome {
        self.settle_if_damaged(from)?;
        self.directory.rename(from, to)?;
        if let Some(content) = self.meaning.remove(from) {
            self.meaning.put(to, content);
        }
        Ok(())
    }

    fn copy(&mut self, from: &'static str, to: &'static str) -> Outcome {
        self.settle_if_damaged(from)?;
        self.directory.copy(from, to, false)?;
        let content = self.meaning.files[from].content.clone();
        self.meaning.put(to, content);
        Ok(())
    }

    /// What a damaged bundle leaves of the one before depends on what the agent had seen.
    fn settle_if_damaged(&mut self, path: &str) -> Outcome {
        match self.meaning.files[path].content.damaged {
            true => self.settle(),
            false => Ok(()),
        }
    }

    fn fill(&mut self, left: u64) -> Outcome {
        if let Some(disk) = self.store.disk() {
            self.full = Some(disk.fill(left)?);
        }
        Ok(())
    }

    /// What others do to the store; they need room for it.
    fn disturb(&mut self, action: &Action) -> Outcome {
        self.full = None;
        match action {
            Action::Delete(name) => {
                self.forget_foreign(name);
                self.store.delete(name)
            }
            Action::Unpin(name) => self.store.label(name, PIN, "").map(drop),
            Action::DropLayer(seed) => {
                self.settle()?;
                self.store.delete_blob(&digests(*seed).layer)?;
                self.settle()
            }
            Action::ForeignImage(name) => self.foreign_image(name),
            Action::ForeignLabel(name) => {
                let label = ("example.org/mine".to_owned(), "kept".to_owned());
                if self.store.label(name, &label.0, &label.1)? {
                    self.foreign.labels.insert(name.clone(), label);
                }
                Ok(())
            }
            Action::ForeignPin(name) => self.foreign_pin(name),
            Action::ForeignMove(name) => self.foreign_move(name),
            Action::ForeignTag(name) => self.foreign_tag(name),
            _ => Ok(()),
        }
    }

    fn forget_foreign(&mut self, name: &str) {
        self.foreign.labels.remove(name);
        self.foreign.pinned.remove(name);
        self.foreign.touched.remove(name);
    }

    fn foreign_image(&mut self, name: &'static str) -> Outcome {
        if self.foreign.records.contains_key(name) {
            return Ok(());
        }
        self.store.bring(name, FOREIGN_SEED, &self.dir)?;
        if name == FOREIGN[1] {
            self.store.label(name, PIN, "pinned")?;
            self.store.label(name, "example.org/mine", "kept")?;
        }
        let records = self.store.records()?;
        let record = records.get(name).ok_or("the foreign image isn't there")?;
        self.foreign.records.insert(name.to_owned(), record.clone());
        Ok(())
    }

    fn foreign_pin(&mut self, name: &'static str) -> Outcome {
        self.settle()?;
        self.store.bring(name, FOREIGN_SEED, &self.dir)?;
        self.forget_foreign(name);
        self.foreign.touched.insert(name.to_owned());
        if self.store.pins() {
            self.store.label(name, PIN, "pinned")?;
            self.foreign.pinned.insert(name.to_owned());
        }
        Ok(())
    }

    fn foreign_move(&mut self, name: &'static str) -> Outcome {
        self.foreign_image(FOREIGN[0])?;
        self.forget_foreign(name);
        if self.store.tag(FOREIGN[0], name)? {
            self.foreign.touched.insert(name.to_owned());
        }
        Ok(())
    }

    fn foreign_tag(&mut self, name: &'static str) -> Outcome {
        self.settle()?;
        let tag = format!("example.org/tagged/t{}:1", self.foreign.tags.len());
        if self.store.tag(name, &tag)? {
            let records = self.store.records()?;
            let record = records.get(&tag).ok_or("the tag isn't there")?;
            self.foreign.tags.insert(tag, record.target.clone());
        }
        Ok(())
    }
}

/// The images of a bundle that are whole. Of a layout directory that lacks something nothing is
/// taken while it is young: the rest may be on its way.
fn gives(path: &str, contents: &Contents, damage: Option<Damage>) -> Contents {
    let damaged = match damage {
        None => return contents.clone(),
        Some(Damage::Cut) => return Contents::new(),
        Some(Damage::MissingLayer(_)) if crate::directory::is_layout(path) => {
            return Contents::new();
        }
        Some(Damage::MissingLayer(name) | Damage::Flipped(name)) => contents[name],
    };
    let whole = contents.iter().filter(|(_, seed)| **seed != damaged);
    whole.map(|(&name, &seed)| (name, seed)).collect()
}
