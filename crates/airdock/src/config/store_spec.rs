//! Which store is meant: `--store`, a distribution's preset, or the one socket that exists.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::Distro;

/// The namespace in which kubelet's images live.
pub const DEFAULT_NAMESPACE: &str = "k8s.io";

/// `--store` as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreSpec {
    /// `containerd`, with a socket of its own or the one that is found.
    Containerd(Option<PathBuf>),
    /// `oci:DIR`, an OCI image layout directory.
    Layout(PathBuf),
}

/// A store that can be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// containerd behind a socket.
    Containerd {
        /// The unix socket.
        socket: PathBuf,
        /// The containerd namespace.
        namespace: String,
    },
    /// An OCI image layout directory, created on demand.
    Layout(PathBuf),
}

/// Why no store could be chosen.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreSpecError {
    /// The word before the colon is none that we know.
    #[error("unknown store {0:?}: say containerd, containerd:SOCKET or oci:DIR")]
    Unknown(String),
    /// `oci:` without a directory.
    #[error("oci: needs a directory, as in oci:./images")]
    NoDirectory,
    /// Nothing was said and no known socket exists.
    #[error(
        "no containerd socket found at {}: say which with --store containerd:SOCKET \
         (or try without containerd: --store oci:DIR)",
        list(.0)
    )]
    NoneFound(Vec<PathBuf>),
    /// Nothing was said and several sockets exist.
    #[error("several containerd sockets exist: say which with --store containerd:SOCKET ({})", list(.0))]
    Several(Vec<PathBuf>),
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<_> = paths.iter().map(|p| p.display().to_string()).collect();
    shown.join(", ")
}

impl fmt::Display for StoreSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Containerd(None) => f.write_str("containerd"),
            Self::Containerd(Some(socket)) => write!(f, "containerd:{}", socket.display()),
            Self::Layout(directory) => write!(f, "oci:{}", directory.display()),
        }
    }
}

impl FromStr for StoreSpec {
    type Err = StoreSpecError;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        let (kind, rest) = typed.split_once(':').unwrap_or((typed, ""));
        match (kind, rest) {
            ("containerd", "") => Ok(Self::Containerd(None)),
            ("containerd", socket) => Ok(Self::Containerd(Some(PathBuf::from(socket)))),
            ("oci", "") => Err(StoreSpecError::NoDirectory),
            ("oci", directory) => Ok(Self::Layout(PathBuf::from(directory))),
            _ => Err(StoreSpecError::Unknown(typed.to_owned())),
        }
    }
}

/// Chooses the store.
///
/// Never falls back silently: without a word from the operator exactly one of the known sockets
/// must exist.
pub fn resolve_store(
    spec: Option<StoreSpec>,
    distro: Option<Distro>,
    namespace: Option<String>,
) -> Result<Endpoint, StoreSpecError> {
    let socket = match (spec, distro) {
        (Some(StoreSpec::Layout(directory)), _) => return Ok(Endpoint::Layout(directory)),
        (Some(StoreSpec::Containerd(Some(socket))), _) => socket,
        (_, Some(distro)) => distro.socket().to_owned(),
        (_, None) => the_only(&known_sockets(), Path::exists)?,
    };
    let namespace = namespace.unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned());
    Ok(Endpoint::Containerd { socket, namespace })
}

fn known_sockets() -> Vec<PathBuf> {
    let mut sockets: Vec<PathBuf> = Distro::ALL.map(|d| d.socket().to_owned()).to_vec();
    sockets.dedup();
    sockets
}

fn the_only(known: &[PathBuf], exists: impl Fn(&Path) -> bool) -> Result<PathBuf, StoreSpecError> {
    let mut found: Vec<PathBuf> = known.iter().filter(|p| exists(p)).cloned().collect();
    match found.len() {
        0 => Err(StoreSpecError::NoneFound(known.to_vec())),
        1 => Ok(found.remove(0)),
        _ => Err(StoreSpecError::Several(found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_spelt_as_documented() {
        let cases = [
            ("containerd", Ok(StoreSpec::Containerd(None))),
            (
                "containerd:/run/c.sock",
                Ok(StoreSpec::Containerd(Some("/run/c.sock".into()))),
            ),
            ("oci:./a:b", Ok(StoreSpec::Layout("./a:b".into()))),
            ("oci:", Err(StoreSpecError::NoDirectory)),
            ("docker", Err(StoreSpecError::Unknown("docker".into()))),
        ];
        for (typed, expected) in cases {
            assert_eq!(typed.parse::<StoreSpec>(), expected, "{typed}");
        }
    }

    #[test]
    fn one_existing_socket_is_chosen_and_none_or_several_are_errors() {
        let known = ["/a", "/b", "/c"].map(PathBuf::from);
        let exists = |names: &'static [&'static str]| {
            move |p: &Path| names.iter().any(|n| Path::new(n) == p)
        };
        assert_eq!(the_only(&known, exists(&["/b"])), Ok("/b".into()));
        assert!(matches!(
            the_only(&known, exists(&[])),
            Err(StoreSpecError::NoneFound(_))
        ));
        assert!(matches!(
            the_only(&known, exists(&["/a", "/c"])),
            Err(StoreSpecError::Several(_))
        ));
    }

    #[test]
    fn a_distribution_sets_the_socket_and_an_explicit_socket_wins() {
        let socket = |spec: Option<&str>, distro| {
            let spec = spec.map(|s| s.parse().unwrap());
            match resolve_store(spec, distro, None).unwrap() {
                Endpoint::Containerd { socket, .. } => socket,
                Endpoint::Layout(_) => unreachable!(),
            }
        };
        assert_eq!(
            socket(None, Some(Distro::K0s)),
            Path::new("/run/k0s/containerd.sock")
        );
        assert_eq!(
            socket(Some("containerd:/x"), Some(Distro::K0s)),
            Path::new("/x")
        );
    }
}
