//! PAX extended headers: `LENGTH KEY=VALUE\n` records (POSIX.1-2017, pax, "pax Extended Header").

use super::PaxFault;

/// What a header says about the next entry, of the things that matter here. Times, owners and
/// extended attributes are left aside.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Overrides<'a> {
    pub(super) path: Option<&'a [u8]>,
    pub(super) linkpath: Option<&'a [u8]>,
    pub(super) size: Option<u64>,
}

/// Parses the content of an extended header. A later record wins over an earlier one. An empty
/// value would take an earlier one back, by the standard; Python's tarfile takes it as it is, so
/// it is refused.
pub(super) fn parse(mut content: &[u8]) -> Result<Overrides<'_>, PaxFault> {
    let mut overrides = Overrides::default();
    while !content.is_empty() {
        let (key, value, rest) = record(content)?;
        content = rest;
        match key {
            b"path" | b"linkpath" if value.is_empty() => return Err(PaxFault::Empty),
            b"path" => overrides.path = Some(value),
            b"linkpath" => overrides.linkpath = Some(value),
            b"size" => overrides.size = Some(size(value)?),
            _ if is_sparse(key) => return Err(PaxFault::Sparse),
            _ => {}
        }
    }
    Ok(overrides)
}

/// GNU tar's three sparse formats, and star's.
fn is_sparse(key: &[u8]) -> bool {
    key.starts_with(b"GNU.sparse.") || key == b"SCHILY.realsize"
}

type Record<'a> = (&'a [u8], &'a [u8], &'a [u8]);

/// The first record's key and value, and the records after it.
fn record(content: &[u8]) -> Result<Record<'_>, PaxFault> {
    let space = content
        .iter()
        .position(|byte| *byte == b' ')
        .ok_or(PaxFault::Length)?;
    let (digits, _) = content.split_at_checked(space).ok_or(PaxFault::Length)?;
    let len = decimal(digits).map_err(|_| PaxFault::Length)?;
    let len = usize::try_from(len).map_err(|_| PaxFault::Length)?;
    let (whole, rest) = content.split_at_checked(len).ok_or(PaxFault::Length)?;
    let body = whole.get(space + 1..).ok_or(PaxFault::Length)?;
    let body = body.strip_suffix(b"\n").ok_or(PaxFault::Length)?;
    let equals = body
        .iter()
        .position(|byte| *byte == b'=')
        .ok_or(PaxFault::NoKey)?;
    match (body.get(..equals), body.get(equals + 1..)) {
        (Some(key), Some(value)) if !key.is_empty() => Ok((key, value, rest)),
        _ => Err(PaxFault::NoKey),
    }
}

/// A size that a file can have: one of 63 bits.
fn size(digits: &[u8]) -> Result<u64, PaxFault> {
    decimal(digits).and_then(|size| match i64::try_from(size) {
        Ok(_) => Ok(size),
        Err(_) => Err(PaxFault::Size),
    })
}

fn decimal(digits: &[u8]) -> Result<u64, PaxFault> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(PaxFault::Size);
    }
    let text = std::str::from_utf8(digits).map_err(|_| PaxFault::Size)?;
    text.parse().map_err(|_| PaxFault::Size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tar::made::record;

    #[test]
    fn name_link_and_size_are_taken_and_the_rest_is_left() {
        let none = Overrides::default;
        for (content, expected) in [
            (vec![], none()),
            (
                record("path", "a/b"),
                Overrides {
                    path: Some(b"a/b"),
                    ..none()
                },
            ),
            (
                record("path", "a\nb=c"),
                Overrides {
                    path: Some(b"a\nb=c"),
                    ..none()
                },
            ),
            (
                record("linkpath", "a"),
                Overrides {
                    linkpath: Some(b"a"),
                    ..none()
                },
            ),
            (
                record("size", "8589934592"),
                Overrides {
                    size: Some(1 << 33),
                    ..none()
                },
            ),
            (record("mtime", "1350244992.023960108"), none()),
            (record("SCHILY.xattr.user.a", "=\n\0 1"), none()),
            (
                [record("path", "a"), record("path", "b")].concat(),
                Overrides {
                    path: Some(b"b"),
                    ..none()
                },
            ),
        ] {
            assert_eq!(parse(&content), Ok(expected), "{}", content.escape_ascii());
        }
    }

    #[test]
    fn malformed_records_are_refused() {
        for (content, fault) in [
            (&b"path=a\n"[..], PaxFault::Length),
            (b"\0\0\0\0", PaxFault::Length),
            (b" path=a\n", PaxFault::Length),
            (b"+9 path=a\n", PaxFault::Length),
            (b"8 path=a\n", PaxFault::Length),
            (b"11 path=a\n", PaxFault::Length),
            (b"10 path=ab", PaxFault::Length),
            (b"9 path=a\n\0", PaxFault::Length),
            (b"0 path=a\n", PaxFault::Length),
            (b"2 path=a\n", PaxFault::Length),
            (b"99999999999999999999999 path=a\n", PaxFault::Length),
            (b"18446744073709551615 path=a\n", PaxFault::Length),
            (b"9 path a\n", PaxFault::NoKey),
            (b"6 =ab\n", PaxFault::NoKey),
            (&record("path", ""), PaxFault::Empty),
            (&record("linkpath", ""), PaxFault::Empty),
            (&record("size", ""), PaxFault::Size),
            (&record("size", "0x1"), PaxFault::Size),
            (&record("size", "-1"), PaxFault::Size),
            (&record("size", "9223372036854775808"), PaxFault::Size),
            (&record("size", "999999999999999999999"), PaxFault::Size),
            (&record("GNU.sparse.major", "1"), PaxFault::Sparse),
            (&record("SCHILY.realsize", "9"), PaxFault::Sparse),
        ] {
            assert_eq!(parse(content), Err(fault), "{}", content.escape_ascii());
        }
    }
}
