//! A real containerd with a root, a state and a socket of its own.

mod cleanup;
mod config;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::containerd::{Installed, Version};
use crate::mount::Mount;
use crate::needs::Need;
use crate::wait;

/// The namespace that kubelet's images live in.
pub const NAMESPACE: &str = "k8s.io";

/// How a daemon is started.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// With the CRI plugin; without it a daemon starts in a fraction of the time.
    pub cri: Option<Cri>,
    /// With its root in memory, on a file system of this many bytes.
    pub memory: Option<u64>,
}

/// How the CRI plugin is set up: runc, and a pod network that touches nothing but itself.
#[derive(Clone, Debug)]
pub struct Cri {
    /// The image of every pod's first container.
    pub sandbox_image: String,
}

impl Options {
    /// With CRI, and this image for pods.
    pub fn with_cri(sandbox_image: &str) -> Self {
        let sandbox_image = sandbox_image.to_owned();
        Self {
            cri: Some(Cri { sandbox_image }),
            ..Self::default()
        }
    }

    /// With its root in memory, on a file system of so many bytes.
    pub fn in_memory(bytes: u64) -> Self {
        Self {
            memory: Some(bytes),
            ..Self::default()
        }
    }

    /// What the machine must have for it.
    pub fn needs(&self, version: Version) -> Vec<Need> {
        let mut needs = vec![Need::Root, Need::Overlay, Need::Containerd(version)];
        if self.cri.is_some() {
            needs.extend([Need::Program("runc"), Need::Cni]);
        }
        needs
    }
}

/// A running containerd; dropping it ends it and all that it started.
#[derive(Debug)]
pub struct Daemon {
    installed: Installed,
    options: Options,
    child: Option<Child>,
    memory: Option<Mount>,
    home: TempDir,
}

impl Daemon {
    /// A daemon without CRI that answers.
    pub fn start(version: Version) -> io::Result<Self> {
        Self::start_with(version, Options::default())
    }

    /// A daemon that answers, set up as `options` say.
    pub fn start_with(version: Version, options: Options) -> io::Result<Self> {
        let missing = || io::Error::other(format!("no containerd {version}"));
        let installed = Installed::find(version).ok_or_else(missing)?;
        // Short, for a socket's path has 107 bytes at most (unix(7)).
        let home = tempfile::Builder::new().prefix("airdock-").tempdir()?;
        let mut daemon = Self {
            installed,
            options,
            child: None,
            memory: None,
            home,
        };
        if let Some(bytes) = daemon.options.memory {
            daemon.memory = Some(Mount::tmpfs(&daemon.root(), bytes)?);
        }
        config::write(&daemon)?;
        daemon.launch()?;
        Ok(daemon)
    }

    /// The version it was asked for as.
    pub fn version(&self) -> Version {
        self.installed.version
    }

    /// What it says it is: `1.6.20~ds1`.
    pub fn release(&self) -> &str {
        &self.installed.release
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.home().join("s")
    }

    /// Its root folder: content, metadata, snapshots.
    pub fn root(&self) -> PathBuf {
        self.home().join("root")
    }

    /// The file system that its root is on, where that is its own.
    pub fn memory(&self) -> io::Result<&Mount> {
        let missing = || io::Error::other("its root is on no file system of its own");
        self.memory.as_ref().ok_or_else(missing)
    }

    /// Where its content store keeps the blob of this digest.
    pub fn blob(&self, digest: &str) -> PathBuf {
        let blobs = "io.containerd.content.v1.content/blobs";
        self.root().join(blobs).join(digest.replace(':', "/"))
    }

    /// Its state folder: sockets and mounts of what runs.
    pub fn state(&self) -> PathBuf {
        self.home().join("state")
    }

    /// The folder that holds all that is its own.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// A name that no other daemon has: of its folder, its pod network, its control group.
    pub fn tag(&self) -> String {
        let name = self.home().file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// Runs its own `ctr` in the namespace `k8s.io`.
    pub fn ctr(&self, args: &[&str]) -> io::Result<Output> {
        self.ctr_in(NAMESPACE, args)
    }

    /// The same; its standard output, or an error with what it said.
    pub fn ctr_text(&self, args: &[&str]) -> io::Result<String> {
        self.ctr_text_in(NAMESPACE, args)
    }

    /// Runs its own `ctr` in another namespace.
    pub fn ctr_in(&self, namespace: &str, args: &[&str]) -> io::Result<Output> {
        Command::new(self.installed.bin.join("ctr"))
            .arg("--address")
            .arg(self.socket())
            .args(["--namespace", namespace])
            .args(args)
            .output()
    }

    /// The same; its standard output, or an error with what it said.
    pub fn ctr_text_in(&self, namespace: &str, args: &[&str]) -> io::Result<String> {
        let out = self.ctr_in(namespace, args)?;
        if out.status.success() {
            return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&out.stderr);
        Err(io::Error::other(format!("ctr {args:?}: {}", said.trim())))
    }

    /// Ends it as a service manager does, and waits for it. What runs in pods goes on.
    pub fn stop(&mut self) -> io::Result<()> {
        self.end(Signal::TERM)
    }

    /// Ends it without a warning.
    pub fn kill(&mut self) -> io::Result<()> {
        self.end(Signal::KILL)
    }

    /// Stops it if it runs, and starts it on the same folders.
    pub fn restart(&mut self) -> io::Result<()> {
        self.stop()?;
        self.launch()
    }

    fn end(&mut self, signal: Signal) -> io::Result<()> {
        let Some(mut child) = self.child.take() else {
            return Ok(());
        };
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.ok_or(io::ErrorKind::NotFound)?, signal)?;
        let ended = wait::until("containerd's end", wait::DEADLINE, || {
            child.try_wait().transpose()
        });
        if ended.is_err() {
            child.kill()?;
            child.wait()?;
        }
        ended.map(drop)
    }

    fn launch(&mut self) -> io::Result<()> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log_path())?;
        let child = Command::new(self.installed.bin.join("containerd"))
            .arg("--config")
            .arg(config::path(self.home()))
            .env("PATH", self.path_variable())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        self.child = Some(child);
        self.answers()
    }

    /// Waits until it answers its own client.
    fn answers(&mut self) -> io::Result<()> {
        let ready = wait::until("containerd's answer", wait::DEADLINE, || {
            if self.has_ended() {
                return Some(Err(io::Error::other("containerd ended at its start")));
            }
            self.is_ready().then_some(Ok(()))
        });
        ready
            .flatten()
            .map_err(|error| io::Error::new(error.kind(), format!("{error}\n{}", self.log())))
    }

    fn has_ended(&mut self) -> bool {
        let child = self.child.as_mut();
        child.is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
    }

    fn is_ready(&self) -> bool {
        // The socket is there before it is served; a client would wait for it in vain for long.
        self.socket().exists()
            && self.ctr(&["version"]).is_ok_and(|out| out.status.success())
            && (self.options.cri.is_none() || self.log().contains("Start streaming server"))
    }

    fn log_path(&self) -> PathBuf {
        self.home().join("log")
    }

    /// Its own shims before those of another release.
    fn path_variable(&self) -> String {
        let bin = self.installed.bin.display();
        let rest = std::env::var("PATH").unwrap_or_default();
        format!("{bin}:{rest}:/usr/sbin:/sbin")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Whatever goes on after this is ended by what follows.
        let _ = self.stop();
        cleanup::all(self.home(), &self.tag());
    }
}
