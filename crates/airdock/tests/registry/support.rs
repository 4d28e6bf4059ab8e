//! What these tests share.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use airdock_testkit::Need;
use airdock_testkit::fixture::{Image, Target};
use airdock_testkit::process::{Running, run};

pub(crate) use airdock_testkit::process::text;
pub(crate) use airdock_testkit::wait::DEADLINE;

pub(crate) const AIRDOCK: &str = env!("CARGO_BIN_EXE_airdock");

/// What every test here needs.
pub(crate) const NEEDS: &[Need] = &[Need::Program("docker-registry"), Need::Program("skopeo")];

/// Without the proxies and credentials of whoever runs the tests.
const CLEARED: [&str; 10] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "REGISTRY_AUTH_FILE",
    "DOCKER_CONFIG",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
];

/// The digest of the small image of a seed, as the fixture writer computed it.
pub(crate) fn digest_of(seed: &str) -> String {
    Target::from(Image::small(seed)).digest()
}

/// `airdock pack` of images for linux/amd64 into `DIR/out.tar`, with a home and a cache of its own.
pub(crate) struct Pack<'a> {
    dir: &'a Path,
    command: Command,
}

impl<'a> Pack<'a> {
    pub(crate) fn of(dir: &'a Path, args: &[&str]) -> Self {
        let (out, cache) = (dir.join("out.tar"), dir.join("cache"));
        let own = ["--out", text(&out), "--cache", text(&cache)];
        Self::bare(dir, &[&own[..], args].concat())
    }

    /// The same with file and cache among `args`.
    pub(crate) fn bare(dir: &'a Path, args: &[&str]) -> Self {
        let mut command = Command::new(AIRDOCK);
        command.args(["pack", "--force", "--platform", "linux/amd64"]);
        command.args(args).env("HOME", dir);
        for key in CLEARED {
            command.env_remove(key);
        }
        Self { dir, command }
    }

    /// The same with a variable of the environment.
    pub(crate) fn env(mut self, key: &str, value: &str) -> Self {
        self.command.env(key, value);
        self
    }

    /// The same with another `/etc/hosts`, in a mount namespace of its own.
    pub(crate) fn hosts(self, hosts: &Path) -> Self {
        let script = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, text(hosts), AIRDOCK]);
        command.args(self.command.get_args());
        for (key, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(key, value),
                None => command.env_remove(key),
            };
        }
        let dir = self.dir;
        Self { dir, command }
    }

    pub(crate) fn start(mut self) -> io::Result<Running> {
        self.command.stdin(std::process::Stdio::null());
        Running::spawn(&mut self.command)
    }

    pub(crate) fn run(mut self) -> io::Result<Packed> {
        let output = self.command.stdin(std::process::Stdio::null()).output()?;
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Packed {
            code: output.status.code().unwrap_or(-1),
            said: shown(&output.stdout) + &shown(&output.stderr),
            out: self.dir.join("out.tar"),
        })
    }
}

/// How packing ended.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) code: i32,
    /// All that it wrote.
    pub(crate) said: String,
    pub(crate) out: PathBuf,
}

impl Packed {
    /// Fails the test unless all was packed.
    #[track_caller]
    pub(crate) fn good(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.said);
        self
    }

    /// Fails the test unless it ended so, and said all these words; no file is left then.
    #[track_caller]
    pub(crate) fn failed(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, code, "{}", self.said);
        for word in words {
            assert!(self.said.contains(word), "no \"{word}\" in: {}", self.said);
        }
        assert!(!self.out.exists(), "a file was left: {}", self.said);
        self
    }

    /// The digest of a name in the bundle, in which every byte was verified.
    #[track_caller]
    pub(crate) fn digest(&self, name: &str) -> String {
        let verified = run(AIRDOCK, &["verify", text(&self.out)]).expect("airdock starts");
        assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
        let packed = format!("packed {name} ");
        let line = self
            .said
            .lines()
            .find_map(|line| line.strip_prefix(&packed));
        line.unwrap_or_else(|| panic!("no {name}: {}", self.said))
            .to_owned()
    }

    /// Whether the bundle has a blob.
    pub(crate) fn has(&self, digest: &str) -> io::Result<bool> {
        let listed = run("tar", &["--list", "--file", text(&self.out)])?;
        let path = airdock_testkit::fixture::blob_path(digest);
        Ok(listed.stdout.lines().any(|line| line == path))
    }
}

/// Runs skopeo; what it prints.
pub(crate) fn skopeo(args: &[&str]) -> io::Result<String> {
    let ended = run("skopeo", args)?;
    match ended.code {
        0 => Ok(ended.stdout),
        code => Err(io::Error::other(format!(
            "skopeo: {code}: {}",
            ended.stderr
        ))),
    }
}

/// What skopeo says that a name stands for, at a registry or in an archive.
pub(crate) fn skopeo_digest(reference: &str) -> io::Result<String> {
    let raw = skopeo_raw(reference)?;
    Ok(airdock_testkit::fixture::sha256(raw.as_bytes()))
}

/// The document that a name stands for.
pub(crate) fn skopeo_raw(reference: &str) -> io::Result<String> {
    skopeo(&["inspect", "--raw", "--tls-verify=false", reference])
}
