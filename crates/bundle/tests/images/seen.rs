//! A bundle as a user sees it.

use std::io::Write as _;
use std::path::Path;

use airdock_bundle::archive::Archive;
use airdock_bundle::image::Image;
use airdock_bundle::open::{Bundle, OpenError};
use airdock_bundle::platform::{Matcher, Platform};
use airdock_testkit::fixture::Tree;

/// A name of ours that needs no normalisation.
pub(crate) const NAME: &str = "example.com/app:1";

/// Verdict, names, and everything that is said.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) verdict: String,
    pub(crate) names: Vec<String>,
    pub(crate) reason: String,
    pub(crate) warnings: Vec<String>,
    /// Kind and media type of what is no image.
    pub(crate) others: Vec<String>,
}

impl Seen {
    /// Stops the test unless the verdict is this one and the reason says `words`.
    #[track_caller]
    pub(crate) fn assert(&self, verdict: &str, words: &str) {
        assert_eq!(self.verdict, verdict, "{self:?}");
        assert!(
            self.reason.contains(words),
            "{words:?} is not in {:?}",
            self.reason
        );
    }

    fn of(bundle: &Bundle) -> Self {
        let images = bundle.images();
        let warnings = images.iter().flat_map(|image| &image.warnings);
        let others = bundle.others().iter();
        Self {
            verdict: bundle.verdict().to_string(),
            names: images.iter().flat_map(published).collect(),
            reason: bundle.reason().unwrap_or_default(),
            warnings: warnings.map(ToString::to_string).collect(),
            others: others
                .map(|it| format!("{} {}", it.kind, it.media_type))
                .collect(),
        }
    }

    fn failed(error: &OpenError) -> Self {
        Self {
            verdict: error
                .verdict()
                .map_or("unreadable".to_owned(), |it| it.to_string()),
            names: Vec::new(),
            reason: error.to_string(),
            warnings: Vec::new(),
            others: Vec::new(),
        }
    }
}

fn published(image: &Image) -> Vec<String> {
    let importable = image.outcome.is_ok();
    let names = image.names.iter().filter(|_| importable);
    names.map(ToString::to_string).collect()
}

/// Opens and checks an archive of `tree` on an amd64 node.
pub(crate) fn see(tree: &Tree) -> Seen {
    see_on("linux/amd64", tree)
}

/// Opens and checks an archive of `tree` on a node of this platform.
pub(crate) fn see_on(platform: &str, tree: &Tree) -> Seen {
    let opened = Archive::from_file(file(tree), Path::new("bundle.tar"));
    let bundle = opened
        .map_err(OpenError::from)
        .and_then(|archive| open(archive, platform));
    match bundle.and_then(|mut bundle| {
        bundle.check(&mut |_| ())?;
        Ok(bundle)
    }) {
        Ok(bundle) => Seen::of(&bundle),
        Err(error) => Seen::failed(&error),
    }
}

/// The opened bundle, for an amd64 node.
pub(crate) fn bundle(tree: &Tree) -> Bundle {
    let archive = Archive::from_file(file(tree), Path::new("bundle.tar")).unwrap();
    open(archive, "linux/amd64").unwrap()
}

fn open(archive: Archive, platform: &str) -> Result<Bundle, OpenError> {
    Bundle::open(archive, &Matcher::only(Platform::parse(platform).unwrap()))
}

fn file(tree: &Tree) -> std::fs::File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&tree.tar()).unwrap();
    file
}
