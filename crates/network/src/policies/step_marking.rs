//! Step marking: packets that find more than K waiting are marked (RFC 8257 section 3.1).

use super::{Arrival, Verdict};
use crate::scenario::{QueueUnit, StepMarkingConfig};

/// No memory.
#[derive(Clone, Debug)]
pub struct StepMarking {
    config: StepMarkingConfig,
}

impl StepMarking {
    /// As the configuration has it.
    pub fn new(config: &StepMarkingConfig) -> StepMarking {
        StepMarking { config: config.clone() }
    }

    /// Judges an arrival; what cannot be marked enters while there is room.
    pub fn judge(&self, arrival: &Arrival) -> Verdict {
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
