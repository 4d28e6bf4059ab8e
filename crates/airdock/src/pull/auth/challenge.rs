//! What a registry wants to be shown: the header `WWW-Authenticate` (RFC 9110, section 11.6.1).

/// A challenge of a kind that we can answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Challenge {
    pub(super) scheme: Scheme,
    parameters: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Basic,
    Bearer,
}

impl Challenge {
    /// The value of a parameter.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let mut parameters = self.parameters.iter();
        let found = parameters.find(|(known, _)| known.eq_ignore_ascii_case(key))?;
        Some(&found.1)
    }
}

/// The challenges in one header that are of a known kind.
pub(super) fn parse(header: &str) -> Vec<Challenge> {
    let mut challenges = Vec::new();
    // `None` while the parameters of an unknown kind are passed over.
    let mut current: Option<Challenge> = None;
    let mut rest = header;
    while !rest.is_empty() {
        let (word, after) = word(rest);
        match after.strip_prefix('=') {
            Some(value) if !word.is_empty() => {
                let (value, after) = self::value(value);
                if let Some(challenge) = &mut current {
                    challenge.parameters.push((word.to_owned(), value));
                }
                rest = after;
            }
            _ if !word.is_empty() => {
                challenges.extend(current.take());
                current = scheme(word).map(|scheme| Challenge {
                    scheme,
                    parameters: Vec::new(),
                });
                rest = after;
            }
            // A separator, or something that has no place here.
            _ => rest = after.get(first_len(after)..).unwrap_or_default(),
        }
    }
    challenges.extend(current);
    challenges
}

fn first_len(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

fn scheme(word: &str) -> Option<Scheme> {
    match word {
        word if word.eq_ignore_ascii_case("basic") => Some(Scheme::Basic),
        word if word.eq_ignore_ascii_case("bearer") => Some(Scheme::Bearer),
        _ => None,
    }
}

fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_whitespace() || matches!(c, ',' | '=' | '"'));
    text.split_at(end.unwrap_or(text.len()))
}

/// A quoted value with its escapes resolved, or one without quotes.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = word(text);
        return (value.to_owned(), rest);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, quoted.get(at + 1..).unwrap_or_default()),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(header: &str) -> Vec<(Scheme, Vec<(String, String)>)> {
        let challenges = parse(header).into_iter();
        challenges.map(|one| (one.scheme, one.parameters)).collect()
    }

    fn one(scheme: Scheme, parameters: &[(&str, &str)]) -> (Scheme, Vec<(String, String)>) {
        let parameters = parameters.iter();
        let owned = parameters.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        (scheme, owned.collect())
    }

    #[test]
    fn challenges_are_read_as_registries_write_them() {
        let bearer = one(
            Scheme::Bearer,
            &[
                ("realm", "https://a.example/token"),
                ("service", "r"),
                ("scope", "repository:a/b:pull,push"),
            ],
        );
        let text =
            r#"realm="https://a.example/token",service="r",scope="repository:a/b:pull,push""#;
        for (header, wanted) in [
            (format!("Bearer {text}"), vec![bearer.clone()]),
            (
                format!(
                    "bearer  {}",
                    text.replace(',', " , ").replace("pull , push", "pull,push")
                ),
                vec![bearer.clone()],
            ),
            (
                format!(r#"Basic realm="x", Bearer {text}"#),
                vec![one(Scheme::Basic, &[("realm", "x")]), bearer.clone()],
            ),
            (
                format!(r#"Negotiate abc=, Bearer {text}, Digest nonce="1""#),
                vec![bearer],
            ),
            (
                r#"Basic realm="a \"b\" \\""#.to_owned(),
                vec![one(Scheme::Basic, &[("realm", r#"a "b" \"#)])],
            ),
            ("Basic".to_owned(), vec![one(Scheme::Basic, &[])]),
            (
                "Basic realm=x".to_owned(),
                vec![one(Scheme::Basic, &[("realm", "x")])],
            ),
            (
                r#"Basic realm="open"#.to_owned(),
                vec![one(Scheme::Basic, &[("realm", "open")])],
            ),
            ("\"\"==,,= \"".to_owned(), vec![]),
            (String::new(), vec![]),
        ] {
            assert_eq!(shown(&header), wanted, "{header}");
        }
    }
}
