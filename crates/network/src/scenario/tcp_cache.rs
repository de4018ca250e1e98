//! Deserialization of the TCP parameters of flows. Successive flows of a large scenario usually have equal parameters,
//! so the JSON of each set of parameters is parsed only once.

use longpipe_tcp::config::TcpConfig;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::cell::RefCell;

thread_local! {
    /// The most recently parsed configuration and its JSON.
    static LATEST: RefCell<Option<(String, TcpConfig)>> = const { RefCell::new(None) };
}

/// Deserializes a TCP configuration, or copies the previous one if the JSON is the same.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TcpConfig, D::Error> {
    let raw = <Box<RawValue>>::deserialize(deserializer)?;
    let json = raw.get();
    LATEST.with_borrow_mut(|latest| {
        if let Some((_, tcp)) = latest.as_ref().filter(|(cached_json, _)| cached_json == json) {
            return Ok(tcp.clone());
        }
        let tcp: TcpConfig = serde_json::from_str(json).map_err(D::Error::custom)?;
        *latest = Some((json.to_owned(), tcp.clone()));
        Ok(tcp)
    })
}
