//! Why a request came to nothing, for a person.

use std::error::Error;
use std::io;

use rustls::{AlertDescription, CertificateError, InvalidMessage};

use crate::pull::error::Fault;
use crate::pull::resolve::NameError;

/// What an HTTP client's error means. `authority` is the host that was asked.
pub(in crate::pull) fn fault_of(error: &reqwest::Error, authority: &str) -> Fault {
    if let Some(error) = find::<NameError>(error) {
        return no_address(error);
    }
    if let Some(error) = find::<rustls::Error>(error) {
        return of_tls(error, authority);
    }
    let reason = last(error);
    match () {
        () if error.is_timeout() && error.is_connect() => Fault::Unreachable {
            reason: "nobody answered in time".to_owned(),
        },
        () if error.is_timeout() => Fault::Silent,
        () if error.is_connect() => Fault::Unreachable { reason },
        () => Fault::Cut { reason },
    }
}

fn no_address(error: &NameError) -> Fault {
    Fault::NoAddress {
        reason: error.to_string(),
        is_certain: matches!(error, NameError::Unknown { .. }),
    }
}

fn of_tls(error: &rustls::Error, authority: &str) -> Fault {
    let untrusted = |reason: String| Fault::Untrusted { reason };
    match error {
        // What a server that knows no TLS answers is no record of it.
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => Fault::PlainHttp {
            authority: authority.to_owned(),
        },
        rustls::Error::InvalidCertificate(error) => untrusted(of_certificate(error)),
        rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
            untrusted("it wants a certificate of ours, which isn't supported".to_owned())
        }
        error => Fault::Tls {
            reason: error.to_string(),
        },
    }
}

fn of_certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer => {
            "its certificate is signed by a CA that isn't known here; give that CA with --ca-file"
                .to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired; check this machine's clock as well".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate isn't valid yet; check this machine's clock".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another host".to_owned()
        }
        error => format!("its certificate can't be used: {error}"),
    }
}

/// The first error of a kind among the causes. An `io::Error` hides the one that it wraps.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        next = cause(error);
    }
    None
}

fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

/// The innermost cause: those around it say only where it happened.
fn last(error: &reqwest::Error) -> String {
    let mut innermost: &(dyn Error + 'static) = error;
    while let Some(next) = cause(innermost) {
        innermost = next;
    }
    match innermost.downcast_ref::<io::Error>() {
        Some(error) => io_reason(error),
        None => innermost.to_string(),
    }
}

fn io_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "nothing listens there".to_owned(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            "the connection was broken off".to_owned()
        }
        io::ErrorKind::UnexpectedEof => "the connection ended too early".to_owned(),
        _ => error.to_string(),
    }
}
