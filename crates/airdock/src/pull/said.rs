//! What a registry says about its refusal.

use std::fmt;

use airdock_bundle::escape::escaped;
use serde::Deserialize;

/// The words of an answer, as they came; shown in brackets and escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said(String);

impl Said {
    /// What the body of an answer says: the errors of the distribution specification, or its
    /// first line where it is plain text.
    pub(super) fn of(body: &[u8]) -> Self {
        match serde_json::from_slice::<Errors>(body) {
            Ok(errors) => Self(errors.text()),
            Err(_) => Self(first_line(body)),
        }
    }

    /// Whether these words are in it.
    pub(super) fn has(&self, words: &str) -> bool {
        self.0.contains(words)
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_str() {
            "" => Ok(()),
            said => write!(f, " ({})", escaped(said)),
        }
    }
}

/// `{"errors": [{"code": …, "message": …}]}`; token services say `details` instead.
#[derive(Deserialize)]
struct Errors {
    #[serde(default)]
    errors: Vec<OneError>,
    #[serde(default)]
    details: Option<String>,
}

#[derive(Deserialize)]
struct OneError {
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    message: Option<String>,
}

impl Errors {
    fn text(self) -> String {
        let errors = self.errors.into_iter();
        let texts = errors.map(|error| match (error.code, error.message) {
            (Some(code), Some(message)) => format!("{code}: {message}"),
            (code, message) => code.or(message).unwrap_or_default(),
        });
        let texts: Vec<String> = texts.chain(self.details).collect();
        texts.join("; ")
    }
}

/// Pages for people, in HTML, say nothing to one at a terminal.
fn first_line(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let line = text.trim().lines().next().unwrap_or_default();
    match line.starts_with('<') {
        true => String::new(),
        false => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_registry_says_is_shown_and_can_steer_no_terminal() {
        for (body, shown) in [
            (
                r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown","detail":{}}]}"#,
                " (MANIFEST_UNKNOWN: manifest unknown)",
            ),
            (r#"{"errors":[{"message":"a"},{"code":"B"}]}"#, " (a; B)"),
            (
                r#"{"details":"incorrect username"}"#,
                " (incorrect username)",
            ),
            ("slow down\nplease", " (slow down)"),
            ("a\x1b[31mb", r" (a\u{1b}[31mb)"),
            ("<html><h1>404</h1>", ""),
            ("", ""),
            ("{}", ""),
        ] {
            assert_eq!(Said::of(body.as_bytes()).to_string(), shown, "{body}");
        }
    }
}
