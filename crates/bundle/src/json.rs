//! Strict JSON: what two parsers could read differently is not read at all.
//!
//! containerd reads the same documents with another parser. A key that stands twice, or a depth
//! at which one of the two gives up, would let a document say one thing to us and another to it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor,
};

use crate::escape::escaped;
use crate::limits;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Why some bytes are not the JSON document that they should be. Each is a fragment that
/// follows the document's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    #[error("has {size} bytes, over the {limit} allowed")]
    TooLarge { size: u64, limit: u64 },
    #[error("starts with a byte order mark; save it as UTF-8 without one")]
    ByteOrderMark,
    #[error("is nested over {} levels deep", limits::JSON_DEPTH)]
    TooDeep,
    #[error("holds the key \"{}\" twice in one object", escaped(.key))]
    DuplicateKey { key: String },
    #[error("is not JSON: {}", escaped(.detail))]
    Syntax { detail: String },
    #[error("is of another type: {}", escaped(.detail))]
    Type { detail: String },
    #[error("has an unusable field {}: {}", escaped(.path), escaped(.detail))]
    Field { path: String, detail: String },
}

/// The document in `bytes`, of at most `limit` bytes.
///
/// # Errors
/// Text that is not JSON, a key that stands twice, a depth over [`limits::JSON_DEPTH`], and
/// fields of another type than `T` has, by their path.
pub fn parse<T: DeserializeOwned>(bytes: &[u8], limit: u64) -> Result<T, JsonError> {
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if size > limit {
        return Err(JsonError::TooLarge { size, limit });
    }
    if bytes.starts_with(BYTE_ORDER_MARK) {
        return Err(JsonError::ByteOrderMark);
    }
    check_strict(bytes)?;
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let (path, detail) = (error.path().to_string(), error.inner().to_string());
        match path.as_str() {
            "." => JsonError::Type { detail },
            _ => JsonError::Field { path, detail },
        }
    })
}

/// Walks the whole document, also the parts that no type of ours looks at.
fn check_strict(bytes: &[u8]) -> Result<(), JsonError> {
    let mut found = None;
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    // Our own count takes its place: one level more, and an error that we can tell apart.
    deserializer.disable_recursion_limit();
    let walk = Walk {
        found: &mut found,
        depth: 0,
    };
    let walked = walk
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end());
    match (found, walked) {
        (Some(found), _) => Err(found),
        (None, Err(error)) => Err(JsonError::Syntax {
            detail: error.to_string(),
        }),
        (None, Ok(())) => Ok(()),
    }
}

/// Visits a value and everything in it, and keeps nothing but the keys of the objects around.
struct Walk<'a> {
    found: &'a mut Option<JsonError>,
    depth: usize,
}

impl Walk<'_> {
    fn deeper(&mut self) -> Walk<'_> {
        Walk {
            found: self.found,
            depth: self.depth,
        }
    }

    fn enter<E: Error>(&mut self) -> Result<(), E> {
        self.depth += 1;
        if self.depth > limits::JSON_DEPTH {
            return Err(self.stop(JsonError::TooDeep));
        }
        Ok(())
    }

    /// Ends the walk. serde can only carry a text, so the finding is kept beside it.
    fn stop<E: Error>(&mut self, finding: JsonError) -> E {
        *self.found = Some(finding);
        E::custom("refused")
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.enter()?;
        while items.next_element_seed(self.deeper())?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        self.enter()?;
        let mut keys = HashSet::new();
        while let Some(key) = members.next_key_seed(Key)? {
            if keys.contains(&key) {
                let key = key.into_owned();
                return Err(self.stop(JsonError::DuplicateKey { key }));
            }
            keys.insert(key);
            members.next_value_seed(self.deeper())?;
        }
        Ok(())
    }
}

/// A key, borrowed from the document unless it was written with escapes.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Sample {
        tags: Option<Vec<String>>,
        #[serde(default)]
        size: u64,
    }

    fn sample(text: &str) -> Result<Sample, JsonError> {
        parse(text.as_bytes(), 1000)
    }

    fn nested(levels: usize) -> String {
        format!("{}{}", "[".repeat(levels), "]".repeat(levels))
    }

    #[test]
    fn a_plain_document_is_read() {
        let read = sample(r#"{"tags":["a"],"size":3,"more":{"x":null,"y":[1,-1,2.5,true]}}"#);
        let tags = Some(vec!["a".to_owned()]);
        assert_eq!(read, Ok(Sample { tags, size: 3 }));
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_wherever_it_is() {
        for text in [
            r#"{"tags":[],"tags":[]}"#,
            r#"{"more":{"tags":1,"x":2,"tags":3}}"#,
            r#"{"more":[{"ok":1},{"tags":1,"tags":1}]}"#,
            r#"{"tags":[],"t\u0061gs":[]}"#,
        ] {
            let key = "tags".to_owned();
            assert_eq!(sample(text), Err(JsonError::DuplicateKey { key }), "{text}");
        }
    }

    #[test]
    fn the_same_key_in_two_objects_is_fine() {
        assert!(sample(r#"{"tags":[],"a":{"x":1},"b":{"x":1,"y":{"x":2}}}"#).is_ok());
    }

    #[test]
    fn nesting_ends_at_the_limit() {
        let read = |levels| parse::<serde::de::IgnoredAny>(nested(levels).as_bytes(), 1 << 20);
        assert!(read(limits::JSON_DEPTH).is_ok());
        for levels in [limits::JSON_DEPTH + 1, 100_000] {
            assert_eq!(read(levels).err(), Some(JsonError::TooDeep));
        }
    }

    #[test]
    fn an_unusable_field_is_named() {
        for (text, named) in [
            (
                r#"{"tags":"a"}"#,
                "tags: invalid type: string \"a\", expected a sequence",
            ),
            (r#"{"tags":["a",1]}"#, "tags[1]: invalid type"),
            (r#"{"size":-1}"#, "size: invalid value"),
        ] {
            let error = sample(text).expect_err(text).to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in ["", " ", "{", "{}{}", "nul", "<html>", "{\"a\":1,}"] {
            let read = sample(text);
            assert!(
                matches!(read, Err(JsonError::Syntax { .. })),
                "{text}: {read:?}"
            );
        }
        assert_eq!(sample("\u{feff}{}"), Err(JsonError::ByteOrderMark));
    }

    #[test]
    fn a_document_over_its_limit_is_not_looked_at() {
        let spaces = vec![b' '; 1001];
        let read = parse::<BTreeMap<String, String>>(&spaces, 1000);
        assert_eq!(
            read,
            Err(JsonError::TooLarge {
                size: 1001,
                limit: 1000
            })
        );
    }
}
