//! QUIC without cryptography: null keys with tags of 16 bytes, so that packets have the same lengths as with TLS.

/// Length [byte] of AES-GCM tags and of the samples for header protection (RFC 9001 section 5).
pub const TAG: usize = 16;

/// Implements a stack's cryptography traits. quinn and noq differ in the types of connection IDs, in whether methods of
/// packet keys receive a path, and in the type of `self` in `start_session`.
macro_rules! null_crypto {
    (id: $id:ty, path: [$($path:ident: $path_type:ty,)?], start: [$($this:tt)*]) => {
        use crate::handshake::Handshake;
        use crate::null::TAG;
        use bytes::BytesMut;
        use crypto::{ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session};
        use proto::crypto::{self, CryptoError, UnsupportedVersion};
        use proto::transport_parameters::TransportParameters;
        use proto::{ConnectError, ConnectionId, Side, TransportError};
        use std::any::Any;

        /// Configuration of both sides, and keys that leave headers unchanged.
        #[derive(Clone, Copy, Debug)]
        pub struct Null;

        /// Keys of a generation, which leave the payload unchanged. All bytes of the tag are the low byte of the
        /// generation's number, so that packets of another generation cannot be decrypted: a stack may try the keys of
        /// the next generation on a late packet of the previous one, and regards success as an update of the keys.
        #[derive(Clone, Copy, Debug)]
        struct Generation(u8);

        impl HeaderKey for Null {
            fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

            fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

            fn sample_size(&self) -> usize {
                TAG
            }
        }

        impl PacketKey for Generation {
            fn encrypt(&self, $(_: $path_type,)? _packet: u64, buf: &mut [u8], _header_len: usize) {
                let begin = buf.len() - TAG;
                buf[begin..].fill(self.0);
            }

            fn decrypt(
                &self,
                $(_: $path_type,)?
                _packet: u64,
                _header: &[u8],
                payload: &mut BytesMut,
            ) -> Result<(), CryptoError> {
                let length = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
                if payload[length..] != [self.0; TAG] {
                    return Err(CryptoError);
                }
                payload.truncate(length);
                Ok(())
            }

            fn tag_len(&self) -> usize {
                TAG
            }

            // AES-GCM's limits (RFC 9001 section 6.6).
            fn confidentiality_limit(&self) -> u64 {
                1 << 23
            }

            fn integrity_limit(&self) -> u64 {
                1 << 52
            }
        }

        fn packet_keys(generation: u8) -> KeyPair<Box<dyn PacketKey>> {
            KeyPair {
                local: Box::new(Generation(generation)),
                remote: Box::new(Generation(generation)),
            }
        }

        fn keys() -> Keys {
            Keys {
                header: KeyPair {
                    local: Box::new(Null),
                    remote: Box::new(Null),
                },
                packet: packet_keys(0),
            }
        }

        /// One side of a connection.
        struct Plain {
            side: Side,
            handshake: Handshake,
            /// Generation of the latest keys.
            generation: u8,
        }

        impl Session for Plain {
            fn initial_keys(&self, _: $id, _: Side) -> Keys {
                keys()
            }

            fn handshake_data(&self) -> Option<Box<dyn Any>> {
                None
            }

            fn peer_identity(&self) -> Option<Box<dyn Any>> {
                None
            }

            fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
                None
            }

            fn early_data_accepted(&self) -> Option<bool> {
                None
            }

            fn is_handshaking(&self) -> bool {
                self.handshake.is_going_on()
            }

            fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
                self.handshake.read(buf);
                Ok(false)
            }

            fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
                let peer = self.handshake.peer.as_deref();
                let read = |mut bytes: &[u8]| TransportParameters::read(self.side, &mut bytes);
                Ok(peer.map(read).transpose()?)
            }

            fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
                self.handshake.write(buf).then(keys)
            }

            fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
                self.generation = self.generation.wrapping_add(1);
                Some(packet_keys(self.generation))
            }

            fn is_valid_retry(&self, _: $id, _header: &[u8], _payload: &[u8]) -> bool {
                false
            }

            fn export_keying_material(
                &self,
                output: &mut [u8],
                _label: &[u8],
                _context: &[u8],
            ) -> Result<(), ExportKeyingMaterialError> {
                output.fill(0);
                Ok(())
            }
        }

        fn encoded(parameters: &TransportParameters) -> Vec<u8> {
            let mut bytes = Vec::new();
            parameters.write(&mut bytes);
            bytes
        }

        impl crypto::ClientConfig for Null {
            fn start_session(
                $($this)*,
                _version: u32,
                _server_name: &str,
                params: &TransportParameters,
            ) -> Result<Box<dyn Session>, ConnectError> {
                Ok(Box::new(Plain {
                    side: Side::Client,
                    handshake: Handshake::client(encoded(params)),
                    generation: 0,
                }))
            }
        }

        impl crypto::ServerConfig for Null {
            fn initial_keys(&self, _version: u32, _: $id) -> Result<Keys, UnsupportedVersion> {
                Ok(keys())
            }

            fn retry_tag(&self, _version: u32, _: $id, _packet: &[u8]) -> [u8; 16] {
                [0; 16]
            }

            fn start_session($($this)*, _version: u32, params: &TransportParameters) -> Box<dyn Session> {
                Box::new(Plain {
                    side: Side::Server,
                    handshake: Handshake::server(encoded(params)),
                    generation: 0,
                })
            }
        }
    };
}

pub(crate) use null_crypto;
