//! containerd's configuration, in the form that each release reads.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};

use super::{Cri, Daemon};
use crate::containerd::Version;
use crate::needs::CNI_PLUGINS;

/// The file that [`write`] makes.
pub(super) fn path(home: &Path) -> PathBuf {
    home.join("config.toml")
}

/// Writes the configuration, and the pod network's where there is CRI.
pub(super) fn write(daemon: &Daemon) -> io::Result<()> {
    let home = daemon.home();
    let cri = match &daemon.options.cri {
        None => "disabled_plugins = [\"io.containerd.grpc.v1.cri\", \"io.containerd.cri.v1.images\", \"io.containerd.cri.v1.runtime\"]\n".to_owned(),
        Some(cri) => {
            write_network(home)?;
            cri_section(daemon.version(), home, cri)
        }
    };
    let base = base(daemon);
    fs::write(path(home), format!("{base}{cri}"))
}

fn base(daemon: &Daemon) -> String {
    format!(
        "version = 2\nroot = {:?}\nstate = {:?}\n",
        daemon.root(),
        daemon.state()
    )
}

fn cri_section(_version: Version, _home: &Path, _cri: &Cri) -> String {
    String::new()
}

fn write_network(_home: &Path) -> io::Result<()> {
    let _ = (
        CNI_PLUGINS,
        AtomicU8::new(0).fetch_add(1, Ordering::Relaxed),
    );
    Ok(())
}
