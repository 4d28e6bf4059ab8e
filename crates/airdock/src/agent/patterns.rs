//! Images that are meant by patterns of names: those that are published before others of their
//! bundle, and those that are unpacked ahead.

use wildmatch::WildMatch;

use super::offer::OfferedImage;

/// Patterns of names; `*` stands for any characters, `?` for one.
#[derive(Clone, Debug, Default)]
pub struct Patterns(Vec<WildMatch>);

impl Patterns {
    /// From patterns as they are typed.
    pub fn new(patterns: &[String]) -> Self {
        Self(patterns.iter().map(|typed| WildMatch::new(typed)).collect())
    }

    /// Whether any name of the image matches any pattern.
    pub fn has(&self, image: &OfferedImage) -> bool {
        image
            .names
            .iter()
            .any(|name| self.matches(&name.to_string()))
    }

    fn matches(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| pattern.matches(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        let patterns = Patterns::new(&["*/pause:*".to_owned(), "*cni*".to_owned()]);
        for (name, expected) in [
            ("registry.k8s.io/pause:3.9", true),
            ("quay.io/k0sproject/cni-node:1.3", true),
            ("docker.io/library/pauser:1", false),
        ] {
            assert_eq!(patterns.matches(name), expected, "{name}");
        }
    }
}
