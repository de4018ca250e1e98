//! What forbids a second fast retransmit, and which ACKs restart the timer within one.

use crate::flight::Flight;
use longpipe_reading::Read;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// Forbids a fast retransmit of data sent before the latest recovery (RFC 2582 section 5, "careful").
#[derive(Clone, Debug)]
pub struct Guard {
    on: bool,
    recover: Option<u64>,
}

impl Guard {
    /// One that forbids nothing yet, and never does unless it is on.
    pub fn new(on: bool) -> Guard {
        Guard { on, recover: None }
    }

    /// A recovery, or a timeout: what was sent by now needs no other.
    pub fn set(&mut self, flight: &Flight) {
        self.recover = Some(flight.max);
    }

    /// Whether a fast retransmit may come.
    pub fn allows(&self, flight: &Flight) -> bool {
        !self.on || self.recover.is_none_or(|recover| flight.una > recover)
    }
}

/// Which partial ACKs restart the retransmission timer (RFC 2582 section 4).
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum TimerRestart {
    /// The first one of a recovery ("impatient").
    First,
    /// All ("slow but steady").
    Every,
}
