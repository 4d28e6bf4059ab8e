//! docker-archives: the last part is `manifest.json`, the others are entries whose first line is
//! their name.
//!
//! A name after `>` is that of a symbolic link, one after `=` that of a hard link; the rest of
//! their part is the target.

use airdock_testkit::fixture::Tree;

use super::opened;
use super::parts::{self, Known};

/// What the fixture writer can put into a header.
const LONGEST: usize = 100;

/// Opens the archive that `input` describes.
pub fn run(input: &[u8]) {
    if let Some(tree) = archive(input) {
        opened::assert_sound_in_both_ways(&tree.tar());
    }
}

/// `None` where a header can't hold a name.
fn archive(input: &[u8]) -> Option<Tree> {
    let parts = parts::split(input);
    let (list, entries) = parts.split_last()?;
    let mut known = Known::default();
    let mut tree = Tree::new();
    for entry in entries {
        tree = with_entry(tree, &mut known, entry)?;
    }
    Some(tree.file("manifest.json", &known.resolve(list)))
}

fn with_entry(tree: Tree, known: &mut Known, entry: &[u8]) -> Option<Tree> {
    let line = entry.iter().position(|byte| *byte == b'\n')?;
    let (name, content) = entry.split_at(line);
    let content = known.resolve(content.get(1..)?);
    // An entry may be called by its own digest.
    known.add(&content);
    let name = String::from_utf8(known.resolve(name)).ok()?;
    let fits = |text: &str| (text.len() <= LONGEST).then(|| text.to_owned());
    let target = || fits(std::str::from_utf8(&content).ok()?);
    Some(match fits(&name)?.split_at_checked(1) {
        Some((">", name)) => tree.symlink(name, &target()?),
        Some(("=", name)) => tree.hardlink(name, &target()?),
        _ => tree.file(&name, &content),
    })
}
