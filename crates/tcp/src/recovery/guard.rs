//! Suppression of repeated fast retransmits, and the choice of ACKs that restart the timer during recovery.

use crate::congestion::flight::Flight;
use crate::described::Described;
use longpipe_json::FromJson;
use serde::Serialize;

/// Suppresses fast retransmits of data sent before the latest recovery (RFC 2582 section 5, "careful").
#[derive(Clone, Debug)]
pub struct Guard {
    on: bool,
    recover: Option<u64>,
}

impl Guard {
    /// Creates a guard that suppresses nothing yet. If `on` is false, it never suppresses anything.
    pub fn new(on: bool) -> Guard {
        Guard { on, recover: None }
    }

    /// Records a recovery or a timeout: data sent before it trigger no further fast retransmit.
    pub fn set(&mut self, flight: &Flight) {
        self.recover = Some(flight.max);
    }

    /// Returns whether a fast retransmit is allowed.
    pub fn allows(&self, flight: &Flight) -> bool {
        !self.on || self.recover.is_none_or(|recover| flight.una > recover)
    }
}

/// Which partial ACKs restart the retransmission timer (RFC 2582 section 4).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum TimerRestart {
    /// The first partial ACK of each recovery restarts the timer ("impatient").
    First,
    /// Every partial ACK restarts the timer ("slow but steady").
    Every,
}
