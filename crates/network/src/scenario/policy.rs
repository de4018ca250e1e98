//! Policies of a port: kinds, parameters and their bounds.

use super::cake::CakeConfig;
use super::queue::{BlueConfig, CodelConfig, FqCodelConfig, PieConfig, QueueUnit, RedConfig, StepMarkingConfig};
use super::refusal::refuse_unless;
use super::schedulers::{DrrConfig, DualPi2Config, FqConfig, SfqConfig, StrictPriorityConfig, WeightedPriorityConfig};
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// Policy of a port.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum PolicyConfig {
    /// Drops exactly the cells or packets that find the buffer full.
    TailDrop {},
    /// Discards the rest of a frame after a lost cell.
    PartialPacketDiscard {
        /// Whether the last cell of a damaged frame is admitted, because it delimits the frame.
        keep_last: bool,
    },
    /// Early Packet Discard.
    Epd {
        /// R: fraction of the buffer above which new frames are dropped.
        threshold: f64,
        /// Whether the last cell of a damaged frame is admitted, because it delimits the frame.
        keep_last: bool,
    },
    /// Selective Drop.
    SelectiveDrop {
        /// R: fraction of the buffer above which frames may be dropped.
        threshold: f64,
        /// Z: load ratio above which a VC's frames are dropped.
        z: f64,
        /// Whether the last cell of a damaged frame is admitted, because it delimits the frame.
        keep_last: bool,
    },
    /// Fair Buffer Allocation.
    Fba {
        /// R: fraction of the buffer above which frames may be dropped.
        threshold: f64,
        /// Z: scale of the allowed load ratio.
        z: f64,
        /// Whether the last cell of a damaged frame is admitted, because it delimits the frame.
        keep_last: bool,
    },
    /// Random early detection: drops depend on the average queue.
    Red(RedConfig),
    /// PIE: drops depend on the queueing delay and on how it changes.
    Pie(PieConfig),
    /// Step marking: marks depend on the current queue; no drops.
    StepMarking(StepMarkingConfig),
    /// BLUE: drops depend on overflows and idle times.
    Blue(BlueConfig),
    /// CoDel: drops at departure depend on the sojourn time.
    Codel(CodelConfig),
    /// FQ-CoDel: one queue per flow, each with CoDel.
    FqCodel(FqCodelConfig),
    /// Deficit round robin over one queue per flow.
    Drr(DrrConfig),
    /// Stochastic fair queueing: round robin over hashed queues.
    Sfq(SfqConfig),
    /// Linux's fq: round robin over one queue per flow.
    Fq(FqConfig),
    /// Strict priority over one queue per class.
    StrictPriority(StrictPriorityConfig),
    /// Weighted round robin over one queue per class.
    WeightedPriority(WeightedPriorityConfig),
    /// DualPI2: a low-latency queue coupled with a classic one.
    #[serde(rename = "dualpi2")]
    #[strum(serialize = "dualpi2")]
    DualPi2(DualPi2Config),
    /// ACK filter: an arriving ACK replaces earlier ACKs that it makes redundant.
    AckFilter {},
    /// Drop from front: a packet that finds the buffer full displaces the oldest packets.
    HeadDrop {},
    /// CAKE: a shaper, tins, and fair queueing among hosts and flows with COBALT.
    Cake(CakeConfig),
}

impl PolicyConfig {
    /// Returns whether the policy exists for cells.
    pub fn takes_cells(&self) -> bool {
        match self {
            PolicyConfig::TailDrop {}
            | PolicyConfig::PartialPacketDiscard { .. }
            | PolicyConfig::Epd { .. }
            | PolicyConfig::SelectiveDrop { .. }
            | PolicyConfig::Fba { .. } => true,
            PolicyConfig::Red(red) => red.unit == QueueUnit::Cells,
            _ => false,
        }
    }

    /// Returns whether the policy exists for IP packets.
    pub fn takes_packets(&self) -> bool {
        match self {
            PolicyConfig::PartialPacketDiscard { .. } | PolicyConfig::Epd { .. } => false,
            PolicyConfig::Red(red) => red.unit != QueueUnit::Cells,
            _ => true,
        }
    }

    /// Returns whether the policy never marks, and decides by the occupancy alone.
    pub fn depends_on_occupancy_only(&self) -> bool {
        matches!(
            self,
            PolicyConfig::TailDrop {} | PolicyConfig::SelectiveDrop { .. } | PolicyConfig::Fba { .. }
        )
    }

    /// Returns whether the policy decides by the occupancy alone and treats frames as a whole.
    pub fn drops_whole_frames(&self) -> bool {
        matches!(
            self,
            PolicyConfig::PartialPacketDiscard { .. } | PolicyConfig::Epd { .. }
        )
    }

    /// Returns whether the policy is a queue discipline, which decides at dequeue.
    pub fn serves(&self) -> bool {
        !self.depends_on_occupancy_only()
            && !self.drops_whole_frames()
            && !matches!(
                self,
                PolicyConfig::Red(_) | PolicyConfig::Pie(_) | PolicyConfig::StepMarking(_) | PolicyConfig::Blue(_)
            )
    }

