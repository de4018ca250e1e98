//! Schedulers of a port, between its classes or between its VCs, and the guarantees of VCs. All schedulers are
//! work-conserving; those between classes decide only while both classes hold cells.

pub mod class;
pub mod fair_queueing;
pub mod frame_gcra;
mod guaranteed_rate;
pub mod service;

pub use class::Class;
pub use guaranteed_rate::{GuaranteedRate, ONE};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// Schedulers of a port, between its classes or between its VCs.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
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
    /// One queue per VC; each gets its minimum cell rate and an equal share of the rest (Golestani 1994).
    Wfq {
        /// What a VC sends at a time: a cell, or an AAL5 frame all of whose cells have arrived.
        #[field(default = "cells")]
        unit: ServiceUnit,
    },
}

/// Unit that a scheduler of VCs sends at a time.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceUnit {
    /// A cell.
    Cells,
    /// A frame.
    Frames,
}

impl SchedulerConfig {
    /// Returns whether a port has a queue for VBR.
    pub(crate) fn has_vbr_queue(&self) -> bool {
        Scheduler::new(self).is_some()
    }

    /// Returns what VCs send at a time, if the port has a queue per VC.
    pub(crate) fn unit_of_vcs(&self) -> Option<ServiceUnit> {
        match *self {
            SchedulerConfig::Wfq { unit } => Some(unit),
            _ => None,
        }
    }

    /// Returns the name of the kind.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            SchedulerConfig::Fifo {} => "fifo",
            SchedulerConfig::Priority {} => "priority",
            SchedulerConfig::GuaranteedRate { .. } => "guaranteed-rate",
            SchedulerConfig::Wfq { .. } => "wfq",
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
    /// Creates the configured scheduler; None if the port has one class.
    pub fn new(config: &SchedulerConfig) -> Option<Scheduler> {
        match *config {
            SchedulerConfig::Fifo {} | SchedulerConfig::Wfq { .. } => None,
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
