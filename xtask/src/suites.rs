//! The machine's own Debian archive, asked for other suites.
//!
//! The lists and the settings are private: the machine's apt never sees the other suites, so none
//! of its packages can come from them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use tempfile::TempDir;

use crate::shell;

const SOURCES: &str = "/etc/apt/sources.list.d";
const SOURCES_LIST: &str = "/etc/apt/sources.list";

/// Where packages come from, and who signs for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Archive {
    uri: String,
    signed_by: Option<String>,
}

/// A suite, and apt with lists of its own.
#[derive(Debug)]
pub(crate) struct Suite {
    dir: TempDir,
}

impl Suite {
    /// Reads the lists of a suite.
    pub(crate) fn open(name: &str) -> anyhow::Result<Self> {
        let archive = machine_archive()?;
        let dir = tempfile::tempdir()?;
        for below in ["lists/partial", "cache/archives/partial", "packages"] {
            fs::create_dir_all(dir.path().join(below))?;
        }
        fs::write(dir.path().join("suites.sources"), archive.stanza(name))?;
        let opened = Self { dir };
        shell::read(opened.apt_get().arg("update"))?;
        Ok(opened)
    }

    /// Unpacks a package below `into`, without installing it.
    pub(crate) fn unpack(&self, package: &str, into: &Path) -> anyhow::Result<()> {
        let packages = self.dir.path().join("packages");
        let mut apt_get = self.apt_get();
        shell::read(apt_get.args(["download", package]).current_dir(&packages))?;
        let name = only_file(&packages)?.with_context(|| format!("{package}: nothing came"))?;
        fs::create_dir_all(into)?;
        shell::read(Command::new("dpkg").arg("-x").arg(&name).arg(into))?;
        Ok(fs::remove_file(name)?)
    }

    fn apt_get(&self) -> Command {
        let dir = self.dir.path();
        let settings = [
            format!(
                "Dir::Etc::SourceList={}",
                dir.join("suites.sources").display()
            ),
            "Dir::Etc::SourceParts=-".to_owned(),
            "Dir::Etc::Preferences=-".to_owned(),
            "Dir::Etc::PreferencesParts=-".to_owned(),
            format!("Dir::State::Lists={}", dir.join("lists").display()),
            format!("Dir::Cache={}", dir.join("cache").display()),
            // A folder of root's is closed to apt's own user.
            "APT::Sandbox::User=root".to_owned(),
            "Acquire::Languages=none".to_owned(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
        ];
        let mut command = Command::new("apt-get");
        command.arg("--quiet");
        for setting in settings {
            command.args(["--option", &setting]);
        }
        command
    }
}

impl Archive {
    /// The deb822 form (sources.list(5)).
    fn stanza(&self, suite: &str) -> String {
        let signed_by = self
            .signed_by
            .iter()
            .map(|key| format!("Signed-By: {key}\n"));
        format!(
            "Types: deb\nURIs: {}\nSuites: {suite}\nComponents: main\n{}",
            self.uri,
            signed_by.collect::<String>()
        )
    }
}

/// The archive that the machine's own release comes from.
fn machine_archive() -> anyhow::Result<Archive> {
    let release = fs::read_to_string("/etc/os-release").context("/etc/os-release")?;
    let codename = codename(&release).context("/etc/os-release names no VERSION_CODENAME")?;
    let texts = source_files().into_iter().map(fs::read_to_string);
    let texts: Vec<String> = texts.filter_map(io::Result::ok).collect();
    texts
        .iter()
        .find_map(|text| archive_of(text, codename))
        .with_context(|| format!("no apt source serves {codename}"))
}

fn source_files() -> Vec<PathBuf> {
    let dir = fs::read_dir(SOURCES).into_iter().flatten();
    let files = dir.filter_map(io::Result::ok).map(|entry| entry.path());
    files.chain([PathBuf::from(SOURCES_LIST)]).collect()
}

fn codename(release: &str) -> Option<&str> {
    let value = |line: &'_ str| line.starts_with("VERSION_CODENAME=");
    let line = release.lines().find(|line| value(line))?;
    Some(line.split_once('=')?.1.trim_matches('"'))
}

/// The archive of a source file that serves a suite: deb822 stanzas, or one-line entries.
fn archive_of(text: &str, suite: &str) -> Option<Archive> {
    let stanza = text.split("\n\n").find_map(|text| of_stanza(text, suite));
    stanza.or_else(|| text.lines().find_map(|line| of_line(line, suite)))
}

fn of_stanza(stanza: &str, suite: &str) -> Option<Archive> {
    let field = |name: &str| {
        let mut fields = stanza.lines().filter_map(|line| line.split_once(':'));
        let found = fields.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    };
    let serves = field("Suites")?
        .split_whitespace()
        .any(|name| name == suite);
    let uri = field("URIs")?.split_whitespace().next()?.to_owned();
    let signed_by = field("Signed-By").map(str::to_owned);
    serves.then_some(Archive { uri, signed_by })
}

/// `deb [signed-by=FILE] URI SUITE COMPONENT…`
fn of_line(line: &str, suite: &str) -> Option<Archive> {
    let rest = line.strip_prefix("deb ")?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace();
    let uri = words.next()?.to_owned();
    let mut options = options.split_whitespace();
    let signed_by = options.find_map(|option| option.strip_prefix("signed-by="));
    (words.next()? == suite).then_some(Archive {
        uri,
        signed_by: signed_by.map(str::to_owned),
    })
}

fn only_file(dir: &Path) -> io::Result<Option<PathBuf>> {
    let first = fs::read_dir(dir)?.next().transpose()?;
    Ok(first.map(|entry| entry.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANZAS: &str = "Types: deb\nURIs: http://a.example/debian\nSuites: one one-updates\n\
        Signed-By: /k.gpg\n\nTypes: deb\nURIs: http://b.example\nSuites: one-security\n";

    #[test]
    fn the_archive_of_a_suite_is_found_in_either_form() {
        let line = "# deb http://no one main\ndeb [arch=x signed-by=/k.gpg] http://a.example/debian one main\n";
        let want = Archive {
            uri: "http://a.example/debian".to_owned(),
            signed_by: Some("/k.gpg".to_owned()),
        };
        for text in [STANZAS, line] {
            assert_eq!(archive_of(text, "one"), Some(want.clone()), "{text}");
            assert_eq!(archive_of(text, "two"), None, "{text}");
        }
    }

    #[test]
    fn the_codename_is_read_with_or_without_quotes() {
        assert_eq!(codename("ID=x\nVERSION_CODENAME=one\n"), Some("one"));
        assert_eq!(codename("VERSION_CODENAME=\"one\""), Some("one"));
        assert_eq!(codename("ID=x"), None);
    }
}
