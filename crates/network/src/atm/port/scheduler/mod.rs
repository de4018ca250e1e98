//! Which class sends the next cell while both wait; while one waits alone, it sends: work is conserved.

mod guaranteed_rate;

use crate::atm::port::class::Class;
use crate::scenario::SchedulerConfig;
pub use guaranteed_rate::{GuaranteedRate, ONE};

/// The scheduler of a port with queues for VBR and UBR.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// VBR before UBR, always (gr-97 section 3, GR = 0).
    Priority,
    /// A share of the slots for UBR.
    GuaranteedRate(GuaranteedRate),
}

impl Scheduler {
    /// The scheduler named by the configuration; a FIFO has one class and none.
    pub fn new(config: &SchedulerConfig) -> Option<Scheduler> {
        match *config {
            SchedulerConfig::Fifo {} => None,
            SchedulerConfig::Priority {} => Some(Scheduler::Priority),
            SchedulerConfig::GuaranteedRate { share_ppb } => {
                Some(Scheduler::GuaranteedRate(GuaranteedRate::new(share_ppb)))
            }
        }
    }

    /// Whose the next slot is, both classes waiting.
    #[inline]
    pub fn choose(&mut self) -> Class {
        match self {
            Scheduler::Priority => Class::Vbr,
            Scheduler::GuaranteedRate(guaranteed_rate) => guaranteed_rate.choose(),
        }
    }
}
