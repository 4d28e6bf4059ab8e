//! From the names that an archive gives an image to those it can be published under.

use std::collections::{BTreeMap, BTreeSet};

use crate::digest::Digest;
use crate::escape::escaped;
use crate::name::{Name, NameError};

/// The names that the entries of one image give it.
#[derive(Debug, Default)]
pub(crate) struct Names {
    usable: BTreeSet<Name>,
    /// By what was given, so that a name that is given often is refused once.
    refused: BTreeMap<String, NameRefusal>,
}

/// A name that the archive gives and that can't be published.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name \"{}\" is refused: {reason}", escaped(.given))]
pub struct RefusedName {
    /// As it stands in the archive: to be shown escaped only.
    pub given: String,
    pub reason: NameRefusal,
}

/// Why a name can't be published. Each is a fragment that ends with what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameRefusal {
    #[error(transparent)]
    Grammar(#[from] NameError),
    #[error(
        "it is a reference by digest, but its image has the digest {target}; save the image by a tag"
    )]
    DigestDiffers { target: Digest },
    #[error("it names another image of this bundle too, {holder}; give each name to one image")]
    Taken { holder: Digest },
}

impl Names {
    /// Sorts out what `given` can be used of, for an image whose digest is `target`.
    pub(crate) fn sort_out<'a>(
        given: impl IntoIterator<Item = &'a str>,
        target: Option<&Digest>,
    ) -> Self {
        let mut names = Self::default();
        for given in given {
            match usable(given, target) {
                Ok(name) => {
                    names.usable.insert(name);
                }
                Err(reason) => {
                    names.refused.insert(given.to_owned(), reason);
                }
            }
        }
        names
    }

    /// Adds the names of another entry for the same image.
    pub(crate) fn merge(&mut self, other: Self) {
        self.usable.extend(other.usable);
        self.refused.extend(other.refused);
    }

    /// The usable names that were given, also those that [`finish`](Self::finish) leaves out.
    pub(crate) fn into_usable(self) -> BTreeSet<Name> {
        self.usable
    }

    /// The names to publish and the refused ones, both sorted.
    ///
    /// A reference by digest is a name of its own only where no tag names its repository: with
    /// each tag, `repository@digest` is published anyway.
    pub(crate) fn finish(self) -> (Vec<Name>, Vec<RefusedName>) {
        let tagged = self.usable.iter().filter(|name| name.tag().is_some());
        let tagged: BTreeSet<String> = tagged.map(Name::repository).collect();
        let implied = |name: &Name| name.tag().is_none() && tagged.contains(&name.repository());
        let refused = self.refused.into_iter();
        (
            self.usable
                .into_iter()
                .filter(|name| !implied(name))
                .collect(),
            refused
                .map(|(given, reason)| RefusedName { given, reason })
                .collect(),
        )
    }
}

/// A reference with tag and digest gives the tag.
fn usable(given: &str, target: Option<&Digest>) -> Result<Name, NameRefusal> {
    let name = Name::parse(given)?;
    match (name.digest(), target) {
        (Some(digest), Some(target)) if digest != target => Err(NameRefusal::DigestDiffers {
            target: target.clone(),
        }),
        _ => Ok(name.tag_first()),
    }
}

/// Whether an `org.opencontainers.image.ref.name` is a whole reference. The specification allows
/// any text there, and most tools write the tag alone, which names nothing.
pub(crate) fn is_full_reference(ref_name: &str) -> bool {
    ref_name.contains(['/', ':', '@'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Algorithm;

    fn names(given: &[&str], target: &Digest) -> (Vec<String>, Vec<String>) {
        let (usable, refused) = Names::sort_out(given.iter().copied(), Some(target)).finish();
        (
            usable.iter().map(ToString::to_string).collect(),
            refused.iter().map(ToString::to_string).collect(),
        )
    }

    #[test]
    fn a_digest_beside_a_tag_of_its_repository_adds_nothing() {
        let target = Digest::of(Algorithm::Sha256, b"image");
        let full = format!("hello:multi@{target}");
        let bare = format!("docker.io/library/hello@{target}");
        let other = format!("example.com/hello@{target}");
        let (usable, refused) = names(&[&full, "hello:multi", &bare, &other], &target);
        assert_eq!(usable, ["docker.io/library/hello:multi", &other]);
        assert!(refused.is_empty());
    }

    #[test]
    fn a_digest_reference_must_be_of_this_image() {
        let target = Digest::of(Algorithm::Sha256, b"image");
        let foreign = Digest::of(Algorithm::Sha256, b"another");
        for given in [format!("a@{foreign}"), format!("a:1@{foreign}")] {
            let (usable, refused) = names(&[&given], &target);
            assert!(usable.is_empty());
            assert!(
                refused[0].contains(&format!("has the digest {target}")),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn a_bad_name_is_refused_alone() {
        let target = Digest::of(Algorithm::Sha256, b"image");
        let (usable, refused) = names(&["a:1", "Foo/Bar:1", "a:1", "Foo/Bar:1"], &target);
        assert_eq!(usable, ["docker.io/library/a:1"]);
        assert_eq!(
            refused,
            [
                "the name \"Foo/Bar:1\" is refused: upper case in the path \"Bar\"; write the repository in lower case"
            ]
        );
    }

    #[test]
    fn a_bare_tag_is_no_reference() {
        for (ref_name, expected) in [
            ("latest", false),
            ("v1.2.3", false),
            ("hello", false),
            ("video_list:v1", true),
            ("team/app", true),
            ("docker.io/library/a:1", true),
            ("a@sha256:0", true),
        ] {
            assert_eq!(is_full_reference(ref_name), expected, "{ref_name}");
        }
    }
}
