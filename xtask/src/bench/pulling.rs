//! An image out of a registry into one file, against skopeo.

use std::fs;
use std::path::Path;
use std::process::Command;

use airdock_testkit::needs::program;
use airdock_testkit::process::Running;
use airdock_testkit::{Version, wait};
use anyhow::Context as _;
use tempfile::TempDir;

use super::Bench;
use super::bundles::Name;
use super::measure::{self, Measured};
use super::row::Row;
use super::statistics::{mebibytes, median, seconds};
use crate::shell;

/// Runs of each side.
const TIMES: usize = 5;

/// Against the layout directory, which skopeo writes without packing it.
const GOAL: f64 = 1.0;

/// Who fetches the image.
#[derive(Clone, Copy, Debug)]
enum Side {
    Airdock,
    /// `skopeo copy` into a layout directory.
    Layout,
    /// `skopeo copy` into an archive.
    Archive,
}

const SIDES: [Side; 3] = [Side::Airdock, Side::Layout, Side::Archive];

/// A registry on loopback that holds one image.
struct Site {
    folder: TempDir,
    authority: String,
    _registry: Running,
}

/// Case L.
pub(super) fn rows(bench: &Bench, version: Version) -> Vec<anyhow::Result<Row>> {
    match measured(bench) {
        Ok([ours, others @ ..]) => {
            let sides = [Side::Layout, Side::Archive].into_iter().zip(others);
            let rows = sides.map(|(side, theirs)| Ok(row(version, side, &ours, &theirs)));
            rows.collect()
        }
        Err(error) => vec![Err(error)],
    }
}

/// By turns, so that what slows the machine down slows all of them.
fn measured(bench: &Bench) -> anyhow::Result<[Vec<Measured>; 3]> {
    let site = Site::start(bench)?;
    let mut runs = SIDES.map(|_| Vec::new());
    for _ in 0..bench.times(TIMES) {
        for (side, runs) in SIDES.into_iter().zip(&mut runs) {
            runs.push(site.fetch(bench, side)?);
        }
    }
    Ok(runs)
}

impl Site {
    fn start(bench: &Bench) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir_in(bench.bundles.folder())?;
        let config = folder.path().join("config.yml");
        let data = folder.path().join("data");
        // Port 0: the kernel chooses one that is free, and the registry says which.
        let text = format!(
            "version: 0.1\nlog: {{accesslog: {{disabled: true}}}}\nstorage: {{filesystem: \
             {{rootdirectory: {}}}}}\nhttp: {{addr: \"127.0.0.1:0\", secret: s}}\n",
            data.display()
        );
        fs::write(&config, text)?;
        let program = program("docker-registry").context("no docker-registry")?;
        let mut registry = Command::new(program);
        let mut registry = Running::spawn(registry.arg("serve").arg(&config))?;
        let line = registry.wait_for_line(&["listening on"], wait::DEADLINE)?;
        let address = line.split("listening on ").nth(1).unwrap_or_default();
        let authority = address.split([',', '"', ' ']).next().unwrap_or_default();
        let site = Self {
            authority: authority.trim().to_owned(),
            folder,
            _registry: registry,
        };
        site.push(&bench.bundles.get(Name::One)?.path)?;
        Ok(site)
    }

    fn push(&self, bundle: &Path) -> anyhow::Result<()> {
        let from = format!("oci-archive:{}", bundle.display());
        let mut push = Command::new("skopeo");
        push.args(["copy", "--insecure-policy", "--quiet"]);
        push.args(["--dest-tls-verify=false", &from]);
        shell::run(push.arg(format!("docker://{}", self.name())))
    }

    fn name(&self) -> String {
        format!("{}/image:1", self.authority)
    }

    /// One run with nothing kept from the last one.
    fn fetch(&self, bench: &Bench, side: Side) -> anyhow::Result<Measured> {
        let run = tempfile::tempdir_in(self.folder.path())?;
        measure::settle(run.path())?;
        measure::run(&mut match side {
            Side::Airdock => self.pack(bench, run.path()),
            Side::Layout => self.copy(&format!("oci:{}:x", run.path().join("out").display())),
            Side::Archive => {
                let archive = run.path().join("out.tar");
                self.copy(&format!("oci-archive:{}:x", archive.display()))
            }
        })
    }

    fn pack(&self, bench: &Bench, run: &Path) -> Command {
        let mut pack = Command::new(&bench.airdock);
        pack.args(["pack", "--plain-http", &self.name()]);
        pack.arg("--cache").arg(run.join("cache"));
        pack.arg("--out").arg(run.join("out.tar"));
        pack
    }

    fn copy(&self, to: &str) -> Command {
        let mut copy = Command::new("skopeo");
        copy.args(["copy", "--insecure-policy", "--quiet"]);
        copy.args(["--src-tls-verify=false"]);
        copy.arg(format!("docker://{}", self.name())).arg(to);
        copy
    }
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Airdock => "airdock",
            Self::Layout => "skopeo to a directory",
            Self::Archive => "skopeo to an archive",
        }
    }
}

fn row(version: Version, side: Side, ours: &[Measured], theirs: &[Measured]) -> Row {
    let times = |runs: &[Measured]| runs.iter().map(|run| run.elapsed).collect::<Vec<_>>();
    let middle = |runs: &[Measured]| {
        let times: Vec<f64> = runs.iter().map(|run| run.elapsed.as_secs_f64()).collect();
        median(&times)
    };
    let most = |figure: fn(&Measured) -> u64| {
        let most = |runs: &[Measured]| runs.iter().map(figure).max().unwrap_or_default();
        format!("{}, {}", mebibytes(most(ours)), mebibytes(most(theirs)))
    };
    Row {
        case: "L".to_owned(),
        title: "pack 40 gzip layers of 8.6 MB out of a registry on loopback".to_owned(),
        daemon: version.to_string(),
        ours: seconds(&times(ours)),
        theirs: format!("{}: {}", side.name(), seconds(&times(theirs))),
        ratio: format!("{:.2}×", middle(theirs) / middle(ours)),
        goal: format!("≥ {GOAL}×"),
        read: most(|run| run.io.read),
        sent: most(|run| run.io.written),
        memory: most(|run| run.peak),
        ..Row::default()
    }
}
