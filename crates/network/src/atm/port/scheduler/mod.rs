//! Schedulers between the classes of a port. They are work-conserving, and decide only while both classes hold cells.

mod guaranteed_rate;

use crate::atm::port::class::Class;
use crate::scenario::SchedulerConfig;
pub use guaranteed_rate::{GuaranteedRate, ONE};

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