    /// Returns whether the policy admits every packet unmarked at a port where no packet ever waits. Such a port needs
    /// no policy (`queueless`).
    pub fn is_inert_without_queue(&self) -> bool {
        match self {
            PolicyConfig::TailDrop {} | PolicyConfig::PartialPacketDiscard { .. } => true,
            // Selective Drop and FBA drop only while the occupancy is above a positive fraction of the buffer, and here
            // the buffer is empty.
            PolicyConfig::Epd { .. } | PolicyConfig::SelectiveDrop { .. } | PolicyConfig::Fba { .. } => true,
            // The average queue stays at zero, and `min` is positive.
            PolicyConfig::Red(red) => red.min > 0.0,
            // A backlog of zero is never above `least_backlog_bytes`.
            PolicyConfig::Pie(_) => true,
            PolicyConfig::StepMarking(step) => step.threshold > 0,
            // The probability rises from zero only at an overflow.
            PolicyConfig::Blue(_) => true,
            // If no packet waits behind a packet, the backlog is below `least_backlog_bytes`, so the target has no
            // effect.
            PolicyConfig::Codel(_) | PolicyConfig::FqCodel(_) => true,
            PolicyConfig::Fq(fq) => fq.flow_limit > 0,
            // Schedulers choose between queues, but if no packet ever waits, at most one queue holds a packet.
            PolicyConfig::Drr(_)
            | PolicyConfig::Sfq(_)
            | PolicyConfig::StrictPriority(_)
            | PolicyConfig::WeightedPriority(_) => true,
            PolicyConfig::DualPi2(dual) => dual.is_inert_without_queue(),
            PolicyConfig::AckFilter {} | PolicyConfig::HeadDrop {} => true,
            PolicyConfig::Cake(_) => !self.shapes(),
        }
    }

    /// Returns whether the policy may withhold packets from an idle transmitter.
    pub fn shapes(&self) -> bool {
        matches!(self, PolicyConfig::Cake(cake) if cake.rate_bps.is_some())
    }

    /// Returns the names of the queues among which the policy divides packets by their class or codepoint, and which the
    /// results count separately; none for other policies.
    pub fn queue_names(&self) -> Vec<String> {
        match self {
            PolicyConfig::DualPi2(_) => vec!["low-latency".to_owned(), "classic".to_owned()],
            PolicyConfig::Cake(cake) => cake.tins.names(),
            _ => (0..self.classes().unwrap_or(0))
                .map(|class| format!("class{class}"))
                .collect(),
        }
    }

    /// Returns the number of classes, or None for a policy without classes.
    pub fn classes(&self) -> Option<u32> {
        match self {
            PolicyConfig::StrictPriority(strict) => Some(strict.classes),
            PolicyConfig::WeightedPriority(weighted) => Some(weighted.weights.len() as u32),
            _ => None,
        }
    }

    /// Returns the first problem with the parameters, if any.
    pub fn problem(&self) -> Option<Problem> {
        match self {
            PolicyConfig::TailDrop {}
            | PolicyConfig::PartialPacketDiscard { .. }
            | PolicyConfig::AckFilter {}
            | PolicyConfig::HeadDrop {} => None,
            PolicyConfig::Epd { threshold, .. } => threshold_problem(*threshold),
            PolicyConfig::SelectiveDrop { threshold, z, .. } | PolicyConfig::Fba { threshold, z, .. } => {
                threshold_problem(*threshold)
                    .or_else(|| refuse_unless(*z > 0.0 && z.is_finite(), "z", z, "needs a positive number"))
            }
            PolicyConfig::Red(red) => red.problem(),
            PolicyConfig::Pie(pie) => pie.problem(),
            PolicyConfig::StepMarking(step) => refuse_unless(step.threshold > 0, "threshold", 0, "needs at least 1")
                .or_else(|| {
                    let of_packets = step.unit != QueueUnit::Cells;
                    refuse_unless(of_packets, "unit", "cells", "needs packets or bytes")
                }),
            PolicyConfig::Blue(blue) => blue.problem(),
            PolicyConfig::Codel(codel) => codel.problem(),
            PolicyConfig::FqCodel(fq) => fq.problem(),
            PolicyConfig::Drr(drr) => drr.problem(),
            PolicyConfig::Sfq(sfq) => sfq.problem(),
            PolicyConfig::Fq(fq) => fq.problem(),
            PolicyConfig::StrictPriority(strict) => strict.problem(),
            PolicyConfig::WeightedPriority(weighted) => weighted.problem(),
            PolicyConfig::DualPi2(dual) => dual.problem(),
            PolicyConfig::Cake(cake) => cake.problem(),
        }
    }
}

fn threshold_problem(threshold: f64) -> Option<Problem> {
    let fits = threshold > 0.0 && threshold <= 1.0;
    refuse_unless(fits, "threshold", threshold, "needs a fraction of the buffer in (0, 1]")
}
