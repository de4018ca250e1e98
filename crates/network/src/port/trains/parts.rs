//! How a port of trains is put together.

use super::batch::Batch;
use super::calm::Known;
use super::clock::Clock;
use super::ledger::Ledger;
use super::outlet::{Alone, Beside, Outlet};
use super::vc::Vc;
use super::TrainPort;
use crate::loss::Loss;
use crate::port::admission::QueueCounters;
use crate::port::buffer::Policy;
use crate::port::classes::VbrQueue;
use crate::ring::Ring;
use crate::ties::TieRule;
use crate::topology::LinkEnd;
use longpipe_events::{GridSums, SlotGrid, Span, StartSum};

/// What a port is made of.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Where its frames' edges queue up.
    pub lane: usize,
    /// Slots of the interfaces that feed it.
    pub input: SlotGrid,
    /// Propagation from them.
    pub input_delay: Span,
    /// Its own slots.
    pub grid: SlotGrid,
    /// Propagation behind it.
    pub delay: Span,
    /// K [cell]; none: unlimited.
    pub capacity: Option<u64>,
    /// What it refuses.
    pub policy: Policy,
    /// What it loses by force.
    pub loss: Option<Box<Loss>>,
    /// Order of simultaneous cells.
    pub ties: TieRule,
    /// VC, link and link's end, by number at the port.
    pub circuits: Vec<(u32, u32, LinkEnd)>,
    /// First slot whose cell has not left the path by the end of the run.
    pub horizon: u64,
    /// VBR's queue beside its own, and the slots that are over by the end of the run.
    pub vbr: Option<(VbrQueue, u64)>,
}

impl TrainPort {
    /// An empty port.
    pub fn new(parts: Parts) -> TrainPort {
        let circuits = parts.circuits.len();
        let clock = Clock::new(parts.input, parts.input_delay, parts.grid);
        let known = Known {
            batch: 0,
            slots: clock.slots_of(0),
        };
        TrainPort {
            grid: parts.grid,
            delay: parts.delay,
            lane: parts.lane,
            firsts: Ring::default(),
            ties: parts.ties,
            capacity: parts.capacity.unwrap_or(u64::MAX),
            after_loss: parts.policy.after_loss(),
            calm: parts.policy.calm(parts.capacity.unwrap_or(u64::MAX)),
            ledger: parts.policy.asks_for_vcs().then(|| Box::new(Ledger::new(circuits))),
            policy: parts.policy,
            vcs: parts.circuits.into_iter().map(Vc::new).collect(),
            running: Vec::new(),
            broken: false,
            batch: Batch {
                number: u64::MAX,
                ..Batch::default()
            },
            known,
            plain: clock.most <= 1 && parts.loss.is_none() && parts.vbr.is_none(),
            loss: parts.loss,
            clock,
            outlet: match parts.vbr {
                None => Outlet::Alone(Alone::new(parts.grid)),
                Some((vbr, ended)) => Outlet::Beside(Box::new(Beside::new(parts.grid, vbr, ended))),
            },
            admitted: 0,
            arrivals: GridSums::new(parts.input),
            arrival_time: StartSum::default(),
            horizon: parts.horizon,
            late: Vec::new(),
            counters: QueueCounters::default(),
        }
    }
}
