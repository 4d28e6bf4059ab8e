//! The productions of the reference grammar, one predicate each.

const TAG_LENGTH: usize = 128;
const IDENTIFIER_LENGTH: usize = 64;

/// `[a-f0-9]{64}`: an image ID without its algorithm.
pub(super) fn is_identifier(text: &str) -> bool {
    text.len() == IDENTIFIER_LENGTH && text.bytes().all(is_lower_hex)
}

/// `[\w][\w.-]{0,127}`.
pub(super) fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= TAG_LENGTH
        && text.bytes().next().is_some_and(is_word)
        && text
            .bytes()
            .all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
}

/// Lower case letters and digits, in runs joined by one of `.`, `_`, `__` or any number of `-`.
pub(super) fn is_path_component(text: &str) -> bool {
    let mut rest = text;
    loop {
        let after = rest.trim_start_matches(is_lower_alphanumeric);
        if after.len() == rest.len() {
            return false;
        }
        if after.is_empty() {
            return true;
        }
        let next = after.trim_start_matches(|c| !is_lower_alphanumeric(c));
        let separator = after.strip_suffix(next).unwrap_or(after);
        if !is_separator(separator) {
            return false;
        }
        rest = next;
    }
}

fn is_separator(text: &str) -> bool {
    matches!(text, "." | "_" | "__") || text.bytes().all(|byte| byte == b'-')
}

/// A host name, an IPv4 address or an IPv6 address in brackets, with an optional port.
pub(super) fn is_domain_and_port(text: &str) -> bool {
    let (is_host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => (is_ipv6(address), port),
        None => {
            let end = text.find(':').unwrap_or(text.len());
            let (host, port) = text.split_at(end);
            (host.split('.').all(is_domain_component), port)
        }
    };
    is_host && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_ipv6(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b':')
}

fn is_domain_component(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_lower_alphanumeric(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

fn is_lower_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'a'..=b'f')
}
