//! What can go wrong between us and the daemon, in words that say what to do about it.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tonic::{Code, Status};

use crate::content::write::BodyError;

/// A call and what it was about: `images.Get docker.io/library/busybox:1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub name: &'static str,
    pub subject: String,
    /// The daemon doesn't name the lease that it misses, so we do.
    pub lease: Option<String>,
}

impl Call {
    pub(crate) fn new(name: &'static str, subject: impl Into<String>) -> Call {
        Call {
            name,
            subject: subject.into(),
            lease: None,
        }
    }

    pub(crate) fn under(self, lease: Option<&str>) -> Call {
        let lease = lease.map(str::to_owned);
        Call { lease, ..self }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        if !self.subject.is_empty() {
            write!(f, " {}", self.subject)?;
        }
        match &self.lease {
            Some(lease) => write!(f, " under lease {lease}"),
            None => Ok(()),
        }
    }
}

/// Why there is nobody to talk to at a socket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    #[error("no such socket: is containerd running?")]
    Missing,
    #[error("the socket is there, but nobody listens: containerd has stopped")]
    Refused,
    #[error("permission denied: root may use this socket")]
    Denied,
    #[error("not a socket")]
    NotASocket,
    #[error("what answers there is not containerd ({0})")]
    NotContainerd(String),
    #[error("cannot connect: {0}")]
    Other(String),
}

/// A failed call.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {reason}", socket.display())]
    Connect {
        socket: PathBuf,
        #[source]
        reason: Unreachable,
    },
    #[error("{call}: the connection broke ({message})")]
    Disconnected { call: Call, message: String },
    #[error("{call}: no answer within {} s", after.as_secs())]
    Deadline { call: Call, after: Duration },
    #[error("{call}: not found ({message})")]
    NotFound { call: Call, message: String },
    #[error("{call}: already exists ({message})")]
    AlreadyExists { call: Call, message: String },
    #[error("{call}: {message}")]
    FailedPrecondition { call: Call, message: String },
    #[error("{call}: invalid argument ({message})")]
    InvalidArgument { call: Call, message: String },
    #[error("{call}: unavailable ({message})")]
    Unavailable { call: Call, message: String },
    #[error("{call}: permission denied ({message})")]
    PermissionDenied { call: Call, message: String },
    #[error("{call}: no space left for the daemon ({message})")]
    NoSpace { call: Call, message: String },
    #[error("{call}: this daemon has no such service ({message})")]
    Unimplemented { call: Call, message: String },
    #[error("{call}: {code:?} ({message})")]
    Other {
        call: Call,
        code: Code,
        message: String,
    },
    #[error("{call}: the answer lacks {field}")]
    Malformed { call: Call, field: &'static str },
    #[error("{call}: the bytes could not be read")]
    Body {
        call: Call,
        #[source]
        source: BodyError,
    },
    #[error("{call}: the layer unpacked to {given}, not to {expected}")]
    DiffId {
        call: Call,
        given: String,
        expected: String,
    },
    #[error("{call}: {given} bytes were given for a blob of {size}")]
    BodySize { call: Call, given: u64, size: u64 },
}

impl Error {
    /// Whether the same call may succeed later without anybody changing anything but the daemon
    /// itself: it starts, comes back, or finishes what it is busy with.
    pub fn is_retryable(&self) -> bool {
        match self {
            Error::Connect { reason, .. } => {
                matches!(reason, Unreachable::Missing | Unreachable::Refused)
            }
            Error::Disconnected { .. } | Error::Deadline { .. } | Error::Unavailable { .. } => true,
            Error::Other { code, .. } => {
                matches!(
                    code,
                    Code::Aborted | Code::Cancelled | Code::ResourceExhausted
                )
            }
            _ => false,
        }
    }

    /// Whether the daemon itself gave this answer: the connection is alive and more calls make
    /// sense.
    pub(crate) fn is_answer(&self) -> bool {
        !matches!(
            self,
            Error::Connect { .. } | Error::Disconnected { .. } | Error::Deadline { .. }
        )
    }

    /// Says in our words what a status of `call` means.
    pub(crate) fn from_status(call: Call, status: &Status, socket: &Path) -> Error {
        if let Some(reason) = Unreachable::behind(status) {
            let socket = socket.to_path_buf();
            return Error::Connect { socket, reason };
        }
        let message = status.message().to_owned();
        if status.source().is_some() {
            return Error::Disconnected { call, message };
        }
        if is_full(&message) {
            return Error::NoSpace { call, message };
        }
        Error::from_code(call, status.code(), message)
    }

