//! What an agent takes at one moment: memory, descriptors, watches, and what it keeps in the store.

use std::fs;
use std::io;

use anyhow::Context as _;

use super::room::Room;

/// One look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sample {
    /// Resident memory in KiB.
    pub resident: u64,
    /// Of it, what no file stands behind.
    pub anonymous: u64,
    pub threads: u64,
    pub descriptors: u64,
    pub watches: u64,
    /// Of ours.
    pub leases: u64,
    /// Of ours.
    pub ingests: u64,
    pub ledger: u64,
    /// Names in the store.
    pub names: u64,
    /// Blobs in the store.
    pub blobs: u64,
}

impl Sample {
    pub(super) fn of(room: &Room) -> anyhow::Result<Self> {
        let process = format!("/proc/{}", room.pid());
        let status = fs::read_to_string(format!("{process}/status"))?;
        let ours = |lines: Vec<String>| lines.iter().filter(|l| l.starts_with("airdock-")).count();
        let ingests = room.listed(&["content", "active"])?;
        Ok(Self {
            resident: field(&status, "VmRSS")?,
            anonymous: field(&status, "RssAnon")?,
            threads: field(&status, "Threads")?,
            descriptors: entries(&format!("{process}/fd"))?,
            watches: watches(&format!("{process}/fdinfo"))?,
            leases: ours(room.listed(&["leases", "ls", "-q"])?) as u64,
            ingests: ours(ingests) as u64,
            ledger: entries(&room.ledger().to_string_lossy())?,
            names: room.listed(&["images", "ls", "-q"])?.len() as u64,
            blobs: room.listed(&["content", "ls", "-q"])?.len() as u64,
        })
    }

    /// What is there of an empty directory.
    pub(super) fn left(&self) -> u64 {
        self.leases + self.ingests + self.ledger + self.names + self.blobs
    }
}

/// `name: 123 kB` gives 123.
fn field(status: &str, name: &str) -> anyhow::Result<u64> {
    let values = status.lines().filter_map(|line| line.strip_prefix(name));
    let mut values = values.filter_map(|rest| rest.strip_prefix(':'));
    let value = values.next().with_context(|| format!("no {name}"))?;
    let number = value.split_whitespace().next().unwrap_or_default();
    Ok(number.parse()?)
}

fn entries(directory: &str) -> io::Result<u64> {
    Ok(fs::read_dir(directory)?.count() as u64)
}

/// One line `inotify wd:…` for each watch (proc(5)).
fn watches(fdinfo: &str) -> io::Result<u64> {
    let mut watches = 0;
    for entry in fs::read_dir(fdinfo)? {
        // A descriptor may be closed meanwhile.
        let text = fs::read_to_string(entry?.path()).unwrap_or_default();
        let lines = text.lines().filter(|line| line.starts_with("inotify wd:"));
        watches += lines.count() as u64;
    }
    Ok(watches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let status = "VmRSSx:\t1 kB\nVmRSS:\t   1234 kB\nThreads:\t5\n";
        assert_eq!(field(status, "VmRSS").unwrap(), 1234);
        assert_eq!(field(status, "Threads").unwrap(), 5);
        assert!(field(status, "Rss").is_err());
    }
}
