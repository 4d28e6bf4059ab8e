//! Every sample bundle gets the verdict and the names that `tests/corpus/expected.tsv` lists.

use std::path::Path;

use airdock_bundle::archive::Archive;
use airdock_bundle::open::{Bundle, OpenError};
use airdock_bundle::platform::{Matcher, Platform};
use airdock_testkit::corpus::{self, Row};

/// Verdict, names in alphabetical order, and the reason, as a user would see them.
struct Seen {
    verdict: String,
    names: Vec<String>,
    reason: String,
}

impl Seen {
    fn failed(error: &OpenError) -> Self {
        let verdict = error.verdict();
        Self {
            verdict: verdict.map_or("unreadable".to_owned(), |verdict| verdict.to_string()),
            names: Vec::new(),
            reason: error.to_string(),
        }
    }
}

fn see(path: &Path) -> Seen {
    match open_and_check(path) {
        Ok(bundle) => Seen {
            verdict: bundle.verdict().to_string(),
            names: names(&bundle),
            reason: bundle.reason().unwrap_or_default(),
        },
        Err(error) => Seen::failed(&error),
    }
}

fn open_and_check(path: &Path) -> Result<Bundle, OpenError> {
    let platform = Matcher::only(Platform::new("linux", "amd64", ""));
    let mut bundle = Bundle::open(Archive::open(path)?, &platform)?;
    bundle.check(&mut |_| ())?;
    Ok(bundle)
}

fn names(bundle: &Bundle) -> Vec<String> {
    let images = bundle.images().iter().filter(|image| image.outcome.is_ok());
    let names = images.flat_map(|image| &image.names);
    let mut names: Vec<String> = names.map(ToString::to_string).collect();
    names.sort_unstable();
    names
}

fn mismatch(row: &Row) -> Option<String> {
    let seen = see(&row.path());
    let hidden = seen.reason.chars().any(char::is_control);
    if seen.verdict == row.verdict && seen.names == row.names && !hidden {
        return None;
    }
    Some(format!(
        "{} ({}): {} {:?} instead of {} {:?}: {}",
        row.file, row.why, seen.verdict, seen.names, row.verdict, row.names, seen.reason
    ))
}

#[test]
fn every_sample_gets_its_verdict_and_names() {
    let rows = corpus::rows().unwrap();
    let mismatches: Vec<String> = rows.iter().filter_map(mismatch).collect();
    assert!(mismatches.is_empty(), "{}", mismatches.join("\n"));
}

#[test]
fn every_sample_that_is_not_ok_says_why() {
    for row in corpus::rows().unwrap() {
        let seen = see(&row.path());
        println!("{}: {} {}", row.file, seen.verdict, seen.reason);
        assert_eq!(seen.reason.is_empty(), row.is_ok(), "{}", row.file);
    }
}
