//! Lists with one name a line, as `k0s airgap list-images` prints and k3s and RKE2 publish them.

use std::collections::BTreeSet;

use airdock_bundle::escape::escaped;
use airdock_bundle::name::Name;

use super::WorkloadError;

/// The names; `#` starts a comment.
pub(super) fn names(text: &str) -> Result<BTreeSet<Name>, WorkloadError> {
    let lines = text.lines().enumerate();
    let words = lines.filter_map(|(at, line)| {
        let word = line.split('#').next().unwrap_or_default().trim();
        (!word.is_empty()).then_some((at + 1, word))
    });
    words
        .map(|(line, word)| {
            Name::parse(word).map_err(|source| WorkloadError::Line {
                line,
                given: escaped(word).to_string(),
                source,
            })
        })
        .collect()
}
