//! Ending what a daemon started: containers, their shims, mounts, and the network's notes.
//!
//! Everything is found by the daemon's own folder, so nothing of another daemon is touched.
//! Errors are passed over: what can't be ended now is found by the next step, and a test that
//! has its answer already must not fail for it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};

use super::config;
use crate::needs;
use crate::wait;

/// Where libcni notes what it gave to whom; the place can't be configured through CRI.
const NETWORK_NOTES: &str = "/var/lib/cni/results";

/// Where control groups are: one tree, or one for each controller below it.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// Where a daemon's state says on which sockets its shims listen; those are outside of it.
const TASKS: &str = "state/io.containerd.runtime.v2.task";

/// Ends all that was started below `home`, and removes what has the name `tag` outside.
pub(super) fn all(home: &Path, tag: &str) {
    let sockets = shim_sockets(&home.join(TASKS));
    containers(&config::runc_root(home));
    processes(home);
    for socket in sockets {
        let _ = fs::remove_file(socket);
    }
    mounts(home);
    notes(home);
    control_groups(tag);
}

/// Kills every container, and removes its control groups.
fn containers(runc_root: &Path) {
    let Some(runc) = needs::program("runc") else {
        return;
    };
    for namespace in list(runc_root) {
        for container in list(&namespace) {
            let id = container.file_name().unwrap_or_default();
            let _ = Command::new(&runc)
                .arg("--root")
                .arg(&namespace)
                .args(["delete", "--force"])
                .arg(id)
                .stdin(Stdio::null())
                .output();
        }
    }
}

/// The sockets of all shims that run, as 1.x (`address`) and 2.x (`bootstrap.json`) note them.
fn shim_sockets(tasks: &Path) -> Vec<PathBuf> {
    let tasks = list(tasks)
        .into_iter()
        .flat_map(|namespace| list(&namespace));
    let notes = tasks.flat_map(|task| ["address", "bootstrap.json"].map(|note| task.join(note)));
    notes.filter_map(|note| socket_in(&note)).collect()
}

/// The path in `unix:///run/…`, alone or as a JSON string.
fn socket_in(note: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(note).ok()?;
    let (_, rest) = text.split_once("unix://")?;
    rest.split(['"', '\n']).next().map(PathBuf::from)
}

/// Kills shims, which name the daemon's socket in their arguments.
fn processes(home: &Path) {
    let ours: Vec<Pid> = list(Path::new("/proc"))
        .iter()
        .filter(|process| mentions(process, home))
        .filter_map(|process| pid(process))
        .collect();
    for &pid in &ours {
        let _ = kill_process(pid, Signal::KILL);
    }
    let _ = wait::until("the shims' end", wait::DEADLINE, || {
        ours.iter().all(|&pid| is_gone(pid)).then_some(())
    });
}

fn mentions(process: &Path, home: &Path) -> bool {
    let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
    let shim = arguments.split(|&byte| byte == 0).next().unwrap_or(&[]);
    let home = home.as_os_str().as_encoded_bytes();
    contains(shim, b"containerd-shim") && contains(&arguments, home)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

fn pid(process: &Path) -> Option<Pid> {
    let name = process.file_name()?.to_str()?;
    Pid::from_raw(name.parse().ok()?)
}

/// Gone, or a zombie that waits for its parent.
fn is_gone(pid: Pid) -> bool {
    let stat = format!("/proc/{}/stat", pid.as_raw_nonzero());
    fs::read_to_string(stat).map_or(true, |stat| stat.contains(") Z "))
}

/// Unmounts the newest mount first, for it may stand on an older one.
fn mounts(home: &Path) {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points = table.lines().filter_map(|line| line.split(' ').nth(4));
    let ours: Vec<&str> = points
        .filter(|point| Path::new(point).starts_with(home))
        .collect();
    for point in ours.into_iter().rev() {
        let _ = unmount(point, UnmountFlags::DETACH);
    }
}

/// Removes the network's notes of this daemon's pods, which name namespaces below its folder.
fn notes(home: &Path) {
    let home = home.as_os_str().as_encoded_bytes();
    for note in list(Path::new(NETWORK_NOTES)) {
        if fs::read(&note).is_ok_and(|text| contains(&text, home)) {
            let _ = fs::remove_file(&note);
        }
    }
}

/// Removes the group that pods had theirs in, which is empty by now.
fn control_groups(tag: &str) {
    let tree = PathBuf::from(CONTROL_GROUPS);
    let controllers = list(&tree);
    for parent in controllers.into_iter().chain([tree]) {
        let _ = fs::remove_dir(parent.join(tag));
    }
}

/// The entries of a folder; none when there is no such folder.
fn list(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    entries
        .filter_map(io::Result::ok)
        .map(|entry| entry.path())
        .collect()
}
