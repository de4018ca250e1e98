//! What a port refuses, marks or drops, each kind with its parameters and what they may be.

use super::queue::{BlueConfig, CodelConfig, FqCodelConfig, PieConfig, QueueUnit, RedConfig, StepMarkingConfig};
use super::refusal::refuse_unless;
use super::schedulers::{DrrConfig, DualPi2Config, FqConfig, SfqConfig, StrictPriorityConfig, WeightedPriorityConfig};
use longpipe_reading::Read;
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// Buffer policies of a port.
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum PolicyConfig {
    /// A cell that finds the buffer full is lost; nothing else is.
    TailDrop {},
    /// After a lost cell the rest of its frame is refused.
    PartialPacketDiscard {
        /// Let the last cell of a damaged frame in, so that it delimits.
        keep_last: bool,
    },
    /// Early Packet Discard.
    Epd {
        /// R: fraction of the buffer above which new frames are refused.
        threshold: f64,
        /// Let the last cell of a damaged frame in, so that it delimits.
        keep_last: bool,
    },
    /// Selective Drop.
    SelectiveDrop {
        /// R: fraction of the buffer above which frames may be refused.
        threshold: f64,
        /// Z: load ratio above which a VC's frames are refused.
        z: f64,
        /// Let the last cell of a damaged frame in, so that it delimits.
        keep_last: bool,
    },
    /// Fair Buffer Allocation.
    Fba {
        /// R: fraction of the buffer above which frames may be refused.
        threshold: f64,
        /// Z: scale of the allowed load ratio.
        z: f64,
        /// Let the last cell of a damaged frame in, so that it delimits.
        keep_last: bool,
    },
    /// Random early detection, by the mean queue.
    Red(RedConfig),
    /// By the delay and how it changes.
    Pie(PieConfig),
    /// By the queue as it is, marks alone.
    StepMarking(StepMarkingConfig),
    /// By overflow and idleness.
    Blue(BlueConfig),
    /// Controlled delay, at departure.
    Codel(CodelConfig),
    /// A queue for each flow, each under controlled delay.
    FqCodel(FqCodelConfig),
    /// A queue for each flow, in turn.
    Drr(DrrConfig),
    /// Queues in turn among which a hash spreads flows.
    Sfq(SfqConfig),
    /// A queue for each flow in turn, as Linux has it.
    Fq(FqConfig),
    /// A queue for each class, the first ones first.
    StrictPriority(StrictPriorityConfig),
    /// A queue for each class, in turn by weight.
    WeightedPriority(WeightedPriorityConfig),
    /// A queue of low latency coupled with a classic one.
    #[serde(rename = "dualpi2")]
    #[strum(serialize = "dualpi2")]
    DualPi2(DualPi2Config),
    /// ACKs take the place of earlier ones.
    AckFilter {},
}

impl PolicyConfig {
    /// Whether it acts on cells.
    pub fn takes_cells(&self) -> bool {
        match self {
            PolicyConfig::TailDrop {}
            | PolicyConfig::PartialPacketDiscard { .. }
            | PolicyConfig::Epd { .. }
            | PolicyConfig::SelectiveDrop { .. }
            | PolicyConfig::Fba { .. } => true,
            PolicyConfig::Red(red) => red.unit == QueueUnit::Cells,
            PolicyConfig::Pie(_)
            | PolicyConfig::StepMarking(_)
            | PolicyConfig::Blue(_)
            | PolicyConfig::Codel(_)
            | PolicyConfig::FqCodel(_)
            | PolicyConfig::Drr(_)
            | PolicyConfig::Fq(_)
            | PolicyConfig::Sfq(_)
            | PolicyConfig::StrictPriority(_)
            | PolicyConfig::WeightedPriority(_)
            | PolicyConfig::DualPi2(_)
            | PolicyConfig::AckFilter {} => false,
        }
    }

