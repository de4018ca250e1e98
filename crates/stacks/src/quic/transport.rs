//! The configuration of a connection. This module is compiled for each stack, and for the program that sends in real
//! time: `proto` is the stack's crate.

use super::controls::control;
use super::proto::{MtuDiscoveryConfig, TransportConfig, VarInt};

/// Returns a configuration with a congestion control, a flow-control window [byte], if there is one, and a limit of UDP
/// payloads [byte]. All other settings are the stack's defaults.
///
/// # Errors
/// Returns an error if the window is too large.
pub fn transport(congestion: &str, window: Option<u64>, most_bytes: u16) -> Result<TransportConfig, String> {
    let mut transport = TransportConfig::default();
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(most_bytes);
    transport.mtu_discovery_config(Some(discovery));
    if let Some(window) = window {
        let window = VarInt::from_u64(window).map_err(|_| format!("window: {window} B; needs less than 2^62"))?;
        transport
            .stream_receive_window(window)
            .receive_window(window)
            .send_window(window.into_inner());
    }
    control(&mut transport, congestion);
    Ok(transport)
}
