//! Debian's docker-registry, on a port of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use airdock_testkit::fixture::{Bundle, Image, Target};
use airdock_testkit::needs::program;
use airdock_testkit::process::Running;

use crate::support::{DEADLINE, skopeo, text};

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
    asks: bool,
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

    /// The same with the small image of the seed `one` as `x:1`.
    pub(crate) fn with_one(dir: &Path) -> io::Result<Self> {
        Self::with(dir, Image::small("one"))
    }

    /// The same with an image as `x:1`.
    pub(crate) fn with(dir: &Path, target: impl Into<Target>) -> io::Result<Self> {
        let registry = Self::plain(dir)?;
        registry.push("x:1", target)?;
        Ok(registry)
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
            asks: options.password,
            _running: running,
        })
    }

    /// The whole name of what stands here under `path`: `127.0.0.1:PORT/x:1`.
    pub(crate) fn name(&self, path: &str) -> String {
        format!("{}/{path}", self.authority)
    }

    /// Pushes an image with skopeo, every platform of it; its whole name.
    pub(crate) fn push(&self, path: &str, target: impl Into<Target>) -> io::Result<String> {
        let layout = tempfile::tempdir_in(&self.dir)?;
        let bundle = Bundle::new().with(&["pushed:1"], target);
        bundle.oci().write_dir(layout.path())?;
        let name = self.name(path);
        let from = format!("oci:{}:1", text(layout.path()));
        let to = format!("docker://{name}");
        let user = format!("--dest-creds={USER}:{PASSWORD}");
        let mut args = vec!["copy", "--insecure-policy", "--quiet", "--all"];
        args.extend(["--preserve-digests", "--dest-tls-verify=false"]);
        args.extend(self.asks.then_some(user.as_str()));
        args.extend([from.as_str(), to.as_str()]);
        skopeo(&args)?;
        Ok(name)
    }

    pub(crate) fn port(&self) -> &str {
        self.authority.rsplit(':').next().unwrap_or_default()
    }

    /// The file in which it keeps a blob.
    pub(crate) fn blob(&self, digest: &str) -> PathBuf {
        let hex = digest.trim_start_matches("sha256:");
        let blobs = self.dir.join("data/docker/registry/v2/blobs/sha256");
        blobs.join(&hex[..2]).join(hex).join("data")
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
