//! `docs/troubleshooting.md`: messages, each as it stands in the program's sources.

use std::path::Path;

use airdock_testkit::{Outcome, repository};

use super::sources::{all, texts};

/// Parts of the program whose messages must all be explained.
const EXPLAINED: [&str; 26] = [
    "airdock/src/admin/",
    "airdock/src/agent/",
    "airdock/src/config/",
    "airdock/src/pack/",
    "airdock/src/pull/",
    "airdock/src/reader/",
    "airdock/src/store/",
    "airdock/src/workload/",
    "bundle/src/archive/",
    "bundle/src/codec/",
    "bundle/src/digest.rs",
    "bundle/src/docker/",
    "bundle/src/document.rs",
    "bundle/src/graph/",
    "bundle/src/image.rs",
    "bundle/src/image/",
    "bundle/src/json.rs",
    "bundle/src/layout/",
    "bundle/src/name.rs",
    "bundle/src/naming.rs",
    "bundle/src/open/",
    "bundle/src/platform.rs",
    "bundle/src/tar/",
    "bundle/src/write.rs",
    "bundle/src/write/",
    "containerd/src/error.rs",
];

/// What says less than so many letters says nothing by itself: it wraps another message.
const TELLING: usize = 8;

/// Messages are list items and the first cells of rows that start with a code span.
fn explained() -> std::io::Result<Vec<String>> {
    let text = std::fs::read_to_string(repository().join("docs/troubleshooting.md"))?;
    let starts = text.lines().filter_map(|line| {
        let line = line.strip_prefix("- ").or(line.strip_prefix("| "))?;
        code_span(line)
    });
    Ok(starts.map(str::to_owned).collect())
}

/// What stands between one or two backticks at the start.
fn code_span(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("``") {
        return rest.split_once("``").map(|(code, _)| code.trim());
    }
    line.strip_prefix('`')?
        .split_once('`')
        .map(|(code, _)| code)
}

fn says_something(text: &str) -> bool {
    text.chars()
        .filter(|character| character.is_alphabetic())
        .count()
        >= TELLING
}

pub(crate) fn exist(_: &Path) -> Outcome {
    let sources = all()?;
    let texts: Vec<String> = sources
        .iter()
        .flat_map(|(_, source)| texts(source))
        .collect();
    let explained = explained()?;
    assert!(explained.len() > 100, "{}", explained.len());
    let unknown: Vec<&String> = explained
        .iter()
        .filter(|message| !texts.iter().any(|text| text.contains(*message)))
        .collect();
    assert!(unknown.is_empty(), "nothing says {unknown:#?}");
    Ok(())
}

pub(crate) fn are_explained(_: &Path) -> Outcome {
    let explained = explained()?;
    let mut lacking = Vec::new();
    for (path, source) in all()? {
        let path = path.to_string_lossy();
        if EXPLAINED.iter().any(|part| path.contains(part)) {
            let messages = errors(&source).chain(warnings(&source));
            let unknown = |text: &String| !explained.iter().any(|known| text.contains(known));
            lacking.extend(messages.filter(|text| says_something(text)).filter(unknown));
        }
    }
    let log = super::sources::source("airdock/src/output/log.rs")?;
    let unknown = |text: &String| !explained.iter().any(|known| text.contains(known));
    let warnings = warnings(&log).filter(|text| says_something(text));
    lacking.extend(warnings.filter(unknown));
    assert!(
        lacking.is_empty(),
        "docs/troubleshooting.md lacks {lacking:#?}"
    );
    Ok(())
}

fn errors(source: &str) -> impl Iterator<Item = String> {
    first_texts(source, "#[error(")
}

fn warnings(source: &str) -> impl Iterator<Item = String> {
    first_texts(source, "warn!(")
}

/// The first text behind each `mark`; what passes another message on has none of its own.
fn first_texts(source: &str, mark: &str) -> impl Iterator<Item = String> {
    let behind = source.split(mark).skip(1);
    let own = behind.filter(|behind| !behind.starts_with("transparent"));
    own.filter_map(|behind| texts(behind).into_iter().next())
}
