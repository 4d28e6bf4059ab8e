//! `manifest.json`: which config, layers and names each image has.

use serde::Deserialize;

use super::LIST;
use crate::archive::{Archive, EntryId};
use crate::json;
use crate::limits;
use crate::open::OpenError;

/// One image as `manifest.json` lists it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Position in the list, from 0.
    pub(crate) position: usize,
    /// Path of the config, as written.
    pub(crate) config: String,
    /// As written.
    pub(crate) names: Vec<String>,
    /// Paths of the layers as written, lowest first.
    pub(crate) layers: Vec<String>,
}

/// Docker writes `null` for a list of nothing.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawListed {
    config: Option<String>,
    repo_tags: Option<Vec<String>>,
    layers: Option<Vec<String>>,
}

/// The images that the `manifest.json` in `entry` lists, in its order.
pub(crate) fn read_list(archive: &Archive, entry: EntryId) -> Result<Vec<Listed>, OpenError> {
    let bytes = archive.read(entry, limits::MANIFEST)?;
    let list = parse_list(&bytes).map_err(|error| OpenError::control(LIST, error.into()))?;
    let paths: usize = list.iter().map(|listed| listed.layers.len() + 1).sum();
    if list.len() > limits::DESCRIPTORS {
        return Err(OpenError::TooManyDescriptors);
    }
    if paths > limits::BLOBS {
        return Err(OpenError::TooManyBlobs);
    }
    Ok(list)
}

fn parse_list(bytes: &[u8]) -> Result<Vec<Listed>, json::JsonError> {
    let raw: Option<Vec<RawListed>> = json::parse(bytes, limits::MANIFEST)?;
    let raw = raw.unwrap_or_default().into_iter().enumerate();
    Ok(raw
        .map(|(position, raw)| Listed {
            position,
            config: raw.config.unwrap_or_default(),
            names: raw.repo_tags.unwrap_or_default(),
            layers: raw.layers.unwrap_or_default(),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_nothing_is_empty() {
        for text in ["null", "[]"] {
            assert_eq!(parse_list(text.as_bytes()), Ok(Vec::new()), "{text}");
        }
    }

    #[test]
    fn null_fields_are_empty() {
        let read = parse_list(br#"[{"Config":"c.json","RepoTags":null,"Layers":null}]"#);
        let listed = Listed {
            position: 0,
            config: "c.json".to_owned(),
            names: Vec::new(),
            layers: Vec::new(),
        };
        assert_eq!(read, Ok(vec![listed]));
    }

    #[test]
    fn a_field_of_another_type_is_named() {
        for (text, field) in [
            (
                r#"[{"Config":"c","RepoTags":"a:1","Layers":[]}]"#,
                "[0].RepoTags",
            ),
            (r#"[{"Config":"c","Layers":[]},{"Config":1}]"#, "[1].Config"),
            (r#"[{"Config":"c","Layers":["a",{}]}]"#, "[0].Layers[1]"),
        ] {
            let error = parse_list(text.as_bytes()).expect_err(text).to_string();
            assert!(error.contains(field), "{error}");
        }
    }
}
