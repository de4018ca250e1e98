//! The server's certificate, signed with Ed25519, and its key: fixed, so that the handshake has the same length in every run.
//! ECDSA signatures vary by a byte or two. They protect nothing.

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// Name of the server, valid from 2000 to 9999.
pub const NAME: &str = "longpipe.test";

/// Returns the certificate, which is its own root.
pub fn certificate() -> CertificateDer<'static> {
    CertificateDer::from(&include_bytes!("../certificate/certificate.der")[..])
}

/// Returns the certificate's private key.
pub fn key() -> PrivateKeyDer<'static> {
    PrivatePkcs8KeyDer::from(&include_bytes!("../certificate/key.der")[..]).into()
}
