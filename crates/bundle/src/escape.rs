//! Text from an archive, made fit to be shown.

use std::fmt::{self, Write as _};

use crate::limits;

/// Shows `text` with everything that could steer a terminal, or disguise itself, escaped as
/// `\u{…}`, and cut after [`limits::SHOWN_TEXT`] characters.
pub fn escaped(text: &str) -> Escaped<'_> {
    Escaped(text)
}

/// The display of [`escaped`].
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut characters = self.0.chars();
        for character in characters.by_ref().take(limits::SHOWN_TEXT) {
            if is_hidden(character) {
                write!(f, "{}", character.escape_unicode())?;
            } else {
                f.write_char(character)?;
            }
        }
        match characters.next() {
            Some(_) => f.write_char('…'),
            None => Ok(()),
        }
    }
}

/// Characters that move the cursor, break the line, reorder the text or take no room.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}'                    // soft hyphen
            | '\u{61c}'                 // Arabic letter mark
            | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' // fillers that look like nothing
            | '\u{180e}'                // Mongolian vowel separator
            | '\u{200b}'..='\u{200f}'   // zero width, left-to-right and right-to-left marks
            | '\u{2028}' | '\u{2029}'   // line and paragraph separators
            | '\u{202a}'..='\u{202e}'   // bidirectional embeddings and overrides
            | '\u{2060}'..='\u{206f}'   // word joiner, isolates, deprecated formatting
            | '\u{fe00}'..='\u{fe0f}'   // variation selectors
            | '\u{feff}'                // byte order mark
            | '\u{fff9}'..='\u{fffb}'   // interlinear annotation
            | '\u{e0000}'..='\u{e0fff}' // tags and further variation selectors
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_shown_as_it_is() {
        for (given, shown) in [
            ("registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.9"),
            ("größe/图像", "größe/图像"),
            ("a\x1b[31mb", r"a\u{1b}[31mb"),
            ("a\r\nb\tc\0", r"a\u{d}\u{a}b\u{9}c\u{0}"),
            ("a\u{7f}b\u{9b}c", r"a\u{7f}b\u{9b}c"),
            ("a\u{202e}gpj.exe", r"a\u{202e}gpj.exe"),
            ("pa\u{200b}use\u{feff}", r"pa\u{200b}use\u{feff}"),
            ("tag\u{e0041}", r"tag\u{e0041}"),
        ] {
            assert_eq!(escaped(given).to_string(), shown);
        }
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        let long = "ü".repeat(limits::SHOWN_TEXT + 1);
        let shown = escaped(&long).to_string();
        assert_eq!(shown, "ü".repeat(limits::SHOWN_TEXT) + "…");
        let whole = "ü".repeat(limits::SHOWN_TEXT);
        assert_eq!(escaped(&whole).to_string(), whole);
    }
}
