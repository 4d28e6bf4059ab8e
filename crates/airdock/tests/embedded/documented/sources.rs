//! The program's own sources, as far as they document: types with their fields, and texts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use airdock_testkit::repository;

/// A field of a type that is printed, or a variant.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// As it is declared; empty for a variant.
    pub(crate) kind: String,
    pub(crate) meaning: String,
}

/// A file of the program, by its path below `crates/`.
pub(crate) fn source(path: &str) -> io::Result<String> {
    fs::read_to_string(repository().join("crates").join(path))
}

/// Every file of the program's three crates, by its path below `crates/`.
pub(crate) fn all() -> io::Result<Vec<(PathBuf, String)>> {
    let mut files = Vec::new();
    for krate in ["airdock", "bundle", "containerd"] {
        add(
            &repository().join("crates").join(krate).join("src"),
            &mut files,
        )?;
    }
    Ok(files)
}

fn add(folder: &Path, files: &mut Vec<(PathBuf, String)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            add(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)?;
            files.push((path, text));
        }
    }
    Ok(())
}

/// The fields of `pub struct NAME`, or the variants of `pub enum NAME`, without those that aren't
/// printed.
pub(crate) fn fields(source: &str, name: &str) -> Vec<Field> {
    let head = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.contains(&name)
            && line.ends_with('{')
            && !line.starts_with("impl")
            && (words.contains(&"struct") || words.contains(&"enum"))
    };
    let lines = source.lines().skip_while(|line| !head(line)).skip(1);
    let lines = lines.take_while(|line| *line != "}");
    let (mut found, mut meaning, mut skipped) = (Vec::new(), Vec::new(), false);
    for line in lines.filter_map(|line| line.strip_prefix("    ")) {
        if let Some(doc) = line.strip_prefix("///") {
            meaning.push(doc.trim());
        } else if line.starts_with("#[") {
            skipped |= line.contains("serde(skip)");
        } else if let Some(field) = field(line, &meaning.join(" ")) {
            meaning.clear();
            if !std::mem::take(&mut skipped) {
                found.push(field);
            }
        }
    }
    assert!(!found.is_empty(), "no fields of {name}");
    found
}

/// Nothing for what stands within a variant, or closes it.
fn field(line: &str, meaning: &str) -> Option<Field> {
    if line.starts_with([' ', '}']) || line.is_empty() {
        return None;
    }
    let (name, kind) = match line.split_once(": ") {
        Some((name, kind)) => (name, kind.trim_end_matches(',')),
        None => (line.trim_end_matches([',', ' ', '{']), ""),
    };
    let name = name.split_whitespace().last()?;
    Some(Field {
        name: name.to_owned(),
        kind: kind.to_owned(),
        meaning: meaning.to_owned(),
    })
}

/// Every text in a source, unescaped, with `…` for what is filled in.
pub(crate) fn texts(source: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = source;
    while let Some(start) = rest.find('"') {
        let is_character = rest[..start].ends_with('\'') && rest[start + 1..].starts_with('\'');
        rest = &rest[start + 1..];
        if is_character {
            continue;
        }
        let (text, behind) = unescaped(rest);
        texts.push(filled(&text));
        rest = behind;
    }
    texts
}

/// The text up to its closing quotation mark, and what is behind it.
fn unescaped(from: &str) -> (String, &str) {
    let mut text = String::new();
    let mut characters = from.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (text, &from[at + 1..]),
            '\\' => match characters.next() {
                Some((_, '\n')) => {
                    let behind = characters.as_str().trim_start();
                    let (more, rest) = unescaped(behind);
                    return (text + &more, rest);
                }
                Some((_, escaped)) => text.push(escaped),
                None => {}
            },
            character => text.push(character),
        }
    }
    (text, "")
}

/// With `…` for each placeholder.
fn filled(text: &str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let Some(end) = rest[start..].find('}') else {
            break;
        };
        filled.push_str(&rest[..start]);
        filled.push('…');
        rest = &rest[start + end + 1..];
    }
    filled + rest
}
