//! Archives that are no bundles, told by what people have put in their place.

use std::collections::BTreeSet;

use crate::archive::{Archive, ArchiveError, EntryId};
use crate::docker;
use crate::escape::escaped;
use crate::layout;
use crate::open::OpenError;

/// Names shown of an archive that nothing is known about.
const SHOWN_NAMES: usize = 5;
/// Folders at the top of a Linux root file system.
const ROOT_FOLDERS: [&str; 9] = [
    "bin", "etc", "home", "lib", "opt", "root", "sbin", "usr", "var",
];
/// So many of them are no chance.
const ROOT_FOLDERS_ENOUGH: usize = 2;
const ARCHIVE_ENDINGS: [&str; 6] = [".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".tar.bz2"];

/// What was taken for a bundle, and how to make one of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    #[error(
        "everything in it is in one folder, one level too deep; unpack it and pack the folder's content with `tar -C '{}' -cf BUNDLE.tar .`",
        escaped(.folder)
    )]
    FolderArchive { folder: String },
    #[error("the bundle is in its folder \"{}\", one level deeper; put that folder in its place", escaped(.folder))]
    FolderDirectory { folder: String },
    #[error(
        "it is in skopeo's dir: format; convert it with `skopeo copy dir:FOLDER docker-archive:BUNDLE.tar:NAME`"
    )]
    SkopeoDir,
    #[error(
        "it was saved by Docker before 1.10, in a format without manifest.json; load and save it with a current Docker"
    )]
    DockerV1,
    #[error(
        "there are blobs, but neither oci-layout and index.json nor manifest.json; save the bundle again"
    )]
    BlobsAlone,
    #[error(
        "it is a root file system and not an image; use `docker save` instead of `docker export`"
    )]
    RootFileSystem,
    #[error(
        "it is a Helm chart, which holds no images; save the images that it names with `docker save`"
    )]
    HelmChart,
    #[error("it holds other archives, as \"{}\"; unpack it and add them one by one", escaped(.archive))]
    Bundles { archive: String },
    #[error("no oci-layout, index.json or manifest.json is in it, but {}; save the images with `docker save` or `skopeo copy`", shown(.names, *.count))]
    Unknown { names: Vec<String>, count: usize },
}

/// Whether the `manifest.json` in `entry` is that of skopeo's `dir:` format: a single manifest
/// where Docker has a list.
pub(super) fn is_skopeo_dir(archive: &Archive, entry: EntryId) -> Result<bool, ArchiveError> {
    let head = archive.head(entry)?;
    let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
    Ok(first == Some(&b'{') && archive.find("version")?.is_some())
}

/// What an archive without any of the control files is instead.
pub(super) fn explain(archive: &Archive) -> Result<OpenError, ArchiveError> {
    let names: Vec<&str> = archive.names().collect();
    if names.is_empty() {
        return Ok(OpenError::Empty);
    }
    if let Some(folder) = folder_around(archive, &names)? {
        let folder = folder.to_owned();
        return Ok(OpenError::Mistake(match archive.is_directory() {
            true => Mistake::FolderDirectory { folder },
            false => Mistake::FolderArchive { folder },
        }));
    }
    Ok(OpenError::Mistake(recognise(&names)))
}

/// The folder at the top that holds what should stand there itself.
fn folder_around<'a>(
    archive: &Archive,
    names: &[&'a str],
) -> Result<Option<&'a str>, ArchiveError> {
    let tops: BTreeSet<&str> = names.iter().filter_map(|name| top(name)).collect();
    for folder in tops {
        for control in [layout::MARKER, layout::INDEX, docker::LIST] {
            if archive.find(&format!("{folder}/{control}"))?.is_some() {
                return Ok(Some(folder));
            }
        }
    }
    Ok(None)
}

fn top(name: &str) -> Option<&str> {
    name.split_once('/').map(|(top, _)| top)
}

fn recognise(names: &[&str]) -> Mistake {
    let tops: BTreeSet<&str> = names.iter().filter_map(|name| top(name)).collect();
    let root_folders = ROOT_FOLDERS.iter().filter(|folder| tops.contains(*folder));
    let nested = |name: &&&str| ARCHIVE_ENDINGS.iter().any(|ending| name.ends_with(ending));
    let is_chart = |name: &&str| name.split('/').next_back() == Some("Chart.yaml");
    if names.contains(&"repositories") {
        Mistake::DockerV1
    } else if tops.contains("blobs") {
        Mistake::BlobsAlone
    } else if root_folders.count() >= ROOT_FOLDERS_ENOUGH {
        Mistake::RootFileSystem
    } else if names.iter().any(is_chart) {
        Mistake::HelmChart
    } else if let Some(archive) = names.iter().find(nested) {
        let archive = (*archive).to_owned();
        Mistake::Bundles { archive }
    } else {
        let shown = names.iter().take(SHOWN_NAMES);
        Mistake::Unknown {
            names: shown.map(|name| (*name).to_owned()).collect(),
            count: names.len(),
        }
    }
}

fn shown(names: &[String], count: usize) -> String {
    let quoted: Vec<String> = names
        .iter()
        .map(|name| format!("\"{}\"", escaped(name)))
        .collect();
    match count.saturating_sub(names.len()) {
        0 => quoted.join(", "),
        more => format!("{} and {more} more", quoted.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_pack_instead_is_recognised() {
        let bundles = Mistake::Bundles {
            archive: "images/a.tar.gz".to_owned(),
        };
        for (names, expected) in [
            (&["etc/passwd", "usr/bin/env"][..], Mistake::RootFileSystem),
            (&["app/Chart.yaml", "app/values.yaml"], Mistake::HelmChart),
            (&["images/a.tar.gz", "readme"], bundles),
            (&["0f/layer.tar", "repositories"], Mistake::DockerV1),
            (&["blobs/sha256/00"], Mistake::BlobsAlone),
        ] {
            assert_eq!(recognise(names), expected);
        }
    }

    #[test]
    fn an_unknown_archive_shows_what_is_in_it() {
        let names = ["a\x1b[2J", "b", "c", "d", "e", "f", "g"];
        let shown = recognise(&names).to_string();
        assert!(
            shown.contains(r#""a\u{1b}[2J", "b", "c", "d", "e" and 2 more"#),
            "{shown}"
        );
    }
}
