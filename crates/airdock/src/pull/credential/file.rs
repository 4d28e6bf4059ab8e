//! Docker's `config.json` and podman's `auth.json`, which is the same with fewer fields.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

use super::{Credential, CredentialError, Secret};
use crate::pull::limits;

/// Docker writes padding; what people write by hand may lack it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What helpers and `auths` call Docker Hub.
const DOCKER_HUB: &str = "docker.io";
const DOCKER_HUB_KEY: &str = "https://index.docker.io/v1/";
const DOCKER_HUB_HOST: &str = "index.docker.io";

/// One file.
pub(super) struct File {
    path: PathBuf,
    raw: Raw,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Raw {
    auths: Option<BTreeMap<String, Entry>>,
    cred_helpers: Option<BTreeMap<String, String>>,
    creds_store: Option<String>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

/// What a file says of a registry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Credential(Credential),
    /// A program is to be asked, with this key.
    Helper {
        name: String,
        key: String,
    },
}

impl File {
    /// `None` where there is no such file.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, CredentialError> {
        let unreadable = |source| CredentialError::File {
            path: path.to_owned(),
            source,
        };
        let file = match fs::File::open(path) {
            Err(error) if is_absence(&error) => return Ok(None),
            file => file.map_err(unreadable)?,
        };
        let mut bytes = Vec::new();
        let mut file = file.take(limits::CREDENTIAL_FILE + 1);
        file.read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > limits::CREDENTIAL_FILE {
            let path = path.to_owned();
            return Err(CredentialError::TooLarge { path });
        }
        Self::parse(path, &bytes).map(Some)
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, CredentialError> {
        let path = path.to_owned();
        // An empty file is what a mount without its secret leaves.
        if bytes.trim_ascii().is_empty() {
            let raw = Raw::default();
            return Ok(Self { path, raw });
        }
        match serde_json::from_slice(bytes) {
            Ok(raw) => Ok(Self { path, raw }),
            Err(source) => Err(CredentialError::Json { path, source }),
        }
    }

    /// What it says of a repository: the helper of its registry, an entry of its own (podman's
    /// may name a part of the path; the longest counts), the helper of all registries.
    pub(super) fn find(
        &self,
        authority: &str,
        path: &str,
    ) -> Result<Option<Found>, CredentialError> {
        if let Some(name) = self.helper_of(authority) {
            return self.helper(name, authority).map(Some);
        }
        for scope in scopes(authority, path) {
            if let Some(found) = self.entry(&scope)? {
                return Ok(Some(Found::Credential(found)));
            }
        }
        let store = self.raw.creds_store.as_deref();
        match store.filter(|name| !name.is_empty()) {
            Some(name) => self.helper(name, authority).map(Some),
            None => Ok(None),
        }
    }

    fn helper_of(&self, authority: &str) -> Option<&str> {
        let helpers = self.raw.cred_helpers.as_ref()?;
        let matching = |(key, _): &(&String, &String)| host_of(key) == canonical(authority);
        let (_, name) = helpers.iter().find(matching)?;
        Some(name.as_str()).filter(|name| !name.is_empty())
    }

    /// A name that is a path would run something else than a helper.
    fn helper(&self, name: &str, authority: &str) -> Result<Found, CredentialError> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if !name.chars().all(is_word) {
            return Err(CredentialError::HelperName {
                path: self.path.clone(),
                name: name.to_owned(),
            });
        }
        let key = match authority {
            DOCKER_HUB => DOCKER_HUB_KEY,
            other => other,
        };
        Ok(Found::Helper {
            name: name.to_owned(),
            key: key.to_owned(),
        })
    }

    fn entry(&self, scope: &str) -> Result<Option<Credential>, CredentialError> {
        let Some(auths) = &self.raw.auths else {
            return Ok(None);
        };
        let mut matching = auths.iter().filter(|(key, _)| scope_of(key) == scope);
        matching
            .find_map(|(key, entry)| self.credential(key, entry).transpose())
            .transpose()
    }

