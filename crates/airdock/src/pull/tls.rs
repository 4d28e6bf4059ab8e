//! Whom TLS trusts.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::error::SettingsError;

/// Trusts the system's CA store, or what SSL_CERT_FILE and SSL_CERT_DIR name, and these files.
///
/// # Errors
/// When a file can't be read or holds no certificate.
pub(super) fn verifying(ca_files: &[PathBuf]) -> Result<ClientConfig, SettingsError> {
    let mut roots = RootCertStore::empty();
    // A store that is absent or damaged in part shows when a registry isn't trusted.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for path in ca_files {
        let (added, _) = roots.add_parsable_certificates(certificates(path)?);
        if added == 0 {
            return Err(SettingsError::NoCertificate { path: path.clone() });
        }
    }
    Ok(builder()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// Trusts whoever answers.
pub(super) fn trusting() -> Result<ClientConfig, SettingsError> {
    let anybody = Arc::new(Anybody(Arc::new(aws_lc_rs::default_provider())));
    Ok(builder()?
        .dangerous()
        .with_custom_certificate_verifier(anybody)
        .with_no_client_auth())
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, SettingsError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|source| SettingsError::Tls { source })
}

fn certificates(path: &PathBuf) -> Result<Vec<CertificateDer<'static>>, SettingsError> {
    let pem = std::fs::read(path).map_err(|source| SettingsError::File {
        path: path.clone(),
        source,
    })?;
    let certificates = CertificateDer::pem_slice_iter(&pem);
    Ok(certificates.filter_map(Result::ok).collect())
}

/// Takes every certificate, but not every signature: whoever answers has the certificate's key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
