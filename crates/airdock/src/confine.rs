//! Giving up the rest of the file system, with Landlock, before anything untrusted is read.
//!
//! The rules can only be tightened afterwards, and they are this process's own: a directory that
//! is named later can't be opened, and a restart is needed. Names, sizes and times stay visible
//! everywhere (Landlock doesn't hide them), and so do changes (`inotify(7)`); what needs a rule is
//! to open. Connecting to containerd's socket needs none.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus,
};

use crate::config::{Endpoint, WatchSettings};

/// The newest rules that this was tried with; of them, those apply that the kernel knows.
const KNOWN: ABI = ABI::V5;

/// Below these, disks come and go: a rule on a directory that is mounted over, or on a disk that
/// is exchanged, would be void.
const DISKS: [&str; 3] = ["/mnt", "/media", "/run/media"];

/// What the kernel tells of this process, of mounts and of the boot. Not the single files, whose
/// inodes come and go; other processes' secrets are closed to a confined process anyway.
const KERNEL: &str = "/proc";

/// Whether to give up the rest of the file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Landlock {
    /// As far as the kernel can.
    #[default]
    Auto,
    /// No: bundles may be links to anywhere.
    Off,
}

/// What a process needs of the file system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    lacks: bool,
}

/// What was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confined {
    /// All but what was asked for.
    Fully,
    /// The kernel doesn't know all rules.
    Partly,
    /// Nothing: the kernel has no Landlock, or it is switched off.
    Not,
}

impl Reach {
    /// The sources, the state, and what the kernel tells.
    pub fn new(settings: &WatchSettings) -> Self {
        let start = Self::default().reads(Path::new(KERNEL));
        let sources = settings.sources.iter().map(|source| &source.directory);
        let sources = sources.fold(start, |reach, directory| reach.source(directory));
        sources.writes(&settings.state_directory)
    }

    /// A watched directory: it may be replaced by another, so its parent belongs to it; where it
    /// is a link, both ends do.
    fn source(mut self, directory: &Path) -> Self {
        let resolved = fs::canonicalize(directory).ok();
        for path in [Some(directory.to_owned()), resolved].into_iter().flatten() {
            if let Some(disks) = DISKS.iter().find(|disks| path.starts_with(disks)) {
                self = self.reads(Path::new(disks));
            }
            if let Some(parent) = path.parent() {
                self = self.reads(parent);
            }
            self = self.reads(&path);
        }
        self
    }

    /// What is read beside bundles.
    #[must_use]
    pub fn reads(mut self, path: &Path) -> Self {
        let nearest = path.ancestors().find(|path| path.exists());
        self.read.extend(nearest.map(Path::to_owned));
        self
    }

    /// A directory of our own; it is made where it isn't there, since nothing above it may be
    /// written later. Where it can't be made, whoever needs it says so.
    fn writes(mut self, directory: &Path) -> Self {
        match fs::create_dir_all(directory) {
            Ok(()) => self.write.push(directory.to_owned()),
            Err(_) => self.lacks = true,
        }
        self
    }

    /// A directory that can be done without.
    #[must_use]
    pub fn may_write(mut self, directory: &Path) -> Self {
        let made = fs::create_dir_all(directory);
        self.write.extend(made.ok().map(|()| directory.to_owned()));
        self
    }

    /// The store, where it is a directory.
    #[must_use]
    pub fn store(self, endpoint: &Endpoint) -> Self {
        match endpoint {
            Endpoint::Layout(directory) => self.writes(directory),
            Endpoint::Containerd { .. } => self,
        }
    }

    /// Whether all of our own directories could be made.
    pub fn is_whole(&self) -> bool {
        !self.lacks
    }

    /// Gives up everything else, for this thread and those that it will start.
    ///
    /// Whatever the kernel lacks is left out; what was given up is returned.
    pub fn enter(&self) -> Result<Confined, RulesetError> {
        let rules = Ruleset::default()
            .handle_access(AccessFs::from_all(KNOWN))?
            // We never call anybody; nor shall what a bundle might have taken over.
            .handle_access(AccessNet::ConnectTcp)?
            .create()?;
        let rules = allow(rules, &self.read, reading())?;
        let rules = allow(rules, &self.write, writing())?;
        Ok(match rules.restrict_self()?.ruleset {
            RulesetStatus::FullyEnforced => Confined::Fully,
            RulesetStatus::PartiallyEnforced => Confined::Partly,
            RulesetStatus::NotEnforced => Confined::Not,
        })
    }
}

/// One log line that says what is left.
pub fn log(reach: &Reach, outcome: &Result<Confined, RulesetError>) {
    let (read, write) = (list(&reach.read), list(&reach.write));
    let msg = match outcome {
        Ok(Confined::Fully) => "gave up the rest of the file system",
        Ok(Confined::Partly) => "gave up the rest of the file system, as far as this kernel can",
        Ok(Confined::Not) => "this kernel has no Landlock: all files stay open to the agent",
        Err(error) => {
            let reason = error.to_string();
            let msg = "cannot give up the rest of the file system";
            return tracing::warn!(msg, component = "agent", reason);
        }
    };
    tracing::info!(msg, component = "agent", read, write);
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    shown.join(" ")
}

/// A path that is gone by now needs no rule.
fn allow(
    rules: RulesetCreated,
    paths: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    paths
        .iter()
        .filter_map(|path| {
            Some(PathBeneath::new(
                PathFd::new(path).ok()?,
                right(path, access),
            ))
        })
        .try_fold(rules, RulesetCreatedAttr::add_rule)
}

/// What can be done to a file is less than what can be done in a directory.
fn right(path: &Path, access: BitFlags<AccessFs>) -> BitFlags<AccessFs> {
    match path.is_dir() {
        true => access,
        false => access & AccessFs::from_file(KNOWN),
    }
}

fn reading() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::ReadDir
}

/// Regular files, directories and sockets; no devices, no links, nothing to execute.
fn writing() -> BitFlags<AccessFs> {
    reading()
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::MakeSock
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Refer
}
