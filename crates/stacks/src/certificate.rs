//! The server's certificate, signed with Ed25519, and its key. Both are fixed, so that the handshake has the same
//! length in every run; the lengths of ECDSA signatures would vary by a byte or two. The key is public and protects
//! nothing.

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// Name of the server in the certificate, which is valid from 2000 to 9999.
pub const NAME: &str = "longpipe.test";

/// Returns the self-signed certificate.
pub fn certificate() -> CertificateDer<'static> {
    CertificateDer::from(&include_bytes!("../certificate/certificate.der")[..])
}

/// Returns the certificate's private key.
pub fn key() -> PrivateKeyDer<'static> {
    PrivatePkcs8KeyDer::from(&include_bytes!("../certificate/key.der")[..]).into()
}
