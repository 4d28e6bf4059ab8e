//! What is set for pulling, and where a registry is asked.

use std::env;
use std::path::PathBuf;

use airdock_bundle::name::Name;

use super::error::SettingsError;
use super::limits;

/// Docker Hub's registry has another host than its images' names.
const DOCKER_HUB: &str = "docker.io";
const DOCKER_HUB_HOST: &str = "registry-1.docker.io";

/// A set of registries, as options name them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Hosts {
    #[default]
    None,
    /// Every one that is asked for.
    All,
    /// These, each with its port where it has one.
    Some(Vec<String>),
}

impl Hosts {
    /// The set that several values of an option mean; `*` is every registry.
    pub fn from_given(given: &[String]) -> Self {
        match given {
            [] => Self::None,
            given if given.iter().any(|host| host == "*") => Self::All,
            given => Self::Some(given.to_vec()),
        }
    }

    /// Whether a host with its port is in it.
    pub fn contains(&self, authority: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Some(hosts) => hosts.iter().any(|host| host == authority),
        }
    }
}

/// A registry that is asked before another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// The host in images' names.
    of: String,
    authority: String,
    /// Before the repository's path; empty, or ending with a slash.
    prefix: String,
}

impl std::str::FromStr for Mirror {
    type Err = SettingsError;

    /// Reads `HOST=MIRROR` or `HOST=MIRROR/PATH`.
    fn from_str(given: &str) -> Result<Self, SettingsError> {
        let wrong = || SettingsError::Mirror {
            given: given.to_owned(),
        };
        let (of, mirror) = given.split_once('=').ok_or_else(wrong)?;
        let mirror = mirror.trim_end_matches('/');
        let (authority, prefix) = mirror.split_once('/').unwrap_or((mirror, ""));
        // Both are hosts in the grammar of names, which needs a repository.
        for host in [of, authority] {
            let name = Name::parse(&format!("{host}/x/x")).map_err(|_| wrong())?;
            if host.is_empty() || (name.domain() != host && host != "index.docker.io") {
                return Err(wrong());
            }
        }
        if !prefix.is_empty() {
            Name::parse(&format!("{authority}/{prefix}")).map_err(|_| wrong())?;
        }
        Ok(Self {
            of: of.to_owned(),
            authority: authority.to_owned(),
            prefix: match prefix {
                "" => String::new(),
                prefix => format!("{prefix}/"),
            },
        })
    }
}

/// All that is set for pulling.
#[derive(Clone, Debug)]
pub struct Settings {
    pub plain_http: Hosts,
    pub skip_tls_verify: Hosts,
    /// PEM files with further CAs.
    pub ca_files: Vec<PathBuf>,
    pub mirrors: Vec<Mirror>,
    /// How often something is tried again that may pass.
    pub retries: u32,
    pub cache: PathBuf,
}

impl Settings {
    /// What holds where nothing is said.
    ///
    /// # Errors
    /// When the environment doesn't say where a cache may be.
    pub fn new() -> Result<Self, SettingsError> {
        Ok(Self::with_cache(default_cache()?))
    }

    /// The same, with this directory as cache.
    pub fn with_cache(cache: PathBuf) -> Self {
        Self {
            plain_http: Hosts::None,
            skip_tls_verify: Hosts::None,
            ca_files: Vec::new(),
            mirrors: Vec::new(),
            retries: limits::RETRIES,
            cache,
        }
    }

    /// Where to ask for a repository, in this order: its mirrors, then its registry.
    pub(super) fn places(&self, name: &Name) -> Vec<Place> {
        let mirrors = self.mirrors.iter();
        let mirrors = mirrors.filter(|mirror| mirror.of == name.domain());
        let mirrors =
            mirrors.map(|mirror| self.place(&mirror.authority, &mirror.prefix, name.path()));
        mirrors
            .chain([self.place(name.domain(), "", name.path())])
            .collect()
    }

    fn place(&self, authority: &str, prefix: &str, path: &str) -> Place {
        Place {
            is_plain: self.plain_http.contains(authority),
            authority: authority.to_owned(),
            path: format!("{prefix}{path}"),
        }
    }
}

/// `$XDG_CACHE_HOME/airdock`, or `~/.cache/airdock`.
fn default_cache() -> Result<PathBuf, SettingsError> {
    let set = |key| env::var_os(key).map(PathBuf::from);
    let absolute = |path: &PathBuf| path.is_absolute();
    let base = set("XDG_CACHE_HOME").filter(absolute);
    let base = base.or_else(|| set("HOME").filter(absolute).map(|home| home.join(".cache")));
    base.map(|base| base.join("airdock"))
        .ok_or(SettingsError::NoCache)
}

/// One repository at one registry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    is_plain: bool,
    /// As it stands in names: credentials are looked up by it.
    pub(super) authority: String,
    pub(super) path: String,
}

impl Place {
    /// The address of something in the repository, as in `manifests/1.0`.
    pub(super) fn url(&self, rest: &str) -> String {
        let scheme = if self.is_plain { "http" } else { "https" };
        let host = match self.authority.as_str() {
            DOCKER_HUB => DOCKER_HUB_HOST,
            other => other,
        };
        format!("{scheme}://{host}/v2/{}/{rest}", self.path)
    }

    /// What a token is asked for where the registry doesn't say it.
    pub(super) fn scope(&self) -> String {
        format!("repository:{}:pull", self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(mirrors: &[&str], plain: &[&str]) -> Settings {
        let plain: Vec<String> = plain.iter().map(|&host| host.to_owned()).collect();
        let mirrors = mirrors.iter().map(|mirror| mirror.parse().unwrap());
        Settings {
            mirrors: mirrors.collect(),
            plain_http: Hosts::from_given(&plain),
            ..Settings::with_cache(PathBuf::from("/c"))
        }
    }

    fn urls(settings: &Settings, name: &str) -> Vec<String> {
        let places = settings.places(&Name::parse(name).unwrap());
        places.iter().map(|place| place.url("tags")).collect()
    }

    #[test]
    fn a_registry_is_asked_where_its_name_says_after_its_mirrors() {
        let none = settings(&[], &["r.example:5000"]);
        let hub = "https://registry-1.docker.io/v2/library/x/tags";
        assert_eq!(urls(&none, "x"), [hub]);
        assert_eq!(
            urls(&none, "r.example:5000/a/b:1"),
            ["http://r.example:5000/v2/a/b/tags"]
        );
        assert_eq!(
            urls(&none, "r.example/a/b:1"),
            ["https://r.example/v2/a/b/tags"]
        );
        let two = settings(&["docker.io=m.example/hub/", "docker.io=n.example:1"], &[]);
        assert_eq!(
            urls(&two, "x"),
            [
                "https://m.example/v2/hub/library/x/tags",
                "https://n.example:1/v2/library/x/tags",
                hub
            ]
        );
        assert_eq!(urls(&two, "r.example/x"), ["https://r.example/v2/x/tags"]);
        let all = settings(&[], &["*"]);
        assert_eq!(urls(&all, "r.example/x"), ["http://r.example/v2/x/tags"]);
    }

    #[test]
    fn what_is_no_mirror_is_refused() {
        for given in [
            "",
            "docker.io",
            "=m.example",
            "docker.io=",
            "docker.io=http://m",
            "a/b=m.example",
            "docker.io=m.example/UPPER",
            "docker.io=../x",
            "docker.io=m.example/..",
        ] {
            assert!(given.parse::<Mirror>().is_err(), "{given}");
        }
    }
}
