//! What an image's config asks of a runtime that some runtimes should not have done.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::escape::escaped;
use crate::limits;

/// Labels of an image become those of its containers, and containerd acts on its own: it restarts
/// a container, or runs a program on the host as its logger.
/// <https://github.com/containerd/containerd/blob/main/core/runtime/restart/restart.go>
const ACTED_ON: [&str; 2] = ["containerd.io/", "io.cri-containerd"];
/// The largest user or group id that every runtime reads alike: over it, containerd's sum
/// overflowed, and the container ran as root (CVE-2024-40635).
const LARGEST_ID: u32 = i32::MAX.unsigned_abs();

/// Something in a config that is worth a look before it runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Hazard {
    #[error("its config has the label \"{}\", which the runtime acts on", escaped(.key))]
    Label { key: String },
    /// Such a volume was copied from the host's files (CVE-2022-23648).
    #[error("its config has the volume \"{}\", which leads out of the image", escaped(.path))]
    Volume { path: String },
    #[error(
        "its config has the user \"{}\", an id over {LARGEST_ID}, for which some runtimes take root",
        escaped(.user)
    )]
    User { user: String },
}

/// The hazards of the config in `bytes`, sorted; of very many, the first. None of what is no
/// config: nothing runs that.
pub(super) fn of(bytes: &[u8]) -> Vec<Hazard> {
    let mut hazards = BTreeSet::new();
    for (_, config) in members(bytes, &["config"]) {
        for (field, value) in members(config.get().as_bytes(), &["labels", "volumes", "user"]) {
            match field {
                "labels" => hazards.extend(labels(value)),
                "volumes" => hazards.extend(volumes(value)),
                _ => hazards.extend(user(value)),
            }
        }
    }
    hazards.into_iter().take(limits::WARNINGS).collect()
}

fn labels(value: &RawValue) -> impl Iterator<Item = Hazard> {
    let acted_on = keys(value).filter(|key| ACTED_ON.iter().any(|prefix| key.starts_with(prefix)));
    acted_on.map(|key| Hazard::Label { key })
}

fn volumes(value: &RawValue) -> impl Iterator<Item = Hazard> {
    let leads_out = |path: &String| path.split('/').any(|component| component == "..");
    keys(value)
        .filter(leads_out)
        .map(|path| Hazard::Volume { path })
}

fn user(value: &RawValue) -> Option<Hazard> {
    let user: String = serde_json::from_str(value.get()).ok()?;
    user.split(':')
        .any(is_large_id)
        .then_some(Hazard::User { user: user.clone() })
}

/// Whether it is a number over [`LARGEST_ID`]; a name is none.
fn is_large_id(id: &str) -> bool {
    let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    is_number && !id.parse().is_ok_and(|id: u32| id <= LARGEST_ID)
}

/// The members of a JSON object that `wanted` lists in lower case; none of anything else.
///
/// Read as Go reads them, in which the runtimes are written: the case of a key's letters makes no
/// difference, so that a member may stand there in several spellings.
fn members<'de>(
    object: &'de [u8],
    wanted: &'static [&'static str],
) -> Vec<(&'static str, &'de RawValue)> {
    let mut deserializer = serde_json::Deserializer::from_slice(object);
    let members = deserializer.deserialize_map(Members { wanted });
    members.unwrap_or_default()
}

struct Members {
    wanted: &'static [&'static str],
}

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(&'static str, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let is_it = |wanted: &&&str| wanted.eq_ignore_ascii_case(&key);
            match self.wanted.iter().find(is_it) {
                Some(wanted) => members.push((*wanted, map.next_value()?)),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(members)
    }
}

/// The keys of a JSON object; none of anything else.
fn keys(object: &RawValue) -> impl Iterator<Item = String> {
    let map: BTreeMap<String, IgnoredAny> = serde_json::from_str(object.get()).unwrap_or_default();
    map.into_keys()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hazards(config: &str) -> Vec<String> {
        let config = format!(r#"{{"os":"linux","config":{config}}}"#);
        let hazards = of(config.as_bytes());
        hazards.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_runtimes_act_on_is_told() {
        for (config, said) in [
            (
                r#"{"Labels":{"containerd.io/restart.status":"running"}}"#,
                "the label \"containerd.io/restart.status\"",
            ),
            (
                r#"{"Labels":{"io.cri-containerd.kind":"sandbox"}}"#,
                "the label \"io.cri-containerd.kind\"",
            ),
            (
                r#"{"Volumes":{"/../../etc":{}}}"#,
                "the volume \"/../../etc\"",
            ),
            (r#"{"Volumes":{"data/..":null}}"#, "the volume \"data/..\""),
            (r#"{"User":"2147483648"}"#, "the user \"2147483648\""),
            (r#"{"User":"0:4294967296"}"#, "the user \"0:4294967296\""),
            (
                r#"{"User":"99999999999999999999999"}"#,
                "the user \"99999999999999999999999\"",
            ),
        ] {
            let hazards = hazards(config);
            assert_eq!(hazards.len(), 1, "{config}: {hazards:?}");
            assert!(hazards[0].contains(said), "{hazards:?}");
        }
    }

    #[test]
    fn an_ordinary_config_is_no_hazard() {
        for config in [
            "null",
            "[]",
            "{}",
            r#"{"Labels":null,"Volumes":null,"User":""}"#,
            r#"{"Labels":{"org.opencontainers.image.title":"containerd.io/"}}"#,
            r#"{"Volumes":{"/data":{},"/a..b/...":{}}}"#,
            r#"{"User":"2147483647:2147483647"}"#,
            r#"{"User":"user4294967296:staff"}"#,
        ] {
            assert_eq!(hazards(config), [""; 0], "{config}");
        }
        assert_eq!(of(b"no JSON"), []);
    }

    #[test]
    fn the_case_of_keys_hides_nothing() {
        let config =
            br#"{"config":{},"cOnFig":{"lAbels":{"containerd.io/x":""},"USER":"4294967295"}}"#;
        assert_eq!(of(config).len(), 2);
    }

    #[test]
    fn of_very_many_the_first_are_told() {
        let labels = (0..100).map(|n| format!(r#""containerd.io/{n:03}":"""#));
        let labels: Vec<String> = labels.collect();
        let hazards = hazards(&format!(r#"{{"Labels":{{{}}}}}"#, labels.join(",")));
        assert_eq!(hazards.len(), limits::WARNINGS);
        assert!(hazards[0].contains("containerd.io/000"));
    }
}
