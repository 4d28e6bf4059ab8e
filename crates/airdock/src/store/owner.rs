//! Whose a lease is, so that those of the dead can be told from those of the living.
//!
//! A process is told of by the kernel's boot, the namespaces that its numbers are of, its id and
//! when it started. Only who shares boot and namespaces can say that it is dead: what another
//! container or another machine left expires by itself.

use std::fs;
use std::path::Path;
use std::process;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// Where process ids are numbered, and where time is counted from.
const NAMESPACES: [&str; 2] = ["/proc/self/ns/pid", "/proc/self/ns/time"];
/// Where the start of a process stands in its `stat`, counted behind its name (`proc_pid_stat(5)`).
const START: usize = 19;

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Boot and namespaces: who has the same sees the same processes.
    place: String,
    pid: u32,
    start: u64,
}

impl Owner {
    /// This process; `None` where the kernel doesn't tell.
    pub fn current() -> Option<Self> {
        let pid = process::id();
        Some(Self {
            place: place()?,
            pid,
            start: start(pid)?,
        })
    }

    /// As a label's value: a hundred characters or so.
    pub fn as_label(&self) -> String {
        let Self { place, pid, start } = self;
        format!("{place} {pid} {start}")
    }

    /// Whether the process that wrote this label has ended for certain, as seen by this one.
    pub fn knows_dead(&self, label: &str) -> bool {
        Self::parse(label).is_some_and(|owner| owner.place == self.place && !owner.may_live())
    }

    fn parse(label: &str) -> Option<Self> {
        let (rest, start) = label.rsplit_once(' ')?;
        let (place, pid) = rest.rsplit_once(' ')?;
        Some(Self {
            place: place.to_owned(),
            pid: pid.parse().ok()?,
            start: start.parse().ok()?,
        })
    }

    /// Another process may have its id by now.
    fn may_live(&self) -> bool {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else {
            return true;
        };
        let is_there = test_kill_process(pid) != Err(Errno::SRCH);
        is_there && start(self.pid).is_none_or(|start| start == self.start)
    }
}

fn place() -> Option<String> {
    let boot = fs::read_to_string(BOOT_ID).ok()?;
    let namespaces = NAMESPACES.map(|path| namespace(Path::new(path)));
    let [Some(pids), Some(times)] = namespaces else {
        return None;
    };
    Some(format!("{} {pids} {times}", boot.trim()))
}

/// `pid:[4026531836]`; kernels before 5.6 have one time for all.
fn namespace(path: &Path) -> Option<String> {
    match fs::read_link(path) {
        Ok(target) => Some(target.to_str()?.to_owned()),
        Err(_) if path.ends_with("time") && !path.exists() => Some("time".to_owned()),
        Err(_) => None,
    }
}

/// When a process started, in the kernel's ticks since its boot.
fn start(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, parentheses too.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(START)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// One that has ended, and was waited for.
    fn ended() -> Owner {
        let current = Owner::current().unwrap();
        let mut child = Command::new("true").spawn().unwrap();
        let start = start(child.id()).unwrap();
        child.wait().unwrap();
        Owner {
            pid: child.id(),
            start,
            ..current
        }
    }

    #[test]
    fn the_living_are_known_and_so_are_the_dead() {
        let current = Owner::current().unwrap();
        assert!(!current.knows_dead(&current.as_label()));
        assert!(current.knows_dead(&ended().as_label()));
    }

    #[test]
    fn another_process_of_the_same_id_is_another() {
        let current = Owner::current().unwrap();
        let earlier = Owner {
            start: current.start - 1,
            ..current.clone()
        };
        assert!(current.knows_dead(&earlier.as_label()));
    }

    #[test]
    fn nobody_is_dead_elsewhere() {
        let current = Owner::current().unwrap();
        let dead = ended().as_label();
        let boot = dead.split(' ').next().unwrap();
        for label in [
            dead.replace(boot, "another-boot"),
            dead.replace("pid:[", "pid:[1"),
            dead.replace("time:[", "time:[1"),
            String::new(),
            "x".to_owned(),
            format!("{dead} x"),
        ] {
            assert!(!current.knows_dead(&label), "{label}");
        }
    }
}
