//! Names of entries.

use super::NameFault;
use crate::limits;

/// The one spelling of an entry's name: components joined by single slashes, `.` left out.
/// Names that could leave the archive are refused, and so is what no tool could have meant.
pub fn normalise(raw: &[u8]) -> Result<String, NameFault> {
    let text = checked(raw)?;
    if text.starts_with('/') {
        return Err(NameFault::Absolute);
    }
    let mut name = String::with_capacity(text.len());
    for component in text
        .split('/')
        .filter(|component| !matches!(*component, "" | "."))
    {
        if component == ".." {
            return Err(NameFault::Parent);
        }
        if !name.is_empty() {
            name.push('/');
        }
        name.push_str(component);
    }
    Ok(name)
}

/// A name or link target as text: UTF-8, without NUL, of bounded length.
pub(super) fn checked(raw: &[u8]) -> Result<&str, NameFault> {
    if raw.len() > limits::ENTRY_NAME {
        return Err(NameFault::TooLong { len: raw.len() });
    }
    if raw.contains(&0) {
        return Err(NameFault::Nul);
    }
    std::str::from_utf8(raw).map_err(|_| NameFault::NotUtf8)
}

/// What a message can show of a name that was refused.
pub(super) fn shown(raw: &[u8]) -> String {
    String::from_utf8_lossy(raw.get(..limits::ENTRY_NAME).unwrap_or(raw)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_spellings_are_one_name() {
        for (given, name) in [
            ("index.json", "index.json"),
            ("./index.json", "index.json"),
            ("././/blobs///sha256/./ab", "blobs/sha256/ab"),
            ("blobs/", "blobs"),
            ("./", ""),
            (".", ""),
            ("", ""),
            ("...", "..."),
            ("a..b/..c", "a..b/..c"),
            ("sha256:ab", "sha256:ab"),
            (r"a\b", r"a\b"),
        ] {
            assert_eq!(
                normalise(given.as_bytes()),
                Ok(name.to_owned()),
                "{given:?}"
            );
        }
    }

    #[test]
    fn names_that_leave_the_archive_are_refused() {
        let long = vec![b'a'; limits::ENTRY_NAME + 1];
        for (given, fault) in [
            (&b"/etc/passwd"[..], NameFault::Absolute),
            (b"//a", NameFault::Absolute),
            (b"..", NameFault::Parent),
            (b"a/../b", NameFault::Parent),
            (b"a/..", NameFault::Parent),
            (b"a\0b", NameFault::Nul),
            (b"a\xff", NameFault::NotUtf8),
            (&long, NameFault::TooLong { len: long.len() }),
        ] {
            assert_eq!(normalise(given), Err(fault), "{given:?}");
        }
    }
}
