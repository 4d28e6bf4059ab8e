//! Python's `tarfile`, over generated archives.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use airdock_bundle::archive::{Archive, EntryId};
use airdock_testkit::fixture::sha256;
use airdock_testkit::process::run;
use airdock_testkit::{Need, Outcome, Suite};
use serde::Deserialize;

use super::made;

const ARCHIVES: u64 = 600;

/// Of so many, tools should agree on a good part, or nothing is compared.
const AGREED: usize = 250;

const SCRIPT: &str = include_str!("tarfile.py");

pub(crate) fn tests(suite: Suite) -> Suite {
    suite.test(
        "tarfile_sees_the_same_entries",
        &[Need::Program("python3")],
        sees_the_same_entries,
    )
}

/// What Python made of one archive.
#[derive(Debug, Deserialize)]
struct Theirs {
    /// Digests of files by normalised name; `None` if it could not read the archive to its end.
    files: Option<BTreeMap<String, String>>,
    /// Digests of what links lead to, where it found something.
    #[serde(default)]
    links: BTreeMap<String, String>,
}

fn sees_the_same_entries(dir: &Path) -> Outcome {
    let mut paths = Vec::new();
    for seed in 0..ARCHIVES {
        let path = dir.join(seed.to_string());
        fs::write(&path, made::archive(seed))?;
        paths.push(path.into_os_string());
    }
    let mut args = vec!["-c".into(), SCRIPT.into()];
    args.extend_from_slice(&paths);
    let ended = run("python3", &args)?;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let theirs: Vec<Theirs> = serde_json::from_str(&ended.stdout)?;
    assert_eq!(theirs.len(), paths.len());
    let compared = paths.iter().zip(&theirs);
    let agreed = compared.filter(|(path, theirs)| compare(Path::new(path), theirs));
    let agreed = agreed.count();
    assert!(
        agreed >= AGREED,
        "only {agreed} archives were accepted by both"
    );
    Ok(())
}

/// Whether both accept the archive, and so see the same in it.
fn compare(path: &Path, theirs: &Theirs) -> bool {
    let (Ok(archive), Some(files)) = (Archive::open(path), &theirs.files) else {
        return false;
    };
    let names = archive.names();
    let ours: BTreeMap<String, String> = names
        .map(|name| (name.to_owned(), digest(&archive, name).expect("a file")))
        .collect();
    assert_eq!(ours, *files, "{}", path.display());
    for (name, theirs) in &theirs.links {
        if let Some(ours) = digest(&archive, name) {
            assert_eq!(ours, *theirs, "{name} in {}", path.display());
        }
    }
    true
}

/// Of the content that `name` leads to.
fn digest(archive: &Archive, name: &str) -> Option<String> {
    let entry = archive.find(name).ok().flatten()?;
    Some(sha256(&content(archive, entry)))
}

fn content(archive: &Archive, entry: EntryId) -> Vec<u8> {
    let mut content = Vec::new();
    let visited = archive.visit(&[entry], &mut |_, piece| {
        content.extend_from_slice(piece);
        ControlFlow::Continue(())
    });
    visited.expect("an archive that was indexed");
    content
}
