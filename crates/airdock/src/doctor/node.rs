//! The node: the kernel's limits, the clock.

use std::fs;

use jiff::Timestamp;

use super::Finding;

/// Other programs need some too; kubelet alone takes dozens.
const FEW_INSTANCES: u64 = 128;

/// Bursts beyond this lose events; then directories are listed anew.
const FEW_EVENTS: u64 = 1024;

/// airdock was not there before: a clock that says so is wrong.
const EARLIEST: i64 = 1_767_225_600; // 2026-01-01

/// Whether the sockets and everybody's bundles are open to who asks.
pub(super) fn user() -> Finding {
    let user = rustix::process::geteuid();
    if user.is_root() {
        return Finding::ok("permissions", "asked as root, who may use every socket");
    }
    let found = format!("asked as user {}: not all can be seen", user.as_raw());
    Finding::warning("permissions", found, "ask again as root")
}

pub(super) fn examine() -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(limit("max_user_instances", FEW_INSTANCES));
    findings.extend(limit("max_queued_events", FEW_EVENTS));
    findings.push(clock(Timestamp::now()));
    findings
}

fn limit(name: &str, few: u64) -> Option<Finding> {
    let path = format!("/proc/sys/fs/inotify/{name}");
    let value: u64 = fs::read_to_string(path).ok()?.trim().parse().ok()?;
    let found = format!("fs.inotify.{name} = {value}");
    Some(if value < few {
        let mend = format!("sysctl fs.inotify.{name}={few}; until then changes may be seen later");
        Finding::warning("inotify", found, mend)
    } else {
        Finding::ok("inotify", found)
    })
}

fn clock(now: Timestamp) -> Finding {
    if now.as_second() < EARLIEST {
        let mend = "set the clock; leases and grace periods depend on it";
        return Finding::warning("clock", format!("{now:.0} is in the past"), mend);
    }
    Finding::ok("clock", format!("{now:.0}"))
}
