//! Schedulers between the classes of a port. They are work-conserving, and decide only while both classes hold cells.

pub mod class;
mod guaranteed_rate;

pub use class::Class;
pub use guaranteed_rate::{GuaranteedRate, ONE};
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// Schedulers between the classes of a port.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, VariantNames)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[strum(serialize_all = "kebab-case")]
pub enum SchedulerConfig {
    /// One queue, only for UBR.
    Fifo {},
    /// One queue per class; VBR has strict priority over UBR.
    Priority {},
    /// One queue per class; while both queues hold cells, UBR gets a guaranteed share of the slots.
    GuaranteedRate {
        /// Guaranteed share of UBR (GR) [parts per billion].
        share_ppb: u64,
    },
}

impl SchedulerConfig {
    /// Returns the first invalid parameter, if any.
    pub fn problem(&self) -> Option<Problem> {
        match *self {
            SchedulerConfig::GuaranteedRate { share_ppb } if share_ppb > ONE => Some(Problem::new(
                "share",
                share_ppb,
                "needs at most one billion parts per billion",
            )),
            _ => None,
        }
    }
}

/// The scheduler of a port with queues for VBR and UBR.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// Strict priority for VBR (gr-97 section 3, GR = 0).
    Priority,
    /// A guaranteed share of the slots for UBR.
    GuaranteedRate(GuaranteedRate),
}

impl Scheduler {
    /// Creates the configured scheduler; None for a FIFO, which has one class.
    pub fn new(config: &SchedulerConfig) -> Option<Scheduler> {
        match *config {
            SchedulerConfig::Fifo {} => None,
            SchedulerConfig::Priority {} => Some(Scheduler::Priority),
            SchedulerConfig::GuaranteedRate { share_ppb } => {
                Some(Scheduler::GuaranteedRate(GuaranteedRate::new(share_ppb)))
            }
        }
    }

    /// Returns the class of the next slot while both classes hold cells.
    #[inline]
    pub fn choose(&mut self) -> Class {
        match self {
            Scheduler::Priority => Class::Vbr,
            Scheduler::GuaranteedRate(guaranteed_rate) => guaranteed_rate.choose(),
        }
    }
}
