//! A store from outside: what it holds, and what others may do to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use airdock_testkit::mount::Mount;
use airdock_testkit::{Daemon, Outcome};

use crate::containerd;
use crate::image::{Digests, Seed};
use crate::layout::Layout;

/// A name in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) target: String,
    pub(crate) labels: BTreeMap<String, String>,
}

pub(crate) type Records = BTreeMap<String, Record>;

#[derive(Debug)]
pub(crate) enum Store<'a> {
    Containerd(&'a mut Daemon),
    Layout(Layout),
}

pub(crate) type Result<T> = std::result::Result<T, libtest_mimic::Failed>;

impl Store<'_> {
    pub(crate) fn layout(dir: &Path) -> Self {
        Self::Layout(Layout::new(dir.join("store")))
    }

    /// The same on a file system of its own.
    pub(crate) fn layout_on(disk: Mount) -> Self {
        Self::Layout(Layout::on(disk))
    }

    /// The file system that it is on, where that is its own.
    pub(crate) fn disk(&self) -> Option<&Mount> {
        match self {
            Self::Containerd(daemon) => daemon.memory().ok(),
            Self::Layout(layout) => layout.disk(),
        }
    }

    /// As it is written after `--store`.
    pub(crate) fn argument(&self) -> String {
        match self {
            Self::Containerd(daemon) => format!("containerd:{}", daemon.socket().display()),
            Self::Layout(layout) => format!("oci:{}", layout.path().display()),
        }
    }

    /// Whether the agent hears of what others do.
    pub(crate) fn tells(&self) -> bool {
        matches!(self, Self::Containerd(_))
    }

    /// Whether names are pinned here.
    pub(crate) fn pins(&self) -> bool {
        matches!(self, Self::Containerd(_))
    }

    /// The names that an image of this name gets.
    pub(crate) fn names(&self, name: &str, digests: &Digests) -> Vec<(String, String)> {
        let tag = (name.to_owned(), digests.manifest.clone());
        match self {
            Self::Layout(_) => vec![tag],
            Self::Containerd(_) => {
                let colon = name.rfind(':').unwrap_or(name.len());
                let by_digest = format!("{}@{}", &name[..colon], digests.manifest);
                let [by_digest, id] =
                    [by_digest, digests.config.clone()].map(|n| (n, digests.manifest.clone()));
                vec![by_digest, id, tag]
            }
        }
    }

    pub(crate) fn records(&self) -> Result<Records> {
        match self {
            Self::Containerd(daemon) => Ok(containerd::records(daemon)?),
            Self::Layout(layout) => layout.records(),
        }
    }

    /// Somebody else removes a name; one that isn't there is as good.
    pub(crate) fn delete(&self, name: &str) -> Outcome {
        match self {
            Self::Containerd(daemon) => drop(daemon.ctr(&["images", "rm", name])?),
            Self::Layout(layout) => layout.delete(name)?,
        }
        Ok(())
    }

    /// Somebody else removes a blob.
    pub(crate) fn delete_blob(&self, digest: &str) -> Outcome {
        match self {
            Self::Containerd(daemon) => drop(daemon.ctr(&["content", "rm", digest])?),
            Self::Layout(layout) => layout.delete_blob(digest)?,
        }
        Ok(())
    }

    /// Somebody else sets a label, or takes it off with an empty value; whether there was a record.
    pub(crate) fn label(&self, name: &str, key: &str, value: &str) -> Result<bool> {
        match self {
            Self::Containerd(daemon) => {
                let label = format!("{key}={value}");
                let done = daemon.ctr(&["images", "label", name, &label])?;
                Ok(done.status.success())
            }
            Self::Layout(layout) => layout.label(name, key, value),
        }
    }

    /// Somebody else brings an image, over whatever has the name.
    pub(crate) fn bring(&self, name: &'static str, seed: Seed, dir: &Path) -> Outcome {
        match self {
            Self::Containerd(daemon) => containerd::import(daemon, name, seed, dir),
            Self::Layout(layout) => layout.bring(name, seed),
        }
    }

    /// Somebody else gives an image another name, and with it the labels of the first.
    pub(crate) fn tag(&self, from: &str, to: &str) -> Result<bool> {
        match self {
            Self::Containerd(daemon) => {
                let done = daemon.ctr(&["images", "tag", "--force", from, to])?;
                Ok(done.status.success())
            }
            Self::Layout(layout) => layout.tag(from, to),
        }
    }

    pub(crate) fn restart(&mut self) -> Outcome {
        if let Self::Containerd(daemon) = self {
            daemon.restart()?;
        }
        Ok(())
    }

    /// The digests of all blobs that the store knows: containerd's file of one that was removed
    /// stays until garbage is collected.
    pub(crate) fn blobs(&self) -> Result<BTreeSet<String>> {
        match self {
            Self::Containerd(daemon) => Ok(containerd::blobs(daemon)?),
            Self::Layout(layout) => Ok(layout.blobs()?),
        }
    }

    /// The bytes of a blob.
    pub(crate) fn blob(&self, digest: &str) -> std::io::Result<Vec<u8>> {
        let blobs = match self {
            Self::Containerd(daemon) => {
                daemon.root().join("io.containerd.content.v1.content/blobs")
            }
            Self::Layout(layout) => layout.path().join("blobs"),
        };
        std::fs::read(blobs.join(digest.replace(':', "/")))
    }

    /// Leases and unfinished writes of ours.
    pub(crate) fn leftovers(&self) -> Result<Vec<String>> {
        match self {
            Self::Containerd(daemon) => Ok(containerd::leftovers(daemon)?),
            Self::Layout(layout) => layout.leftovers(),
        }
    }

    /// Empties it for the next sequence.
    pub(crate) fn clear(&mut self) -> Outcome {
        match self {
            Self::Containerd(daemon) => containerd::clear(daemon)?,
            Self::Layout(layout) => layout.clear()?,
        }
        Ok(())
    }
}
