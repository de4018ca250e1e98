//! Step marking: marks packets that find a queue of at least K (RFC 8257 section 3.1).

use super::aqm::Algorithm;
use super::parameters::{Decides, Facts, Marks, Parameters, QueueUnit};
use super::{Arrival, Verdict};
use crate::bounds::refuse_unless;
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};

/// Step marking (RFC 8257 section 3.1).
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct StepMarkingConfig {
    /// Threshold K [packet or byte] at and above which arrivals are marked.
    pub threshold: u64,
    /// Unit of the threshold.
    pub unit: QueueUnit,
}

impl Parameters for StepMarkingConfig {
    const FACTS: Facts = Facts::new(Decides::AtEnqueue).marking(Marks::Capable);

    fn problem(&self) -> Option<Problem> {
        refuse_unless(self.threshold > 0, "threshold", 0, "needs at least 1").or_else(|| {
            let of_packets = self.unit != QueueUnit::Cells;
            refuse_unless(of_packets, "unit", "cells", "needs packets or bytes")
        })
    }

    fn is_inert_without_queue(&self) -> bool {
        self.threshold > 0
    }

    fn algorithm(&self, _rate_bps: u64) -> Option<(Algorithm, bool)> {
        Some((Algorithm::StepMarking(StepMarking::new(self)), true))
    }
}

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
