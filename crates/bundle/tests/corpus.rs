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

/// Digests that `ctr images import` of containerd 1.6.20 gave these docker-archives.
#[test]
fn docker_archives_get_the_digests_that_containerd_gives_them() {
    let v2 = "sha256:14147c903ecbdb0945ed0149fd58f9ed78a712bd3ce3f25844d13ecadfa32979";
    let v1 = "sha256:199873e40b0a99ce37d34fad3449bf2922d0f921405b575a62dd1ecfe2025663";
    let d01 = "sha256:994cb09acba21ad24eebdb0b2b8322bde58089b25321ae40daed802055cb0166";
    let d27 = "sha256:7c00841f98a458bd54185dd31f20fe08fdf8a0073897760298529a074a499dd9";
    for (sample, expected) in [
        ("made/d01-plain.tar", &[d01][..]),
        ("made/d27-layer-gz-in-docker.tar", &[d27]),
        ("real/docker20-one.tar", &[v1]),
        ("real/docker20-two-shared-layer.tar", &[v1, v2]),
    ] {
        let bundle = open_and_check(&corpus::folder().join(sample)).unwrap();
        let targets = bundle
            .images()
            .iter()
            .filter_map(|image| image.target.as_ref());
        let digests: Vec<&str> = targets.map(|target| target.digest.as_str()).collect();
        assert_eq!(digests, expected, "{sample}");
    }
}
