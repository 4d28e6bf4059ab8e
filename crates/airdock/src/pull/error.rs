//! Why something can't be had from a registry.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use airdock_bundle::digest::Digest;
use airdock_bundle::escape::escaped;

use super::credential::CredentialError;
use super::said::Said;

/// What could not be had, of which registry, and why. Shown without the subject, which whoever asked
/// for it knows and says.
#[derive(Debug, thiserror::Error)]
#[error("{host} {fault}")]
pub struct PullError {
    /// An image's name, or a blob and the repository that it is of.
    pub subject: String,
    /// The registry that was asked, with its port.
    pub host: String,
    /// Why.
    #[source]
    pub fault: Fault,
}

/// Why settings can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the cache can't be used: {}: {source}; give another one with --cache", path.display())]
    Cache {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{}: it holds no certificate; a CA file holds them as PEM", path.display())]
    NoCertificate { path: PathBuf },
    #[error(
        "\"{}\" is no mirror; write HOST=MIRROR, as in docker.io=mirror.example:5000/hub",
        escaped(given)
    )]
    Mirror { given: String },
    #[error("no HTTP client can be made: {source}")]
    Client {
        #[source]
        source: reqwest::Error,
    },
    #[error("names can't be looked up: {reason}")]
    Resolver { reason: String },
    #[error("no TLS can be had: {source}")]
    Tls {
        #[source]
        source: rustls::Error,
    },
    #[error("neither XDG_CACHE_HOME nor HOME is set; give --cache DIR")]
    NoCache,
}

/// What went wrong with a request. Each is a fragment that follows the registry's name.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("has nothing of that name{said}; check the name, and whether it was pushed")]
    Missing { said: Said },
    #[error("asks for a credential, and none was found for it{}{said}; log in with `docker login` or `skopeo login`", looked_at(.files))]
    NoCredential { files: Vec<PathBuf>, said: Said },
    #[error("refuses the credential from {origin}{said}")]
    Denied { origin: String, said: Said },
    #[error("needs a credential that can't be had: {0}")]
    Credential(#[from] CredentialError),
    #[error("allows no more requests for now{}{said}; a credential mostly raises the limit", come_back(.after))]
    RateLimited { after: Option<Duration>, said: Said },
    #[error("answers {status}{said}")]
    Status {
        status: u16,
        after: Option<Duration>,
        said: Said,
    },
    #[error("cannot be reached: {reason}")]
    Unreachable { reason: String },
    #[error("cannot be asked: {reason}")]
    NoAddress { reason: String, is_certain: bool },
    #[error("is not trusted: {reason}")]
    Untrusted { reason: String },
    #[error("and we agree on no TLS: {reason}")]
    Tls { reason: String },
    #[error("answers plain http, not TLS; if that is meant, add --plain-http={authority}")]
    PlainHttp { authority: String },
    #[error("answers TLS, not plain http; leave out --plain-http for it")]
    WantsTls,
    #[error(
        "points to plain http at {authority}, where neither credentials nor images are safe; if that is meant, add --plain-http={authority}"
    )]
    LeadsToPlainHttp { authority: String },
    #[error("points from one place to the next without an end")]
    Redirects,
    #[error("sends what isn't understood: {what}")]
    Malformed { what: String },
    #[error("was cut off: {reason}")]
    Cut { reason: String },
    #[error("fell silent for {} s", super::limits::SILENCE.as_secs())]
    Silent,
    #[error("sent other bytes than {expected}: their digest is {found}")]
    Broken { expected: Digest, found: Digest },
    #[error("sent {found} bytes of {digest}, which has {expected}")]
    Size {
        digest: Digest,
        expected: u64,
        found: u64,
    },
    #[error("sent more than the {limit} bytes that are allowed")]
    TooLarge { limit: u64 },
    #[error("gives no tokens: its token service {} {fault}", escaped(authority))]
    Token {
        authority: String,
        #[source]
        fault: Box<Self>,
    },
    #[error("was still asked when you stopped it")]
    Stopped,
    #[error("sent what can't be written to {}: {source}", path.display())]
    Disk {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl Fault {
    /// Whether asking again may help.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Cut { .. }
            | Self::Silent
            | Self::RateLimited { .. }
            | Self::Broken { .. } => true,
            Self::NoAddress { is_certain, .. } => !is_certain,
            Self::Token { fault, .. } => fault.is_transient(),
            Self::Status { status, .. } => matches!(status, 408 | 500 | 502 | 503 | 504),
            _ => false,
        }
    }

    /// Whether the disk is full.
    pub fn is_no_space(&self) -> bool {
        matches!(self, Self::Disk { source, .. } if source.kind() == io::ErrorKind::StorageFull)
    }

    /// Whether nobody answers there.
    pub(super) fn is_absence(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::NoAddress { .. } | Self::Silent
        )
    }

    /// How long the registry asks us to wait.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { after, .. } | Self::Status { after, .. } => *after,
            Self::Token { fault, .. } => fault.retry_after(),
            _ => None,
        }
    }
}

fn looked_at(files: &[PathBuf]) -> String {
    if files.is_empty() {
        return " (there is no file with credentials)".to_owned();
    }
    let files: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    format!(" in {}", files.join(", "))
}

fn come_back(after: &Option<Duration>) -> String {
    match after {
        Some(after) => format!(", and says to come back in {} s", after.as_secs()),
        None => String::new(),
    }
}
