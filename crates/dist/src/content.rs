//! Which files go where: the one list behind every package.

use crate::compress::gzip;
use crate::pages::{self, Page};
use crate::release::Release;

const UNIT: &str = include_str!("../../../contrib/systemd/airdock.service");
const SETTINGS: &str = include_str!("../../../contrib/airdock.toml");
const README: &str = include_str!("../../../README.md");
const LICENSE: &str = include_str!("../../../LICENSE");
const DOCKERFILE: &str = include_str!("../../../Dockerfile");
const DAEMONSET: &str = include_str!("../../../contrib/kubernetes/daemonset.yaml");
const COPYRIGHT: &str = include_str!("../scripts/copyright");

/// Drop-ins for the unit, one a distribution.
const DROP_INS: [(&str, &str); 5] = [
    (
        "containerd.conf",
        include_str!("../../../contrib/systemd/airdock.service.d/containerd.conf"),
    ),
    (
        "k0s.conf",
        include_str!("../../../contrib/systemd/airdock.service.d/k0s.conf"),
    ),
    (
        "k3s.conf",
        include_str!("../../../contrib/systemd/airdock.service.d/k3s.conf"),
    ),
    (
        "microk8s.conf",
        include_str!("../../../contrib/systemd/airdock.service.d/microk8s.conf"),
    ),
    (
        "rke2.conf",
        include_str!("../../../contrib/systemd/airdock.service.d/rke2.conf"),
    ),
];

/// What the README links to: who needs it may have no network.
const GUIDES: [(&str, &str); 12] = [
    ("comparison.md", include_str!("../../../docs/comparison.md")),
    (
        "configuration.md",
        include_str!("../../../docs/configuration.md"),
    ),
    ("containerd.md", include_str!("../../../docs/containerd.md")),
    ("formats.md", include_str!("../../../docs/formats.md")),
    ("hardening.md", include_str!("../../../docs/hardening.md")),
    ("install.md", include_str!("../../../docs/install.md")),
    ("operating.md", include_str!("../../../docs/operating.md")),
    ("packing.md", include_str!("../../../docs/packing.md")),
    ("reference.md", include_str!("../../../docs/reference.md")),
    ("registries.md", include_str!("../../../docs/registries.md")),
    ("security.md", include_str!("../../../docs/security.md")),
    (
        "troubleshooting.md",
        include_str!("../../../docs/troubleshooting.md"),
    ),
];

/// What a package manager does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Replaces it with the next version.
    Plain,
    /// Keeps what the operator wrote into it.
    Settings,
    /// May leave it out.
    Documentation,
}

/// A file in a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Where it goes, without a slash at the start.
    pub path: String,
    /// Its permissions.
    pub mode: u16,
    /// What is done with it.
    pub kind: Kind,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// What a package holds; everything belongs to root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Directories that shall exist though nothing may be in them.
    pub directories: Vec<&'static str>,
    /// Files.
    pub files: Vec<File>,
}

/// Whose package manager installs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// dpkg.
    Debian,
    /// rpm.
    Rpm,
}

/// What an installed package puts on a node.
pub fn installed(release: &Release, family: Family) -> anyhow::Result<Content> {
    let mut files = vec![
        File::new("usr/bin/airdock", Kind::Plain, release.program.clone()).executable(),
        File::new("usr/lib/systemd/system/airdock.service", Kind::Plain, UNIT),
        File::new("etc/airdock/airdock.toml", Kind::Settings, SETTINGS),
    ];
    let examples = "usr/share/doc/airdock/systemd";
    files.extend(drop_ins(examples));
    for page in pages::manuals()? {
        let path = format!("usr/share/man/man1/{}.gz", page.name);
        files.push(File::new(&path, Kind::Documentation, gzip(&page.bytes)?));
    }
    for page in pages::completions() {
        let path = completion(&page, family);
        files.push(File::new(&path, Kind::Plain, page.bytes));
    }
    files.extend(papers(release, family)?);
    Ok(Content {
        directories: vec!["var/lib/airdock", "var/lib/airdock/bundles"],
        files,
    })
}

/// What stands in the tar, below one folder.
pub fn unpacked(release: &Release) -> anyhow::Result<Content> {
    let mut files = vec![
        File::new("airdock", Kind::Plain, release.program.clone()).executable(),
        File::new("Dockerfile", Kind::Plain, DOCKERFILE),
        File::new("LICENSE", Kind::Plain, LICENSE),
        File::new("kubernetes/daemonset.yaml", Kind::Plain, DAEMONSET),
        File::new("README.md", Kind::Plain, README),
        File::new("THIRD-PARTY", Kind::Plain, release.notices.clone()),
        File::new("systemd/airdock.service", Kind::Plain, UNIT),
        File::new("airdock.toml", Kind::Plain, SETTINGS),
    ];
    files.extend(drop_ins("systemd/airdock.service.d"));
    files.extend(guides("docs"));
    for page in pages::manuals()? {
        files.push(File::new(
            &format!("man/{}", page.name),
            Kind::Plain,
            page.bytes,
        ));
    }
    for page in pages::completions() {
        files.push(File::new(
            &format!("completions/{}", page.name),
            Kind::Plain,
            page.bytes,
        ));
    }
    let directories = Vec::new();
    Ok(Content { directories, files })
}

/// What a package says of itself and of what is in it.
fn papers(release: &Release, family: Family) -> anyhow::Result<Vec<File>> {
    let paper = |name: &str, bytes| {
        let path = format!("usr/share/doc/airdock/{name}");
        File::new(&path, Kind::Documentation, bytes)
    };
    let mut papers = vec![
        paper("README.md", README.as_bytes().to_vec()),
        paper("THIRD-PARTY.gz", gzip(release.notices.as_bytes())?),
    ];
    papers.extend(guides("usr/share/doc/airdock/docs"));
    match family {
        Family::Debian => {
            papers.push(paper("copyright", COPYRIGHT.as_bytes().to_vec()));
            let changes = crate::deb::changelog(release)?;
            papers.push(paper("changelog.gz", gzip(changes.as_bytes())?));
        }
        Family::Rpm => papers.push(File::new(
            "usr/share/licenses/airdock/LICENSE",
            Kind::Documentation,
            LICENSE,
        )),
    }
    Ok(papers)
}

fn guides(below: &str) -> impl Iterator<Item = File> {
    GUIDES
        .into_iter()
        .map(move |(name, text)| File::new(&format!("{below}/{name}"), Kind::Documentation, text))
}

fn drop_ins(below: &str) -> impl Iterator<Item = File> {
    DROP_INS
        .into_iter()
        .map(move |(name, text)| File::new(&format!("{below}/{name}"), Kind::Documentation, text))
}

/// Where each shell looks.
fn completion(page: &Page, family: Family) -> String {
    let zsh = match family {
        Family::Debian => "usr/share/zsh/vendor-completions",
        Family::Rpm => "usr/share/zsh/site-functions",
    };
    match page.name.as_str() {
        "_airdock" => format!("{zsh}/_airdock"),
        "airdock.fish" => "usr/share/fish/vendor_completions.d/airdock.fish".to_owned(),
        _ => "usr/share/bash-completion/completions/airdock".to_owned(),
    }
}

impl File {
    fn new(path: &str, kind: Kind, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.to_owned(),
            mode: 0o644,
            kind,
            bytes: bytes.into(),
        }
    }

    fn executable(self) -> Self {
        let mode = 0o755;
        Self { mode, ..self }
    }
}
