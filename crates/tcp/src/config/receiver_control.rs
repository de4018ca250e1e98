//! Congestion control by the receiver.

use crate::described::Described;
use longpipe_json::FromJson;
use serde::Serialize;

/// Congestion control by the receiver, with the advertised window.
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Described)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ReceiverControlConfig {
    /// The receiver advertises the window of flow control.
    #[default]
    #[described(name = "ReceiverControlOff")]
    Off,
    /// rLEDBAT: the receiver advertises at most the window of LEDBAT++ for the RTTs that it measures (RFC 9840).
    Rledbat {
        /// Target queueing delay [time]; draft-irtf-iccrg-ledbat-plus-plus, TARGET.
        #[field(range = "[1 us, 100 s]", default = "60 ms")]
        target_ps: u64,
    },
}

impl ReceiverControlConfig {
    /// Returns whether only the sender controls congestion.
    pub fn is_off(&self) -> bool {
        *self == ReceiverControlConfig::Off
    }
}
