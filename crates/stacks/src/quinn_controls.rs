//! Congestion controls of quinn.

use super::proto::{congestion, TransportConfig};
use std::sync::Arc;

/// Names of the congestion controls.
pub const CONTROLS: [&str; 3] = ["cubic", "reno", "bbr"];

/// Selects a congestion control.
pub fn control(transport: &mut TransportConfig, name: &str) {
    match name {
        "bbr" => transport.congestion_controller_factory(Arc::new(congestion::BbrConfig::default())),
        "reno" => transport.congestion_controller_factory(Arc::new(congestion::NewRenoConfig::default())),
        _ => transport.congestion_controller_factory(Arc::new(congestion::CubicConfig::default())),
    };
}
