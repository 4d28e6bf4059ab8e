//! What is packed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

use crate::elf::{Machine, is_static};
use crate::{archive, content, deb, notices, rpm};

/// The one-line description in every package.
pub const SUMMARY: &str = "keeps a node's container images in step with a directory of bundles";

/// The text below it.
pub const DESCRIPTION: &str = "\
Copy a bundle (docker save, skopeo, podman save, ctr export: any tar) into a
directory, and its images are in containerd a moment later: named, pinned
against garbage collection, verified. Replace it and the names move; remove it
and what it alone held is released. For Kubernetes nodes without a network:
k0s, k3s, RKE2, kubeadm, MicroK8s, with containerd 1.6 to 2.x.";

/// Who answers for the packages.
pub const MAINTAINER: &str = "The airdock authors <airdock@localhost.localdomain>";

/// A program with what goes beside it.
#[derive(Clone, Debug)]
pub struct Release {
    /// The version, as in `1.2.3`.
    pub version: String,
    /// Where it runs.
    pub machine: Machine,
    /// The time that every file gets, in seconds since 1970.
    pub time: u32,
    /// The program.
    pub program: Vec<u8>,
    /// The licences of the libraries in it.
    pub notices: String,
}

impl Release {
    /// Reads a static program. The version is this workspace's.
    pub fn of(program: &Path, time: u32) -> anyhow::Result<Self> {
        let path = || program.display().to_string();
        let program = fs::read(program).with_context(path)?;
        let machine = Machine::of(&program).with_context(path)?;
        is_static(&program).with_context(path)?;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            machine,
            time,
            program,
            notices: notices::collect()?,
        })
    }

    /// Every package, by file name, and a checksum beside each.
    pub fn packages(&self) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
        let (version, machine) = (&self.version, self.machine);
        let top = format!("airdock-{version}-linux-{}", machine.debian());
        let tar = archive::pack(&content::unpacked(self)?, Some(&top), self.time)?;
        let deb = format!("airdock_{version}_{}.deb", machine.debian());
        let rpm = format!("airdock-{version}-1.{}.rpm", machine.rpm());
        let mut packages = BTreeMap::from([
            (format!("{top}.tar.gz"), tar),
            (deb, deb::pack(self)?),
            (rpm, rpm::pack(self)?),
        ]);
        let sums: Vec<_> = packages.iter().map(checksum).collect();
        packages.extend(sums);
        Ok(packages)
    }

    /// Writes every package below `out`; their paths.
    pub fn write(&self, out: &Path) -> anyhow::Result<Vec<PathBuf>> {
        fs::create_dir_all(out).with_context(|| out.display().to_string())?;
        let mut written = Vec::new();
        for (name, bytes) in self.packages()? {
            let path = out.join(name);
            fs::write(&path, bytes).with_context(|| path.display().to_string())?;
            written.push(path);
        }
        Ok(written)
    }
}

/// As `sha256sum --check` reads it.
fn checksum((name, bytes): (&String, &Vec<u8>)) -> (String, Vec<u8>) {
    let sum = hex(&Sha256::digest(bytes));
    let line = format!("{sum}  {name}\n");
    (format!("{name}.sha256"), line.into_bytes())
}

/// Lower case, two digits a byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
