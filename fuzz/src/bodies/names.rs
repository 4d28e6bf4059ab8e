//! Names of images, of platforms and of entries, and text that is shown.

use airdock_bundle::digest::Digest;
use airdock_bundle::escape::escaped;
use airdock_bundle::name::Name;
use airdock_bundle::platform::Platform;
use airdock_bundle::{limits, tar};

/// Takes `input` for each of them.
pub fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    shown(&text);
    image_name(&text);
    platform(&text);
    digest(&text);
    entry_name(input);
}

fn shown(text: &str) {
    /// `\u{10ffff}`, the longest that a character becomes.
    const ESCAPED: usize = 10;
    let shown = escaped(text).to_string();
    assert_visible(&shown);
    assert!(shown.chars().count() <= limits::SHOWN_TEXT * ESCAPED + 1);
}

fn assert_visible(text: &str) {
    assert!(!text.chars().any(char::is_control), "{text:?}");
}

/// A normalised name is the name that it stands for.
fn image_name(given: &str) {
    let name = match Name::parse(given) {
        Ok(name) => name,
        Err(error) => return assert_visible(&error.to_string()),
    };
    let full = name.to_string();
    assert!(full.bytes().all(|byte| byte.is_ascii_graphic()), "{full:?}");
    assert_eq!(Name::parse(&full), Ok(name.clone()), "{given:?}");
    assert!(name.repository().len() <= limits::REFERENCE, "{full}");
    let by_tag = name.clone().tag_first();
    assert_eq!(Name::parse(&by_tag.to_string()), Ok(by_tag));
    if let Some(digest) = name.digest() {
        let by_digest = name.with_digest(digest);
        let parsed = Name::parse(&by_digest).map(|name| name.to_string());
        assert_eq!(parsed, Ok(by_digest));
    }
}

fn platform(given: &str) {
    match Platform::parse(given) {
        Ok(platform) => {
            let full = platform.to_string();
            assert_eq!(Platform::parse(&full).ok(), Some(platform), "{given:?}");
        }
        Err(error) => assert_visible(&error.to_string()),
    }
}

fn digest(given: &str) {
    match given.parse::<Digest>() {
        Ok(digest) => {
            assert_eq!(digest.as_str(), given);
            assert!(digest.hex().starts_with(digest.short()));
        }
        Err(error) => assert_visible(&error.to_string()),
    }
}

/// A normalised name stays beneath the archive's top, and is its own normal form.
fn entry_name(raw: &[u8]) {
    let Ok(name) = tar::normalise(raw) else {
        return;
    };
    assert_eq!(tar::normalise(name.as_bytes()), Ok(name.clone()));
    assert!(!name.contains('\0') && name.len() <= limits::ENTRY_NAME);
    let odd = |component: &str| matches!(component, "" | "." | "..");
    assert!(name.is_empty() || !name.split('/').any(odd), "{name:?}");
}
