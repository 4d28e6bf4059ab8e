//! A release to pack, and other people's programs to read it with.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use airdock_dist::elf::Machine;
use airdock_dist::release::Release;
use airdock_testkit::needs;

/// Some time that is past.
pub(crate) const TIME: u32 = 1_700_000_000;

/// A release whose program is a few bytes: enough for lists.
pub(crate) fn listed() -> Release {
    let mut program = b"\x7fELF\x02\x01\x01".to_vec();
    program.resize(18, 0);
    program.extend([0x3e, 0]);
    program.resize(64, 0);
    Release {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: Machine::of(&program).expect("the header says amd64"),
        time: TIME,
        program,
        notices: "a library 1.0: MIT\n".to_owned(),
    }
}

/// A .deb with the program that was built with these tests, packed once.
pub(crate) fn built_deb(dir: &Path) -> io::Result<PathBuf> {
    static DEB: OnceLock<Result<Vec<u8>, String>> = OnceLock::new();
    let deb = DEB.get_or_init(|| pack().map_err(|error| format!("{error:#}")));
    let path = dir.join("airdock.deb");
    let deb = deb
        .as_ref()
        .map_err(|error| io::Error::other(error.as_str()))?;
    fs::write(&path, deb).map(|()| path)
}

fn pack() -> anyhow::Result<Vec<u8>> {
    let program = fs::read(needs::airdock().unwrap_or_default())?;
    let machine = Machine::of(&program)?;
    airdock_dist::deb::pack(&Release {
        machine,
        program,
        ..listed()
    })
}

/// Writes the packages of a release; the path of the one with this ending.
pub(crate) fn written(release: &Release, dir: &Path, ending: &str) -> io::Result<PathBuf> {
    let paths = release.write(dir).map_err(io::Error::other)?;
    let mut paths = paths.into_iter();
    let found = paths.find(|path| path.to_string_lossy().ends_with(ending));
    found.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Standard output of a program that must succeed.
pub(crate) fn read(command: &mut Command) -> io::Result<String> {
    let output = command.env("LC_ALL", "C").output()?;
    let (out, err) = (&output.stdout, &output.stderr);
    let (out, err) = (String::from_utf8_lossy(out), String::from_utf8_lossy(err));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{out}\n{err}",
        output.status
    );
    Ok(out.into_owned())
}

/// Installs the package below a root of its own, with a dpkg database of its own; never on the
/// machine.
pub(crate) fn install(deb: &Path, root: &Path) -> io::Result<()> {
    let database = root.join("var/lib/dpkg");
    for below in ["updates", "info", "triggers"] {
        fs::create_dir_all(database.join(below))?;
    }
    fs::write(database.join("status"), "")?;
    read(dpkg(root).arg("--install").arg(deb)).map(drop)
}

/// dpkg on a root of its own. Scripts run outside of it, and are told where it is.
pub(crate) fn dpkg(root: &Path) -> Command {
    let mut dpkg = Command::new("dpkg");
    dpkg.arg(format!("--root={}", root.display()));
    dpkg.arg(format!("--log={}", root.join("dpkg.log").display()));
    dpkg.arg("--force-script-chrootless");
    dpkg
}