    fn from_code(call: Call, code: Code, message: String) -> Error {
        match code {
            Code::NotFound => Error::NotFound { call, message },
            Code::AlreadyExists => Error::AlreadyExists { call, message },
            Code::FailedPrecondition => Error::FailedPrecondition { call, message },
            Code::InvalidArgument => Error::InvalidArgument { call, message },
            Code::Unavailable => Error::Unavailable { call, message },
            Code::PermissionDenied => Error::PermissionDenied { call, message },
            Code::Unimplemented => Error::Unimplemented { call, message },
            code => Error::Other {
                call,
                code,
                message,
            },
        }
    }
}

/// Whether there was anything to delete.
pub(crate) fn existed(answer: Result<(), Error>) -> Result<bool, Error> {
    optional(answer).map(|found| found.is_some())
}

/// None for what the daemon doesn't have.
pub(crate) fn optional<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// containerd passes the text of ENOSPC and EDQUOT through, under the code Unknown.
fn is_full(message: &str) -> bool {
    message.contains("no space left on device") || message.contains("disk quota exceeded")
}

impl Unreachable {
    /// Why `connect` to `socket` failed.
    pub(crate) fn from_io(error: &io::Error, socket: &Path) -> Unreachable {
        match error.kind() {
            io::ErrorKind::NotFound => Unreachable::Missing,
            io::ErrorKind::PermissionDenied => Unreachable::Denied,
            // The kernel refuses alike for a socket without a listener and for a plain file.
            io::ErrorKind::ConnectionRefused if is_socket(socket) => Unreachable::Refused,
            io::ErrorKind::ConnectionRefused => Unreachable::NotASocket,
            _ => Unreachable::Other(error.to_string()),
        }
    }

    /// The reason behind a status that our own side made up because no connection stood.
    fn behind(status: &Status) -> Option<Unreachable> {
        let mut source = status.source();
        while let Some(error) = source {
            if let Some(reason) = Unreachable::of(error) {
                return Some(reason);
            }
            source = error.source();
        }
        None
    }

    fn of(error: &(dyn StdError + 'static)) -> Option<Unreachable> {
        if let Some(reason) = error.downcast_ref::<Unreachable>() {
            return Some(reason.clone());
        }
        error
            .downcast_ref::<h2::Error>()
            .filter(|error| is_not_http2(error))
            .map(|error| Unreachable::NotContainerd(error.to_string()))
    }
}

fn is_socket(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.file_type().is_socket())
}

/// Words of another protocol (`HTTP/1.1 400 …`) read as frames of impossible sizes.
fn is_not_http2(error: &h2::Error) -> bool {
    let reason = error.reason();
    let impossible = [h2::Reason::FRAME_SIZE_ERROR, h2::Reason::PROTOCOL_ERROR];
    error.is_library() && reason.is_some_and(|reason| impossible.contains(&reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_connect_is_said_in_words() {
        let nowhere = Path::new("/nonexistent");
        for (kind, reason) in [
            (io::ErrorKind::NotFound, Unreachable::Missing),
            (io::ErrorKind::PermissionDenied, Unreachable::Denied),
            (io::ErrorKind::ConnectionRefused, Unreachable::NotASocket),
        ] {
            assert_eq!(Unreachable::from_io(&kind.into(), nowhere), reason);
        }
    }

    #[test]
    fn an_error_names_its_call_subject_and_lease() {
        let call = Call::new("content.Write", "sha256:x").under(Some("airdock-1"));
        let status = Status::not_found("no lease");
        let error = Error::from_status(call, &status, Path::new("/s"));
        let shown = "content.Write sha256:x under lease airdock-1: not found (no lease)";
        assert_eq!(error.to_string(), shown);
    }

    #[test]
    fn a_retry_helps_only_where_the_daemon_may_change_its_mind() {
        for (status, retryable) in [
            (Status::unavailable("ref locked"), true),
            (Status::aborted("conflict"), true),
            (Status::not_found("x"), false),
            (Status::failed_precondition("wrong digest"), false),
            (Status::unknown("no space left on device"), false),
            (Status::unknown("x"), false),
        ] {
            let error = Error::from_status(Call::new("c", "s"), &status, Path::new("/s"));
            assert_eq!(error.is_retryable(), retryable, "{error}");
        }
    }
}