    /// Whether it acts on IP packets.
    pub fn takes_packets(&self) -> bool {
        match self {
            PolicyConfig::PartialPacketDiscard { .. } | PolicyConfig::Epd { .. } => false,
            PolicyConfig::Red(red) => red.unit != QueueUnit::Cells,
            _ => true,
        }
    }

    /// Whether it refuses by what the port holds and does nothing else.
    pub fn looks_alone(&self) -> bool {
        matches!(
            self,
            PolicyConfig::TailDrop {} | PolicyConfig::SelectiveDrop { .. } | PolicyConfig::Fba { .. }
        )
    }

    /// Whether it goes by what it holds alone, and knows frames.
    pub fn looks_at_frames(&self) -> bool {
        matches!(
            self,
            PolicyConfig::PartialPacketDiscard { .. } | PolicyConfig::Epd { .. }
        )
    }

    /// Whether it decides when packets leave, rather than when they come.
    pub fn serves(&self) -> bool {
        matches!(
            self,
            PolicyConfig::Codel(_)
                | PolicyConfig::FqCodel(_)
                | PolicyConfig::Drr(_)
                | PolicyConfig::Fq(_)
                | PolicyConfig::Sfq(_)
                | PolicyConfig::StrictPriority(_)
                | PolicyConfig::WeightedPriority(_)
                | PolicyConfig::DualPi2(_)
                | PolicyConfig::AckFilter {}
        )
    }

    /// Whether it forwards, unmarked, every packet that finds the line idle and nothing queued, if no packet ever finds anything
    /// else there. A port that meets this condition needs no discipline (`queueless`).
    pub fn is_inert_without_queue(&self) -> bool {
        match self {
            PolicyConfig::TailDrop {} | PolicyConfig::PartialPacketDiscard { .. } => true,
            // They refuse above a positive share of the buffer, and nothing is held.
            PolicyConfig::Epd { .. } | PolicyConfig::SelectiveDrop { .. } | PolicyConfig::Fba { .. } => true,
            // The mean queue stays at zero, and `min` is positive.
            PolicyConfig::Red(red) => red.min > 0.0,
            // A backlog of zero is never above `least_backlog_bytes`.
            PolicyConfig::Pie(_) => true,
            PolicyConfig::StepMarking(step) => step.threshold > 0,
            // Only an overflow raises its probability from zero.
            PolicyConfig::Blue(_) => true,
            // A packet that leaves nothing behind is below `least_backlog_bytes`, whatever the target.
            PolicyConfig::Codel(_) | PolicyConfig::FqCodel(_) => true,
            PolicyConfig::Fq(fq) => fq.flow_limit > 0,
            // They choose between queues, and only one holds a packet.
            PolicyConfig::Drr(_)
            | PolicyConfig::Sfq(_)
            | PolicyConfig::StrictPriority(_)
            | PolicyConfig::WeightedPriority(_) => true,
            PolicyConfig::DualPi2(dual) => dual.is_inert_without_queue(),
            PolicyConfig::AckFilter {} => true,
        }
    }

    /// How many classes of flows it has, if it tells classes apart.
    pub fn classes(&self) -> Option<u32> {
        match self {
            PolicyConfig::StrictPriority(strict) => Some(strict.classes),
            PolicyConfig::WeightedPriority(weighted) => Some(weighted.weights.len() as u32),
            _ => None,
        }
    }

    /// What is wrong with it, if anything is.
    pub fn problem(&self) -> Option<Problem> {
        match self {
            PolicyConfig::TailDrop {} | PolicyConfig::PartialPacketDiscard { .. } | PolicyConfig::AckFilter {} => None,
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
        }
    }
}

fn threshold_problem(threshold: f64) -> Option<Problem> {
    let fits = threshold > 0.0 && threshold <= 1.0;
    refuse_unless(fits, "threshold", threshold, "needs a fraction of the buffer in (0, 1]")
}
