//! Step marking: marks packets that find a queue of at least K (RFC 8257 section 3.1).

use super::aqm::{Algorithm, AtEnqueue};
use super::parameters::{Decides, Facts, Marks, Parameters, QueueUnit};
use super::{Arrival, Verdict};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// Marks packets that find a queue of K or more, and drops only when the buffer is full (RFC 8257 section 3.1).
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "step marking")]
pub struct StepMarkingConfig {
    /// Marking threshold K [unit]; RFC 8257 section 4.1 recommends C RTT/7.
    #[field(range = "[1, 1_000_000_000_000]")]
    pub threshold: u64,
    /// Unit of the thresholds.
    #[field(values("packets", "bytes"), default = "packets")]
    pub unit: QueueUnit,
}

impl Parameters for StepMarkingConfig {
    const FACTS: Facts = Facts::new(Decides::AtEnqueue).marking(Marks::Capable);

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

impl AtEnqueue for StepMarking {
    /// A packet that is not ECN-capable is admitted if the buffer has room.
    fn decide(&mut self, arrival: &Arrival, _draw: impl FnMut() -> f64) -> Verdict {
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

    /// No packet waits at an idle line, and the threshold is at least 1.
    fn ignores_idle_arrivals(&self) -> bool {
        true
    }
}

impl StepMarking {
    /// Creates the configured policy.
    pub fn new(config: &StepMarkingConfig) -> StepMarking {
        StepMarking { config: config.clone() }
    }
}