    fn credential(&self, key: &str, entry: &Entry) -> Result<Option<Credential>, CredentialError> {
        let given = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        if let Some(token) = given(&entry.identitytoken) {
            return Ok(Some(Credential::Identity(Secret::new(token))));
        }
        if let Some(auth) = given(&entry.auth) {
            let decoded = decoded(&auth).ok_or_else(|| CredentialError::Entry {
                path: self.path.clone(),
                key: key.to_owned(),
            })?;
            return Ok(Some(decoded));
        }
        let user = given(&entry.username);
        let both = user.zip(given(&entry.password));
        Ok(both.map(|(user, password)| Credential::Password {
            user,
            password: Secret::new(password),
        }))
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn decoded(auth: &str) -> Option<Credential> {
    let bytes = BASE64.decode(auth.trim()).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (user, password) = text.split_once(':')?;
    Some(Credential::Password {
        user: user.to_owned(),
        // Docker pads old entries with NUL.
        password: Secret::new(password.trim_end_matches('\0').to_owned()),
    })
}

/// `host/a/b`, `host/a`, `host`.
fn scopes(authority: &str, path: &str) -> Vec<String> {
    let whole = format!("{}/{path}", canonical(authority));
    let ends = whole.match_indices('/').map(|(end, _)| end);
    let ends: Vec<usize> = ends.chain([whole.len()]).collect();
    let scopes = ends.iter().rev().filter_map(|&end| whole.get(..end));
    scopes.map(str::to_owned).collect()
}

/// A key of `auths` without the scheme and the API's version, which Docker used to write.
fn scope_of(key: &str) -> &str {
    let key = key.strip_prefix("https://").unwrap_or(key);
    let key = key.strip_prefix("http://").unwrap_or(key);
    let key = key.trim_end_matches('/');
    let key = key.strip_suffix("/v1").unwrap_or(key);
    let key = key.strip_suffix("/v2").unwrap_or(key);
    canonical(key)
}

fn host_of(key: &str) -> &str {
    let scope = scope_of(key);
    scope.split_once('/').map_or(scope, |(host, _)| host)
}

/// Docker Hub goes by several names.
fn canonical(authority: &str) -> &str {
    match authority {
        DOCKER_HUB_HOST | "registry-1.docker.io" => DOCKER_HUB,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(json: &str) -> File {
        File::parse(Path::new("/k"), json.as_bytes()).expect(json)
    }

    fn password(user: &str, password: &str) -> Option<Found> {
        Some(Found::Credential(Credential::Password {
            user: user.to_owned(),
            password: Secret::new(password.to_owned()),
        }))
    }

    fn helper(name: &str, key: &str) -> Option<Found> {
        Some(Found::Helper {
            name: name.to_owned(),
            key: key.to_owned(),
        })
    }

    /// base64 of `u:p:q`, `a:b` and `c:d`.
    const U: &str = "dTpwOnE=";
    const A: &str = "YTpi";
    const C: &str = "Yzpk";

    #[test]
    fn an_entry_is_found_by_every_way_in_which_tools_write_its_key() {
        for key in [
            "r.example:5000",
            "https://r.example:5000",
            "http://r.example:5000/v1/",
            "https://r.example:5000/v2/",
        ] {
            let file = file(&format!(r#"{{"auths":{{"{key}":{{"auth":"{U}"}}}}}}"#));
            assert_eq!(
                file.find("r.example:5000", "x").unwrap(),
                password("u", "p:q"),
                "{key}"
            );
            assert_eq!(file.find("r.example", "x").unwrap(), None, "{key}");
        }
        for key in [
            "docker.io",
            "index.docker.io",
            "https://index.docker.io/v1/",
            "registry-1.docker.io",
        ] {
            let file = file(&format!(r#"{{"auths":{{"{key}":{{"auth":"{A}"}}}}}}"#));
            assert_eq!(
                file.find("docker.io", "library/x").unwrap(),
                password("a", "b"),
                "{key}"
            );
        }
    }

    #[test]
    fn the_longest_path_counts() {
        let file = file(&format!(
            r#"{{"auths":{{"q.example":{{"auth":"{A}"}},"q.example/team/one":{{"auth":"{C}"}},"other":{{}}}}}}"#
        ));
        assert_eq!(
            file.find("q.example", "team/one").unwrap(),
            password("c", "d")
        );
        assert_eq!(
            file.find("q.example", "team/one/x").unwrap(),
            password("c", "d")
        );
        assert_eq!(
            file.find("q.example", "team/onemore").unwrap(),
            password("a", "b")
        );
    }

    #[test]
    fn a_registrys_helper_comes_first_and_the_common_one_last() {
        let file = file(&format!(
            r#"{{"auths":{{"r.example":{{"auth":"{A}"}},"s.example":{{}}}},
                "credHelpers":{{"g.example":"cloud","https://r2.example/":"two"}},"credsStore":"desktop"}}"#
        ));
        assert_eq!(
            file.find("g.example", "x").unwrap(),
            helper("cloud", "g.example")
        );
        assert_eq!(
            file.find("r2.example", "x").unwrap(),
            helper("two", "r2.example")
        );
        assert_eq!(file.find("r.example", "x").unwrap(), password("a", "b"));
        assert_eq!(
            file.find("s.example", "x").unwrap(),
            helper("desktop", "s.example")
        );
        assert_eq!(
            file.find("docker.io", "x").unwrap(),
            helper("desktop", DOCKER_HUB_KEY)
        );
    }

    #[test]
    fn tokens_and_names_in_clear_are_understood() {
        let file = file(
            r#"{"auths":{"t.example":{"auth":"","identitytoken":"tok"},"c.example":{"username":"n","password":"w"}}}"#,
        );
        let token = Credential::Identity(Secret::new("tok".to_owned()));
        assert_eq!(
            file.find("t.example", "x").unwrap(),
            Some(Found::Credential(token))
        );
        assert_eq!(file.find("c.example", "x").unwrap(), password("n", "w"));
    }

    #[test]
    fn what_cannot_be_used_is_an_error_and_not_an_absence() {
        assert!(File::parse(Path::new("/k"), b"{").is_err());
        assert!(file(" \n").find("r", "x").unwrap().is_none());
        assert!(
            file(r#"{"auths":{"r":{"auth":"%%%"}}}"#)
                .find("r", "x")
                .is_err()
        );
        assert!(
            file(r#"{"auths":{"r":{"auth":"bm9jb2xvbg=="}}}"#)
                .find("r", "x")
                .is_err()
        );
        let path = r#"{"credsStore":"../../bin/sh"}"#;
        assert!(file(path).find("r", "x").is_err());
    }

    #[test]
    fn a_secret_is_never_shown() {
        let found = file(&format!(r#"{{"auths":{{"r":{{"auth":"{U}"}}}}}}"#)).find("r", "x");
        assert!(!format!("{found:?}").contains("p:q"));
    }
}
