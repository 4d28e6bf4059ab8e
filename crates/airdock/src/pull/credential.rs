//! Credentials, from where Docker, podman and skopeo keep them.

mod file;
mod helper;

use std::env;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use airdock_bundle::escape::escaped;

use file::{File, Found};

use super::limits;

/// A password or a token; never shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(String);

impl Secret {
    pub(super) fn new(secret: String) -> Self {
        Self(secret)
    }

    /// The secret itself, to be sent and nothing else.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// What shows a registry who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Credential {
    Password {
        user: String,
        password: Secret,
    },
    /// Exchanged for a token at the registry's token service.
    Identity(Secret),
}

/// A credential and what it came from, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) credential: Credential,
    pub(super) origin: String,
}

/// Why a credential that should be there can't be had.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{}: it has more than {} bytes", path.display(), limits::CREDENTIAL_FILE)]
    TooLarge { path: PathBuf },
    #[error("{}: it is no JSON of Docker's kind: {source}", path.display())]
    Json {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    #[error("{}: its entry for {} isn't base64 of USER:PASSWORD; log in again", path.display(), escaped(key))]
    Entry { path: PathBuf, key: String },
    #[error("{}: \"{}\" is no name of a credential helper", path.display(), escaped(name))]
    HelperName { path: PathBuf, name: String },
    #[error("{program}, which {} names, can't be run: {source}", path.display())]
    Helper {
        path: PathBuf,
        program: String,
        #[source]
        source: io::Error,
    },
    #[error("{program}, which {} names, failed: {}", path.display(), escaped(said))]
    HelperFailed {
        path: PathBuf,
        program: String,
        said: String,
    },
    #[error("{program}, which {} names, gave no answer in {} s", path.display(), limits::HELPER.as_secs())]
    HelperSilent { path: PathBuf, program: String },
}

/// The files that are looked at, in this order.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    files: Vec<PathBuf>,
}

impl Keys {
    /// Those that the environment names, and the usual ones.
    pub(super) fn from_environment() -> Self {
        let variable = |key| env::var_os(key).filter(|value| !value.is_empty());
        let set = |key| variable(key).map(PathBuf::from);
        let home = set("HOME");
        let below_home = |rest: &str| home.as_ref().map(|home| home.join(rest));
        let config = set("XDG_CONFIG_HOME").or_else(|| below_home(".config"));
        let docker = set("DOCKER_CONFIG").or_else(|| below_home(".docker"));
        let files = [
            set("REGISTRY_AUTH_FILE"),
            set("DOCKER_CONFIG").map(|dir| dir.join("config.json")),
            set("XDG_RUNTIME_DIR").map(|dir| dir.join("containers/auth.json")),
            config.map(|dir| dir.join("containers/auth.json")),
            docker.map(|dir| dir.join("config.json")),
        ];
        Self::new(files.into_iter().flatten())
    }

    fn new(files: impl Iterator<Item = PathBuf>) -> Self {
        let mut keys = Self { files: Vec::new() };
        for file in files {
            if !keys.files.contains(&file) {
                keys.files.push(file);
            }
        }
        keys
    }

    /// The files of them that there are.
    pub(super) fn present(&self) -> Vec<PathBuf> {
        let files = self.files.iter();
        files.filter(|path| path.exists()).cloned().collect()
    }

    /// The credential for a repository, from the first file that has one.
    ///
    /// # Errors
    /// When a file is there and can't be used, or a helper fails: what it holds may be the
    /// credential that is needed.
    pub(super) async fn find(
        &self,
        authority: &str,
        path: &str,
    ) -> Result<Option<Origin>, CredentialError> {
        for file in &self.files {
            if let Some(found) = from_file(file, authority, path).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

async fn from_file(
    file: &Path,
    authority: &str,
    path: &str,
) -> Result<Option<Origin>, CredentialError> {
    let Some(read) = File::read(file)? else {
        return Ok(None);
    };
    match read.find(authority, path)? {
        None => Ok(None),
        Some(Found::Credential(credential)) => Ok(Some(Origin {
            credential,
            origin: file.display().to_string(),
        })),
        Some(Found::Helper { name, key }) => {
            let answered = helper::get(file, &name, &key).await?;
            Ok(answered.map(|credential| Origin {
                credential,
                origin: format!("docker-credential-{name}, which {} names", file.display()),
            }))
        }
    }
}
