//! Congestion controls of noq.

use super::proto::{congestion, TransportConfig};
use std::sync::Arc;

/// Names of the congestion controls.
pub const CONTROLS: [&str; 3] = ["cubic", "reno", "bbr3"];

/// Selects a congestion control.
pub fn control(transport: &mut TransportConfig, name: &str) {
    transport.congestion_controller_factory(factory(name));
}

/// Returns the factory of a congestion control's controllers.
pub fn factory(name: &str) -> Arc<dyn congestion::ControllerFactory + Send + Sync> {
    match name {
        "bbr3" => Arc::new(congestion::Bbr3Config::default()),
        "reno" => Arc::new(congestion::NewRenoConfig::default()),
        _ => Arc::new(congestion::CubicConfig::default()),
    }
}
