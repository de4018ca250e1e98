//! Parameters of a train port, and its construction. A train port processes a frame as a train, one cell per batch, and
//! simulates only the first and the last cell of each train as events (its edges).

use crate::atm::port::classes::VbrQueue;
use crate::atm::port::trains::clock::{BatchClock, Known};
use crate::atm::port::trains::occupancy::OccupancyHistory;
use crate::atm::port::trains::outlet::{AllSlots, Outlet, SharedWithVbr};
use crate::atm::port::trains::running::Batch;
use crate::atm::port::trains::vc::TrainVc;
use crate::atm::port::trains::TrainPort;
use crate::impairments::loss::Loss;
use crate::packets::{Circuit, Link};
use crate::policies::Policy;
use crate::report::cells::QueueCounters;
use crate::scenario::link_ends::LinkEnd;
use crate::slots::{GridSums, SlotGrid, StartSum};
use crate::ties::TieRule;
use longpipe_events::{Ring, Span};

/// Parameters of a port.
#[derive(Clone, Debug)]
pub struct TrainParameters {
    /// Lane in which the first and last cells of the port's frames are queued.
    pub lane: usize,
    /// Slots of the interfaces that feed the port.
    pub input: SlotGrid,
    /// Propagation delay from the interfaces.
    pub input_delay: Span,
    /// Slots of the port.
    pub grid: SlotGrid,
    /// Propagation delay of the wire that the port feeds.
    pub delay: Span,
    /// Buffer size K [cell]; None means unlimited.
    pub capacity: Option<u64>,
    /// Buffer policy.
    pub policy: Policy,
    /// Losses injected before the buffer; None if there are none.
    pub loss: Option<Box<Loss>>,
    /// Order in which simultaneous cells are processed.
    pub ties: TieRule,
    /// VC, link and link end of each circuit, indexed by the circuit's number at the port.
    pub circuits: Vec<(Circuit, Link, LinkEnd)>,
    /// First slot of the port whose cell does not reach the end of its path by the end of the run.
    pub horizon: u64,
    /// First slot of the port that does not end by the end of the run.
    pub over: u64,
    /// Queue of VBR cells, which share the slots; None if the port has no VBR circuits.
    pub vbr: Option<VbrQueue>,
}

impl TrainParameters {
    /// Builds an empty port from its parameters.
    pub fn port(self) -> TrainPort {
        let circuits = self.circuits.len();
        let clock = BatchClock::new(self.input, self.input_delay, self.grid);
        // The slots of the first batch are the first from which bounds on those of later batches are derived.
        let known = Known {
            batch: 0,
            slots: clock.slots_of(0),
        };
        TrainPort {
            grid: self.grid,
            delay: self.delay,
            lane: self.lane,
            firsts: Ring::default(),
            ties: self.ties,
            capacity: self.capacity.unwrap_or(u64::MAX),
            after_loss: self.policy.after_loss,
            no_refusal_up_to: self.policy.no_refusal_up_to(self.capacity.unwrap_or(u64::MAX)),
            history: self
                .policy
                .needs_vc_occupancies()
                .then(|| Box::new(OccupancyHistory::new(circuits))),
            policy: self.policy,
            vcs: self.circuits.into_iter().map(TrainVc::new).collect(),
            running: Vec::new(),
            broken: false,
            // No batch has arrived: the number differs from that of each batch.
            batch: Batch {
                number: u64::MAX,
                ..Batch::default()
            },
            known,
            // While cells arrive in each batch, X cannot fall if at most one slot passes between two batches.
            plain: clock.max <= 1 && self.loss.is_none() && self.vbr.is_none(),
            loss: self.loss,
            clock,
            outlet: match self.vbr {
                None => Outlet::AllSlots(AllSlots::new(self.grid)),
                Some(vbr) => Outlet::SharedWithVbr(Box::new(SharedWithVbr::new(self.grid, vbr, self.over))),
            },
            admitted: 0,
            arrivals: GridSums::new(self.input),
            arrival_time: StartSum::default(),
            horizon: self.horizon,
            over: self.over,
            late: Vec::new(),
            counters: QueueCounters::default(),
            loss_of_last: None,
        }
    }
}
