//! Schedulers between the classes of a port. They are work-conserving, and decide only while both classes hold cells.

pub mod class;
mod guaranteed_rate;

pub use class::Class;
pub use guaranteed_rate::{GuaranteedRate, ONE};
use longpipe_tcp::described::Described;
use serde::{Deserialize, Serialize};

/// Schedulers between the classes of a port.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, Described)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SchedulerConfig {
    /// A single queue for UBR only.
    Fifo {},
    /// One queue each for VBR and UBR; VBR has strict priority (ATM Forum/97-0424 section 3, GR = 0).
    Priority {},
    /// One queue each for VBR and UBR; UBR has a share of the slots while both wait (ATM Forum/97-0424 section 3).
    GuaranteedRate {
        /// A share of the slots for UBR while VBR cells wait [fraction of the link]; ATM Forum/97-0424 GR.
        #[field(range = "[0, 1]")]
        share_ppb: u64,
    },
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
