//! Admission of cells to a queue: buffer policy, capacity, injected losses, and per-VC accounting.

use crate::atm::port::dfba::DfbaOfFrames;
use crate::atm::port::frame::FrameState;
use crate::atm::port::red::RedOfFrames;
use crate::impairments::loss::Loss;
use crate::packets::drops::DropCause;
use crate::policies::{AfterLoss, Occupancy, Policy};
use crate::report::cells::QueueCounters;
use longpipe_events::Time;

/// Admission state of one VC.
#[derive(Clone, Copy, Debug, Default)]
struct VcState {
    held: u32,
    frame: FrameState,
}

/// Active queue management for frames, which keeps state or draws random numbers.
#[derive(Clone, Debug)]
pub enum AqmOfFrames {
    /// RED.
    Red(Box<RedOfFrames>),
    /// DFBA.
    Dfba(Box<DfbaOfFrames>),
}

impl AqmOfFrames {
    /// Returns whether a frame of VC `local` is rejected.
    fn refuses(&mut self, now: Time, local: u32, tagged: bool, occupancy: Occupancy, vcs: &[VcState]) -> bool {
        match self {
            AqmOfFrames::Red(red) => red.refuses(now, local, occupancy),
            AqmOfFrames::Dfba(dfba) => dfba.refuses(local as usize, tagged, occupancy, |vc| vcs[vc].held > 0),
        }
    }
}

/// Decides whether each arriving cell is admitted to a queue, and counts the outcomes.
#[derive(Clone, Debug)]
pub struct Admission {
    /// Buffer size K [cell].
    capacity: u64,
    policy: Policy,
    after_loss: AfterLoss,
    aqm: Option<AqmOfFrames>,
    loss: Option<Box<Loss>>,
    active_vcs: u64,
    vcs: Vec<VcState>,
    /// Cause of the latest loss.
    cause: DropCause,
    /// Counters, except `cells_out` and the counters that the queue itself maintains.
    pub counters: QueueCounters,
}

impl Admission {
    /// Creates the admission state for `vcs` virtual circuits; if `capacity` is None, the queue is unlimited.
    pub fn new(capacity: Option<u64>, policy: Policy, loss: Option<Box<Loss>>, vcs: usize) -> Admission {
        Admission {
            capacity: capacity.unwrap_or(u64::MAX),
            after_loss: policy.after_loss,
            policy,
            aqm: None,
            loss,
            active_vcs: 0,
            vcs: vec![VcState::default(); vcs],
            cause: DropCause::Overflow,
            counters: QueueCounters::default(),
        }
    }

    /// Returns the cause of the latest loss. For the later cells of a frame that overflowed, the cause is the overflow.
    pub fn cause_of_loss(&self) -> DropCause {
        self.cause
    }

    /// Adds active queue management.
    pub fn with_aqm(self, aqm: Option<AqmOfFrames>) -> Admission {
        Admission { aqm, ..self }
    }

    /// Returns whether a cell of VC `local` is admitted to the queue. `last` is true for the frame's last cell, `tagged`
    /// is true for cells with CLP = 1, and `held` is the occupancy X before the cell. `on_frame` is invoked with the queue
    /// length X at the first cell of each frame.
    #[inline(always)]
    pub fn admits(
        &mut self,
        now: Time,
        last: bool,
        tagged: bool,
        local: u32,
        held: u64,
        on_frame: impl FnOnce(u64),
    ) -> bool {
        let frame = self.decide(now, last, tagged, local, held, on_frame);
        frame.is_some_and(|frame| self.enters(frame, last, local, held))
    }

    /// Applies the policy to a cell. Returns the state that its frame had before the cell; `on_frame` is as in
    /// `admits`.
    #[inline(always)]
    pub(super) fn decide(
        &mut self,
        now: Time,
        last: bool,
        tagged: bool,
        local: u32,
        held: u64,
        on_frame: impl FnOnce(u64),
    ) -> Option<FrameState> {
        self.counters.cells_in += 1;
        let VcState {
            held: vc_held,
            mut frame,
        } = self.vcs[local as usize];
        if frame == FrameState::Between {
            self.counters.frames_in += 1;
            on_frame(held);
            let occupancy = Occupancy {
                held,
                vc_held: u64::from(vc_held),
                active_vcs: self.active_vcs,
            };
            frame = if self.loss.as_mut().is_some_and(|loss| loss.loses(now)) {
                FrameState::Lost
            } else if self.policy.refuses(occupancy)
                || (self.aqm.as_mut()).is_some_and(|aqm| aqm.refuses(now, local, tagged, occupancy, &self.vcs))
            {
                FrameState::Refused
            } else {
                FrameState::Admitted
            };
        }
        self.vcs[local as usize].frame = if last { FrameState::Between } else { frame };
        let dropped = frame != FrameState::Admitted && self.drops_rest(frame, last);
        (!dropped).then_some(frame)
    }

    /// Returns whether there is room for a cell to which `decide` has applied the policy.
    #[inline(always)]
    pub(super) fn enters(&mut self, frame: FrameState, last: bool, local: u32, held: u64) -> bool {
        if held >= self.capacity {
            self.counters.lost_overflow += 1;
            self.cause = DropCause::Overflow;
            self.damage(frame, last, local);
            return false;
        }
        let vc = &mut self.vcs[local as usize];
        self.active_vcs += u64::from(vc.held == 0);
        vc.held += 1;
        self.counters.peak_queue = self.counters.peak_queue.max(held + 1);
        true
    }

    /// Returns whether a cell of a damaged frame is discarded.
    fn drops_rest(&mut self, frame: FrameState, last: bool) -> bool {
        let (lost, cause) = match frame {
            FrameState::Refused => (&mut self.counters.lost_aqm, DropCause::Aqm),
            FrameState::Lost => (&mut self.counters.lost_injected, DropCause::InjectedLoss),
            FrameState::Discarded if !(last && self.after_loss == AfterLoss::Discard { keep_last: true }) => {
                (&mut self.counters.lost_discarded, DropCause::Overflow)
            }
            FrameState::Between | FrameState::Admitted | FrameState::Damaged | FrameState::Discarded => return false,
        };
        *lost += 1;
        self.cause = cause;
        true
    }

    /// Records the loss of a cell to which `decide` has applied the policy.
    pub(super) fn damage(&mut self, frame: FrameState, last: bool, local: u32) {
        self.counters.frames_damaged += u64::from(frame == FrameState::Admitted);
        if !last {
            self.vcs[local as usize].frame = match self.after_loss {
                AfterLoss::Admit => FrameState::Damaged,
                AfterLoss::Discard { .. } => FrameState::Discarded,
            };
        }
    }

    /// Records the departure of a cell of VC `local` at time `at`.
    #[inline(always)]
    pub fn release(&mut self, local: u32, at: Time) {
        let vc = &mut self.vcs[local as usize];
        vc.held -= 1;
        if vc.held == 0 {
            self.active_vcs -= 1;
            if let Some(AqmOfFrames::Red(red)) = &mut self.aqm {
                red.emptied(local, at);
            }
        }
    }

    /// Returns the occupancy X_i of VC `local` [cell].
    pub fn vc_held(&self, local: usize) -> u64 {
        u64::from(self.vcs[local].held)
    }
}
