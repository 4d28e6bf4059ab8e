//! Lists with one name a line.

use std::collections::BTreeSet;

use airdock_bundle::escape::escaped;
use airdock_bundle::name::Name;

use super::WorkloadError;

/// Whether every line is one word that no YAML document starts or holds: a name has a colon within
/// only.
pub(super) fn is_list(text: &str) -> bool {
    let is_name = |word: &str| {
        let is_word = !word.contains(char::is_whitespace) && !word.ends_with(':');
        is_word && !word.starts_with(['{', '[', ']', '}', '%', '"']) && word != "---"
    };
    words(text).all(|(_, word)| is_name(word))
}

/// The names; `#` starts a comment.
pub(super) fn names(text: &str) -> Result<BTreeSet<Name>, WorkloadError> {
    words(text)
        .map(|(line, word)| {
            Name::parse(word).map_err(|cause| WorkloadError::Line {
                line,
                given: escaped(word).to_string(),
                cause,
            })
        })
        .collect()
}

fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(at, line)| {
        let word = line.split('#').next().unwrap_or_default().trim();
        (!word.is_empty()).then_some((at + 1, word))
    })
}
