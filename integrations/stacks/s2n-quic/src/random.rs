//! Random numbers from the seed of an end.

use longpipe_end::adapter::SplitMix64;
use s2n_quic::provider::connection_id::{ConnectionInfo, Generator as IdGenerator, LocalId, Validator};
use s2n_quic::provider::random::Generator;
use s2n_quic::provider::stateless_reset_token::Generator as TokenGenerator;
use s2n_quic_core::stateless_reset;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

/// Length of connection IDs, as by default.
const ID_BYTES: usize = 16;

/// A generator that the providers of an end share.
#[derive(Clone, Debug)]
pub struct Random(Arc<Mutex<SplitMix64>>);

impl Random {
    /// Creates a generator.
    pub fn new(seed: u64) -> Random {
        Random(Arc::new(Mutex::new(SplitMix64(seed))))
    }

    fn fill(&self, bytes: &mut [u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill(bytes);
    }
}

impl Generator for Random {
    fn public_random_fill(&mut self, bytes: &mut [u8]) {
        self.fill(bytes);
    }

    fn private_random_fill(&mut self, bytes: &mut [u8]) {
        self.fill(bytes);
    }
}

/// Provides the random numbers, or the tokens, of an endpoint.
#[derive(Debug)]
pub struct Provider(pub Random);

impl s2n_quic::provider::random::Provider for Provider {
    type Generator = Random;
    type Error = Infallible;

    fn start(self) -> Result<Random, Infallible> {
        Ok(self.0)
    }
}

impl s2n_quic::provider::stateless_reset_token::Provider for Provider {
    type Generator = Random;
    type Error = Infallible;

    fn start(self) -> Result<Random, Infallible> {
        Ok(self.0)
    }
}

impl IdGenerator for Random {
    fn generate(&mut self, _connection: &ConnectionInfo<'_>) -> LocalId {
        let mut bytes = [0; ID_BYTES];
        self.fill(&mut bytes);
        LocalId::try_from(&bytes[..]).expect("16 bytes are a valid length")
    }
}

impl Validator for Random {
    fn validate(&self, _connection: &ConnectionInfo<'_>, buffer: &[u8]) -> Option<usize> {
        (buffer.len() >= ID_BYTES).then_some(ID_BYTES)
    }
}

impl TokenGenerator for Random {
    // As by default: a random token resets no connection.
    const ENABLED: bool = false;

    fn generate(&mut self, _id: &[u8]) -> stateless_reset::Token {
        let mut bytes = [0; stateless_reset::token::LEN];
        self.fill(&mut bytes);
        bytes.into()
    }
}
