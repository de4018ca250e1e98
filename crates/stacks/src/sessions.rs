//! TLS sessions that clients resume to send data in the first flight (0-RTT).

use crate::certificate;
use rustls::server::StoresServerSessions;
use rustls::version::TLS13;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Sessions that were issued but not resumed yet, indexed by ticket. Both ends of a flow are in one process.
static ISSUED: Mutex<BTreeMap<Vec<u8>, Vec<u8>>> = Mutex::new(BTreeMap::new());

/// How a server uses sessions. rustls permits 0-RTT only for servers that store sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sessions {
    /// Issues a session before a run.
    Issue,
    /// Lets a client resume an issued session once during a run. The tickets that the server issues afterwards are
    /// never used.
    Resume,
}

fn issued() -> MutexGuard<'static, BTreeMap<Vec<u8>, Vec<u8>>> {
    ISSUED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StoresServerSessions for Sessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        if *self == Sessions::Issue {
            issued().insert(key, value);
        }
        true
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        issued().get(key).cloned()
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        issued().remove(key)
    }

    fn can_cache(&self) -> bool {
        true
    }
}

/// Returns the configuration of a server that accepts 0-RTT.
///
/// # Errors
/// Returns the error message of rustls if rustls rejects the configuration.
pub fn server(sessions: Sessions) -> Result<rustls::ServerConfig, String> {
    let message = |error: rustls::Error| error.to_string();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(message)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate::certificate()], certificate::key())
        .map_err(message)?;
    // QUIC permits only this value and 0, and 0 would refuse 0-RTT (RFC 9001 section 4.6.1).
    config.max_early_data_size = u32::MAX;
    config.session_storage = Arc::new(sessions);
    if sessions == Sessions::Issue {
        config.send_tls13_tickets = 1;
    }
    Ok(config)
}
