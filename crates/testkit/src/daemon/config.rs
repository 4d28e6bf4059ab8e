//! containerd's configuration, in the form that each release reads.
//!
//! Everything that a daemon writes goes below its own folder: sockets, mounts, runc's state, the
//! network's addresses. So several run side by side, and removing the folder removes them.
//!
//! Pods don't lower their OOM score below the daemon's, which takes a capability that root has
//! not in every container or virtual machine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Cri, Daemon};
use crate::containerd::Version;
use crate::needs::CNI_PLUGINS;

/// Plugins that look for devices and folders of the machine, which no test needs.
const DISABLED: [&str; 8] = [
    "io.containerd.internal.v1.restart",
    "io.containerd.internal.v1.tracing",
    "io.containerd.nri.v1.nri",
    "io.containerd.snapshotter.v1.aufs",
    "io.containerd.snapshotter.v1.blockfile",
    "io.containerd.snapshotter.v1.btrfs",
    "io.containerd.snapshotter.v1.devmapper",
    "io.containerd.snapshotter.v1.zfs",
];

/// CRI's plugin in 1.x, and its three parts in 2.x.
const CRI: [&str; 3] = [
    "io.containerd.grpc.v1.cri",
    "io.containerd.cri.v1.images",
    "io.containerd.cri.v1.runtime",
];

/// The file that [`write()`] makes.
pub(super) fn path(home: &Path) -> PathBuf {
    home.join("config.toml")
}

/// Where the CRI plugin's runc keeps its state.
pub(super) fn runc_root(home: &Path) -> PathBuf {
    home.join("runc")
}

/// Writes the configuration, and the pod network's where there is CRI.
pub(super) fn write(daemon: &Daemon) -> io::Result<()> {
    let home = daemon.home();
    let mut text = base(daemon);
    if let Some(cri) = &daemon.options.cri {
        write_network(daemon)?;
        text.push_str(&match daemon.version() {
            Version::V1_6 | Version::V1_7 => cri_1(home, cri),
            Version::V2_1 => cri_2(home, cri),
        });
    }
    fs::write(path(home), text)
}

fn base(daemon: &Daemon) -> String {
    let format = match daemon.version() {
        Version::V1_6 | Version::V1_7 => 2,
        Version::V2_1 => 3,
    };
    format!(
        r#"version = {format}
root = {root:?}
state = {state:?}
disabled_plugins = {disabled:?}
[grpc]
address = {socket:?}
[plugins."io.containerd.internal.v1.opt"]
path = {opt:?}
"#,
        root = daemon.root(),
        state = daemon.state(),
        disabled = disabled(daemon.options.cri.is_some()),
        socket = daemon.socket(),
        opt = daemon.home().join("opt"),
    )
}

fn disabled(with_cri: bool) -> Vec<&'static str> {
    let cri: &[&str] = if with_cri { &[] } else { &CRI };
    DISABLED.iter().chain(cri).copied().collect()
}

/// CRI in one plugin.
fn cri_1(home: &Path, cri: &Cri) -> String {
    format!(
        r#"[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = {sandbox:?}
stream_server_port = "0"
netns_mounts_under_state_dir = true
restrict_oom_score_adj = true
{runtime}"#,
        sandbox = cri.sandbox_image,
        runtime = runtime("io.containerd.grpc.v1.cri", home),
    )
}

/// CRI in three plugins: server, images, runtime.
fn cri_2(home: &Path, cri: &Cri) -> String {
    format!(
        r#"[plugins."io.containerd.grpc.v1.cri"]
stream_server_port = "0"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = {sandbox:?}
[plugins."io.containerd.cri.v1.runtime"]
netns_mounts_under_state_dir = true
restrict_oom_score_adj = true
{runtime}"#,
        sandbox = cri.sandbox_image,
        runtime = runtime("io.containerd.cri.v1.runtime", home),
    )
}

fn runtime(plugin: &str, home: &Path) -> String {
    format!(
        r#"[plugins."{plugin}".cni]
bin_dir = {CNI_PLUGINS:?}
conf_dir = {network:?}
[plugins."{plugin}".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."{plugin}".containerd.runtimes.runc.options]
Root = {runc:?}
"#,
        network = network_dir(home),
        runc = runc_root(home),
    )
}

fn network_dir(home: &Path) -> PathBuf {
    home.join("net.d")
}

/// A pair of interfaces for each pod: no bridge, no packet filter, no route beyond the machine.
fn write_network(daemon: &Daemon) -> io::Result<()> {
    let home = daemon.home();
    let config = serde_json::json!({
        "cniVersion": "0.4.0",
        "name": daemon.tag(),
        "plugins": [{
            "type": "ptp",
            "ipam": {
                "type": "host-local",
                "subnet": subnet(),
                "dataDir": home.join("ipam"),
            },
        }],
    });
    let dir = network_dir(home);
    fs::create_dir_all(&dir)?;
    fs::write(dir.join("10-pods.conflist"), config.to_string())
}

/// A subnet of 10.200.0.0/13 that daemons running at once hardly share.
fn subnet() -> String {
    static STARTED: AtomicU32 = AtomicU32::new(0);
    let n = process::id().wrapping_mul(31) + STARTED.fetch_add(1, Ordering::Relaxed);
    format!("10.{}.{}.0/24", 200 + (n >> 8) % 8, n % 256)
}
