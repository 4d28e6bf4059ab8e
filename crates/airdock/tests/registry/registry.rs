//! Debian's docker-registry, on a port of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use airdock_testkit::needs::program;
use airdock_testkit::process::Running;

use crate::support::{DEADLINE, text};

/// Who may read where a password is asked for.
pub(crate) const USER: &str = "test";
pub(crate) const PASSWORD: &str = "secret";

/// USER and PASSWORD as htpasswd writes them; four rounds, so that it takes no time.
const HTPASSWD: &str = "test:$2b$04$0yki4DjKcejrwDQRKr5Cpuu0TrnSsLK2EdrOyQZlvqSWqUVVSmvU6\n";

/// A running registry; ended when dropped.
pub(crate) struct Registry {
    /// `127.0.0.1:PORT`.
    pub(crate) authority: String,
    dir: PathBuf,
    _running: Running,
}

/// What a registry asks for.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) password: bool,
    /// A certificate and its key.
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
}

impl Registry {
    /// A registry that speaks plain http and asks for nothing.
    pub(crate) fn plain(dir: &Path) -> io::Result<Self> {
        Self::start(dir, &Options::default())
    }

    pub(crate) fn start(dir: &Path, options: &Options) -> io::Result<Self> {
        let dir = dir.join("registry");
        fs::create_dir_all(&dir)?;
        let config = dir.join("config.yml");
        fs::write(&config, written(&dir, options)?)?;
        let program = program("docker-registry").ok_or(io::ErrorKind::NotFound)?;
        let mut command = Command::new(program);
        // It would trace to a collector that isn't there.
        command
            .args(["serve", text(&config)])
            .env("OTEL_TRACES_EXPORTER", "none");
        let mut running = Running::spawn(&mut command)?;
        let line = running.wait_for_line(&["listening on"], DEADLINE)?;
        let address = line.split("listening on ").nth(1).unwrap_or_default();
        let end = address.find([',', '"']).unwrap_or(address.len());
        Ok(Self {
            authority: address[..end].trim().to_owned(),
            dir,
            _running: running,
        })
    }

    /// Where it keeps what was pushed.
    pub(crate) fn data(&self) -> PathBuf {
        self.dir.join("data")
    }
}

/// Port 0: the kernel chooses one that is free, and the registry says which.
fn written(dir: &Path, options: &Options) -> io::Result<String> {
    let data = dir.join("data");
    let mut config = format!(
        "version: 0.1\nstorage: {{filesystem: {{rootdirectory: {}}}, delete: {{enabled: true}}}}\n\
         http:\n  addr: \"127.0.0.1:0\"\n  secret: s\n",
        text(&data)
    );
    if let Some((certificate, key)) = &options.tls {
        let (certificate, key) = (text(certificate), text(key));
        config += &format!("  tls: {{certificate: {certificate}, key: {key}}}\n");
    }
    if options.password {
        let path = dir.join("htpasswd");
        fs::write(&path, HTPASSWD)?;
        config += &format!("auth: {{htpasswd: {{realm: r, path: {}}}}}\n", text(&path));
    }
    Ok(config)
}
