//! An input as several files that know each other's digests.
//!
//! Mutated bytes hardly ever hit on a digest. So an input is a list of parts, and where a part
//! says `@d0`, `@h0` or `@s0`, that becomes the digest, the bare hex or the size of part 0, which
//! stands before it. Whatever is changed, the references stay true.

use airdock_testkit::fixture::sha256;

/// Between two parts.
pub(super) const SEPARATOR: &str = "\n@@\n";

/// Parts of one input. Below [`limits::EXTRA_PASSES`](airdock_bundle::limits::EXTRA_PASSES), so
/// that a compressed bundle can read each by a pass of its own.
pub(super) const MOST: usize = 12;

/// How a reference to part `index` is written, without its `@` and kind.
pub(super) fn label(index: usize) -> char {
    u8::try_from(index).map_or('~', |index| char::from(b'0'.saturating_add(index)))
}

/// The parts that `input` is made of.
pub(super) fn split(input: &[u8]) -> Vec<&[u8]> {
    let separator = SEPARATOR.as_bytes();
    let mut parts = Vec::new();
    let mut rest = input;
    while parts.len() + 1 < MOST
        && let Some(at) = rest.windows(separator.len()).position(|it| it == separator)
    {
        let (part, behind) = rest.split_at(at);
        parts.push(part);
        rest = &behind[separator.len()..];
    }
    parts.push(rest);
    parts
}

/// What is known of the parts so far.
#[derive(Default)]
pub(super) struct Known(Vec<(String, usize)>);

impl Known {
    /// Takes the next part.
    pub(super) fn add(&mut self, content: &[u8]) {
        self.0.push((sha256(content), content.len()));
    }

    /// `text` with its references resolved; those to parts not known stay.
    pub(super) fn resolve(&self, text: &[u8]) -> Vec<u8> {
        let mut resolved = Vec::with_capacity(text.len());
        let mut rest = text;
        while let [first, behind @ ..] = rest {
            match self.reference(rest) {
                Some(value) => {
                    resolved.extend_from_slice(value.as_bytes());
                    rest = &rest[3..];
                }
                None => {
                    resolved.push(*first);
                    rest = behind;
                }
            }
        }
        resolved
    }

    /// What the reference at the start of `text` stands for.
    fn reference(&self, text: &[u8]) -> Option<String> {
        let [b'@', kind, label, ..] = text else {
            return None;
        };
        let (digest, size) = self.0.get(usize::from(label.checked_sub(b'0')?))?;
        match kind {
            b'd' => Some(digest.clone()),
            b'h' => Some(digest.replace("sha256:", "")),
            b's' => Some(size.to_string()),
            _ => None,
        }
    }
}
