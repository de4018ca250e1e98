//! Cryptography of str0m: dimpl's DTLS 1.2 with RustCrypto, and SRTP with ring's AES-256-GCM.
//!
//! Randomness comes from `getrandom`, which the run seeds, so that ECDSA signatures have the same lengths in each run.

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use dimpl::{Config, Dtls};
use ring::{aead, digest, hmac};
use std::sync::Arc;
use std::time::Instant;
use str0m::config::{DtlsCert, DtlsVersion};
use str0m::crypto::dtls::{DtlsImplError, DtlsInstance, DtlsOutput, DtlsProvider, ProtocolVersion};
use str0m::crypto::{
    AeadAes256Gcm, AeadAes256GcmCipher, CryptoProvider, Sha1HmacProvider, Sha1Provider, Sha256Provider, SrtpProvider,
    SupportedAeadAes128Gcm, SupportedAeadAes256Gcm, SupportedAes128CmSha1_80,
};
use str0m_proto::crypto::CryptoError;

/// Reason for requesting no cipher other than AES-256-GCM.
const FIRST: &str = "dimpl's server selects AEAD_AES_256_GCM, which its client offers";

/// Returns the certificate that both ends use. Its ECDSA key on P-256 is public and protects nothing.
pub fn certificate() -> DtlsCert {
    DtlsCert {
        certificate: include_bytes!("../../certificate/webrtc.der").to_vec(),
        private_key: include_bytes!("../../certificate/webrtc-key.der").to_vec(),
    }
}

/// Returns the provider.
pub fn provider() -> CryptoProvider {
    CryptoProvider {
        srtp_provider: &Own,
        sha1_hmac_provider: &Own,
        sha1_provider: &Own,
        sha256_provider: &Own,
        dtls_provider: &Own,
    }
}

/// Implements all traits of the provider.
#[derive(Debug)]
struct Own;

impl Sha1HmacProvider for Own {
    fn sha1_hmac(&self, key: &[u8], payloads: &[&[u8]]) -> [u8; 20] {
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, key));
        for payload in payloads {
            context.update(payload);
        }
        array(context.sign().as_ref())
    }
}

impl Sha1Provider for Own {
    fn sha1(&self, data: &[u8]) -> [u8; 20] {
        array(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, data).as_ref())
    }
}

impl Sha256Provider for Own {
    fn sha256(&self, data: &[u8]) -> [u8; 32] {
        array(digest::digest(&digest::SHA256, data).as_ref())
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut all = [0; N];
    all.copy_from_slice(bytes);
    all
}

impl SrtpProvider for Own {
    fn aes_128_cm_sha1_80(&self) -> &'static dyn SupportedAes128CmSha1_80 {
        unreachable!("{FIRST}")
    }

    fn aead_aes_128_gcm(&self) -> &'static dyn SupportedAeadAes128Gcm {
        unreachable!("{FIRST}")
    }

    fn aead_aes_256_gcm(&self) -> &'static dyn SupportedAeadAes256Gcm {
        &Own
    }

    fn srtp_aes_128_ecb_round(&self, _key: &[u8], _input: &[u8], _output: &mut [u8]) {
        unreachable!("{FIRST}")
    }

    fn srtp_aes_256_ecb_round(&self, key: &[u8], input: &[u8], output: &mut [u8]) {
        let mut block = aes::Block::from(array::<16>(input));
        aes::Aes256::new(&array::<32>(key).into()).encrypt_block(&mut block);
        output[..16].copy_from_slice(&block);
    }
}

impl SupportedAeadAes256Gcm for Own {
    fn create_cipher(&self, key: [u8; 32], _encrypt: bool) -> Box<dyn AeadAes256GcmCipher> {
        let key = aead::UnboundKey::new(&aead::AES_256_GCM, &key);
        let key = key.unwrap_or_else(|_| unreachable!("an AES-256 key has 32 bytes"));
        Box::new(Gcm(aead::LessSafeKey::new(key)))
    }
}

/// AES-256-GCM with one key.
#[derive(Debug)]
struct Gcm(aead::LessSafeKey);

impl AeadAes256GcmCipher for Gcm {
    fn encrypt(&mut self, iv: &[u8; 12], aad: &[u8], input: &[u8], output: &mut [u8]) -> Result<(), CryptoError> {
        let (nonce, length) = (aead::Nonce::assume_unique_for_key(*iv), input.len());
        output[..length].copy_from_slice(input);
        let tag = self
            .0
            .seal_in_place_separate_tag(nonce, aead::Aad::from(aad), &mut output[..length])
            .map_err(|_| failed("encryption"))?;
        output[length..length + AeadAes256Gcm::TAG_LEN].copy_from_slice(tag.as_ref());
        Ok(())
    }

    fn decrypt(
        &mut self,
        iv: &[u8; 12],
        aads: &[&[u8]],
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize, CryptoError> {
        let nonce = aead::Nonce::assume_unique_for_key(*iv);
        let mut text = input.to_vec();
        let plain = self
            .0
            .open_in_place(nonce, aead::Aad::from(aads.concat()), &mut text)
            .map_err(|_| failed("decryption"))?;
        output[..plain.len()].copy_from_slice(plain);
        Ok(plain.len())
    }
}

fn failed(operation: &str) -> CryptoError {
    CryptoError::Other(format!("{operation} by AES-256-GCM"))
}

impl DtlsProvider for Own {
    fn generate_certificate(&self) -> Option<DtlsCert> {
        Some(certificate())
    }

    fn new_dtls(
        &self,
        certificate: &DtlsCert,
        now: Instant,
        _version: DtlsVersion,
        mtu: Option<usize>,
    ) -> Result<Box<dyn DtlsInstance>, CryptoError> {
        let seed = getrandom::u64().map_err(|error| CryptoError::Other(error.to_string()))?;
        // ICE has already checked that the client receives packets at its address, so no cookie is necessary.
        let mut config = Config::builder()
            .use_server_cookie(false)
            .dangerously_set_rng_seed(seed);
        if let Some(mtu) = mtu {
            config = config.mtu(mtu);
        }
        let config = config.build().map_err(CryptoError::DtlsImpl)?;
        Ok(Box::new(Instance(Dtls::new_12(
            Arc::new(config),
            certificate.clone(),
            now,
        ))))
    }
}

/// A DTLS connection.
struct Instance(Dtls);

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Instance")
    }
}

impl DtlsInstance for Instance {
    fn set_active(&mut self, active: bool) {
        self.0.set_active(active);
    }

    fn handle_packet(&mut self, packet: &[u8]) -> Result<(), DtlsImplError> {
        self.0.handle_packet(packet)
    }

    fn poll_output<'a>(&mut self, buf: &'a mut [u8]) -> DtlsOutput<'a> {
        self.0.poll_output(buf)
    }

    fn handle_timeout(&mut self, now: Instant) -> Result<(), DtlsImplError> {
        self.0.handle_timeout(now)
    }

    fn send_application_data(&mut self, data: &[u8]) -> Result<usize, DtlsImplError> {
        self.0.send_application_data(data)
    }

    fn is_active(&self) -> bool {
        self.0.is_active()
    }

    fn protocol_version(&self) -> Option<ProtocolVersion> {
        self.0.protocol_version()
    }

    fn is_closing(&self) -> bool {
        self.0.is_closing()
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn close(&mut self) -> Result<(), DtlsImplError> {
        self.0.close()
    }
}
