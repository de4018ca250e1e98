//! Step marking: marks packets that find a queue of at least K (RFC 8257 section 3.1).

use super::{Arrival, Verdict};
use crate::scenario::{QueueUnit, StepMarkingConfig};

/// Step marking, which needs no state.
#[derive(Clone, Debug)]
pub struct StepMarking {
    config: StepMarkingConfig,
}

impl StepMarking {
    /// Creates the configured policy.
    pub fn new(config: &StepMarkingConfig) -> StepMarking {
        StepMarking { config: config.clone() }
    }

    /// Decides whether to admit, mark or drop an arriving packet. A packet that is not ECN-capable is admitted if the
    /// buffer has room.
    pub fn decide(&self, arrival: &Arrival) -> Verdict {
        let waiting = match self.config.unit {
            QueueUnit::Bytes => arrival.bytes_waiting,
            QueueUnit::Packets | QueueUnit::Cells => arrival.packets_waiting,
        };
        if arrival.capable && waiting >= self.config.threshold {
            Verdict::Mark
        } else {
            Verdict::Admit
        }
    }
}
