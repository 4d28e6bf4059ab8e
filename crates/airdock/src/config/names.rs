//! Which names a source may give.

use airdock_bundle::name::Name;
use serde::{Deserialize, Serialize};
use wildmatch::WildMatch;

/// Patterns of names; `*` stands for any characters, `?` for one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameFilter {
    /// Names must match one of these, if there are any.
    pub allow: Vec<String>,
    /// Names must match none of these.
    pub deny: Vec<String>,
}

impl NameFilter {
    /// Whether a name passes.
    pub fn passes(&self, name: &Name) -> bool {
        let name = name.to_string();
        let matches = |pattern: &String| WildMatch::new(pattern).matches(&name);
        let allowed = self.allow.is_empty() || self.allow.iter().any(matches);
        allowed && !self.deny.iter().any(matches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_passes_if_it_is_allowed_and_not_denied() {
        let filter = |allow: &[&str], deny: &[&str]| NameFilter {
            allow: allow.iter().map(ToString::to_string).collect(),
            deny: deny.iter().map(ToString::to_string).collect(),
        };
        let cases = [
            (filter(&[], &[]), true),
            (filter(&["docker.io/library/*"], &[]), true),
            (filter(&["quay.io/*", "*:1"], &[]), true),
            (filter(&["quay.io/*"], &[]), false),
            (filter(&["x:1"], &[]), false),
            (filter(&[], &["docker.io/*"]), false),
            (filter(&["*"], &["*/x:?"]), false),
            (filter(&["*"], &["*/x:??"]), true),
        ];
        let name = Name::parse("x:1").unwrap();
        for (filter, passes) in cases {
            assert_eq!(filter.passes(&name), passes, "{filter:?}");
        }
    }
}
