//! Programs of Debian packages that would start services when they are installed: `cargo xtask
//! setup` unpacks these packages into one folder instead, and installs none.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use crate::containerd::daemons;
use crate::needs;

/// The folder, laid out as the root of a file system.
pub fn root() -> PathBuf {
    daemons().join("debian")
}

/// Where programs stand in it.
pub fn bins() -> [PathBuf; 2] {
    ["usr/bin", "usr/sbin"].map(|bin| root().join(bin))
}

/// A program, installed or unpacked, as a command that finds the programs and the libraries which
/// are unpacked beside it, and `more` folders of programs.
pub fn command(name: &str, more: &[PathBuf]) -> io::Result<Command> {
    let absent = || io::Error::new(io::ErrorKind::NotFound, format!("no {name}"));
    let mut command = Command::new(needs::program(name).ok_or_else(absent)?);
    let path = env::var_os("PATH").unwrap_or_default();
    let bins = env::split_paths(&path).chain(bins());
    command.env("PATH", joined(bins.chain(more.iter().cloned()))?);
    let triplet = format!("{}-linux-gnu", env::consts::ARCH);
    command.env("LD_LIBRARY_PATH", root().join("usr/lib").join(triplet));
    Ok(command)
}

fn joined(folders: impl Iterator<Item = PathBuf>) -> io::Result<OsString> {
    env::join_paths(folders).map_err(io::Error::other)
}
