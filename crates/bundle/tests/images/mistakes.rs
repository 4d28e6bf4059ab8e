//! What people put in the place of a bundle, and the advice that they get.

use airdock_bundle::archive::Archive;
use airdock_bundle::open::{Bundle as Opened, OpenError};
use airdock_bundle::platform::{Matcher, Platform};
use airdock_testkit::fixture::{Bundle, Image, Tree};

use crate::seen::{NAME, see};

fn open_folder(tree: &Tree) -> Result<Opened, OpenError> {
    let folder = tempfile::tempdir().unwrap();
    tree.write_dir(folder.path()).unwrap();
    let archive = Archive::open(folder.path())?;
    Opened::open(
        archive,
        &Matcher::only(Platform::parse("linux/amd64").unwrap()),
    )
}

#[test]
fn a_folder_too_much_is_told_with_the_command_that_removes_it() {
    let bundle = Bundle::new().with(&[NAME], Image::small("a"));
    for tree in [bundle.oci(), bundle.docker()] {
        let tree = tree.prefixed("my bundle/");
        see(&tree).assert("refused", "`tar -C 'my bundle' -cf BUNDLE.tar .`");
        let error = open_folder(&tree)
            .expect_err("a folder too much")
            .to_string();
        assert!(error.contains("in its folder \"my bundle\""), "{error}");
    }
}

#[test]
fn a_folder_is_a_bundle_as_an_archive_is() {
    let tree = Bundle::new().with(&[NAME], Image::small("a")).oci();
    let opened = open_folder(&tree).unwrap();
    assert_eq!(opened.images()[0].names[0].to_string(), NAME);
    let absent = open_folder(&tree.without("index.json")).expect_err("no index");
    assert!(absent.is_absence());
}

#[test]
fn what_is_no_bundle_is_called_what_it_is() {
    for (names, words) in [
        (
            &["etc/passwd", "usr/bin/env", "bin/sh"][..],
            "`docker save` instead of `docker export`",
        ),
        (&["app/Chart.yaml", "app/templates/a.yaml"], "a Helm chart"),
        (
            &["a.tar", "b.tar.gz"],
            "it holds other archives, as \"a.tar\"",
        ),
        (
            &["repositories", "0f/layer.tar", "0f/json"],
            "Docker before 1.10",
        ),
        (
            &["blobs/sha256/00"],
            "neither oci-layout and index.json nor manifest.json",
        ),
        (&["readme"], "but \"readme\"; save the images with"),
    ] {
        let tree = names
            .iter()
            .fold(Tree::new(), |tree, name| tree.file(name, b"x"));
        see(&tree).assert("refused", words);
    }
    see(&Tree::new()).assert("empty", "holds no files");
}

#[test]
fn skopeos_own_format_is_told_with_the_command_that_converts_it() {
    let image = Image::small("a");
    let tree = Tree::new()
        .file("version", b"Directory Transport Version: 1.1\n")
        .file("manifest.json", &image.manifest().content);
    see(&tree).assert(
        "refused",
        "`skopeo copy dir:FOLDER docker-archive:BUNDLE.tar:NAME`",
    );
}

#[test]
fn what_an_archive_says_never_reaches_the_terminal() {
    let evil = "\u{1b}[2Jevil\u{202e}";
    let tree = Tree::new().file(&format!("{evil}/index.json"), b"{}");
    let seen = see(&tree);
    assert!(
        !seen.reason.contains(['\u{1b}', '\u{202e}']),
        "{}",
        seen.reason
    );
    seen.assert("refused", r"\u{1b}[2Jevil\u{202e}");
}
