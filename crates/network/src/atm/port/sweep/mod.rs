//! Sweep port: a switch's output port that processes many cells in one pass (a sweep), without an event per cell. A
//! sweep processes all arrivals up to a time before which every arrival is known.
//!
//! Consecutive cells of one frame, with no cell of another input between them, are admitted in one step if (1) none of
//! them can find the buffer full, (2) no slot remains unused and (3) the queue stays below its peak length. Otherwise
//! they are processed one by one, as in cell-by-cell simulation.

mod final_counters;
mod holding;
mod intake;
mod run;
mod vc;

use crate::atm::port::trains::Late;
use crate::impairments::loss::Loss;
use crate::packets::drops::DropCause;
use crate::packets::{Circuit, Link};
use crate::policies::{AfterLoss, Policy};
use crate::report::cells::QueueCounters;
use crate::slots::{GridSums, SlotCursor, SlotGrid, StartSum};
use crate::ties::TieRule;
pub use final_counters::SweepCounters;
use holding::Holding;
use longpipe_events::{Order, Span, Time};
pub use run::{CellRun, Input, Stream};
use std::sync::Arc;
pub use vc::{NextHop, SweepVc};

/// A frame whose last cell has been assigned a slot at its last sweep port.
#[derive(Clone, Copy, Debug)]
pub struct CompletedFrame {
    /// Link of the port.
    pub link: Link,
    /// Virtual circuit.
    pub vc: Circuit,
    /// Number of the frame within its VC.
    pub frame: u32,
    /// Number of consecutive cells; 0 if the frame is incomplete.
    pub cells: u16,
    /// Arrival time of the last cell at the end of the link.
    pub at: Time,
}

/// A cell that was lost; it need not be the first lost cell of its frame.
#[derive(Clone, Copy, Debug)]
pub struct LostCell {
    /// Link of the port.
    pub link: Link,
    /// Virtual circuit.
    pub vc: Circuit,
    /// Number of the frame within its VC.
    pub frame: u32,
    /// Arrival time of the cell.
    pub time: Time,
    /// Cause of the loss.
    pub cause: DropCause,
}

/// Destination of the cells and frames that leave a port.
pub struct Sink<'a> {
    /// Cells in transit to each port over each wire.
    pub streams: &'a mut [Stream],
    /// For each port, the inputs that have new cells.
    pub woken: &'a mut [Vec<u32>],
    /// Completed frames in transit to their hosts.
    pub done: &'a mut Vec<CompletedFrame>,
    /// Lost cells.
    pub lost: &'a mut Vec<LostCell>,
}

impl Sink<'_> {
    /// Puts cells on a wire.
    #[inline(always)]
    pub fn push(&mut self, stream: u32, run: CellRun) {
        if let Some((port, input)) = self.streams[stream as usize].push(run) {
            self.woken[port as usize].push(input);
        }
    }
}

/// Parameters of a port.
#[derive(Clone, Debug)]
pub struct SweepParameters {
    /// Link of the port.
    pub link: Link,
    /// Slots of the port.
    pub sums: Arc<GridSums>,
    /// Propagation delay of the wire that the port feeds.
    pub delay: Span,
    /// Buffer size K [cell]; None means unlimited.
    pub capacity: Option<u64>,
    /// Buffer policy.
    pub policy: Policy,
    /// Injected losses.
    pub loss: Option<Box<Loss>>,
    /// Order of simultaneous cells.
    pub ties: TieRule,
    /// Circuits, indexed by their numbers at the port.
    pub vcs: Vec<SweepVc>,
    /// Input links.
    pub inputs: Vec<Input>,
    /// First slot whose cell has not left the path by the end of the run.
    pub horizon: u64,
}

/// The next cell of an input.
#[derive(Clone, Copy, Debug)]
struct Head {
    time: u64,
    input: u32,
}

/// A sweep port, and the wire that it feeds.
#[derive(Clone, Debug)]
pub struct SweepPort {
    link: Link,
    grid: SlotGrid,
    delay: Span,
    capacity: u64,
    policy: Policy,
    /// Largest X up to which the policy rejects no frame.
    no_refusal_up_to: u64,
    after_loss: AfterLoss,
    loss: Option<Box<Loss>>,
    ties: TieRule,
    vcs: Vec<SweepVc>,
    inputs: Vec<Input>,
    /// Inputs with cells, in descending order of arrival time.
    order: Vec<Head>,
    /// Inputs with simultaneous cells, with their ranks.
    tied: Vec<((Order, Link), u32)>,
    /// First unassigned slot.
    next: SlotCursor,
    /// First slot of the busy period.
    busy: u64,
    /// Sum of the ends of all slots used before the busy period.
    before: StartSum,
    sums: Arc<GridSums>,
    /// First slot that starts after the latest access, and the number of slots that had ended by that access.
    past: SlotCursor,
    ended: u64,
    /// Sum [ps] of the arrival times of cells processed one by one.
    arrival_time: u128,
    admitted: u64,
    /// Occupancy by VC, for policies that depend on it.
    holding: Option<Box<Holding>>,
    horizon: u64,
    late: Vec<Late>,
    counters: QueueCounters,
}

impl SweepPort {
    /// Creates an empty port.
    pub fn new(parts: SweepParameters) -> SweepPort {
        let (grid, vcs) = (parts.sums.grid(), parts.vcs.len());
        let capacity = parts.capacity.unwrap_or(u64::MAX);
        SweepPort {
            link: parts.link,
            grid,
            delay: parts.delay,
            capacity,
            no_refusal_up_to: parts.policy.no_refusal_up_to(capacity),
            after_loss: parts.policy.after_loss,
            holding: parts.policy.needs_vc_occupancies().then(|| Box::new(Holding::new(vcs))),
            policy: parts.policy,
            loss: parts.loss,
            ties: parts.ties,
            vcs: parts.vcs,
            inputs: parts.inputs,
            order: Vec::new(),
            tied: Vec::new(),
            next: grid.cursor(0),
            busy: 0,
            before: StartSum::default(),
            sums: parts.sums,
            past: grid.cursor(0),
            ended: 0,
            arrival_time: 0,
            admitted: 0,
            horizon: parts.horizon,
            late: Vec::new(),
            counters: QueueCounters::default(),
        }
    }

    /// Processes all arrivals before `until`; all of them must be known. `woken` lists the inputs with new cells.
    pub fn sweep(&mut self, until: u64, woken: &mut Vec<u32>, sink: &mut Sink) {
        for input in woken.drain(..) {
            self.read_on(input, sink);
        }
        while let Some(&Head { time, input }) = self.order.last() {
            if time >= until {
                return;
            }
            let other = self.order.len().checked_sub(2).map(|at| self.order[at].time);
            if other == Some(time) {
                self.take_tied(time, sink);
                continue;
            }
            let limit = other.map_or(until, |other| other.min(until));
            self.take_from(input, limit, sink);
            self.put_back(sink);
        }
    }

    /// Processes the arrivals of an input before `limit`.
    #[inline(always)]
    fn take_from(&mut self, input: u32, limit: u64, sink: &mut Sink) {
        let run = self.inputs[input as usize].take(limit);
        self.take(input as usize, run, sink);
    }

    /// Adds an input that has new cells.
    fn read_on(&mut self, input: u32, sink: &mut Sink) {
        let source = &mut self.inputs[input as usize];
        if let Some(run) = sink.streams[source.stream as usize].pop() {
            source.run = run;
            self.order.push(Head { time: run.time, input });
            self.sort_last();
        }
    }

    /// Moves the current input to its new place in the list, according to its next cell.
    #[inline(always)]
    fn put_back(&mut self, sink: &mut Sink) {
        let Some(last) = self.order.last_mut() else { return };
        let input = &mut self.inputs[last.input as usize];
        if input.run.cells == 0 {
            let Some(run) = sink.streams[input.stream as usize].pop() else {
                self.order.pop();
                return;
            };
            input.run = run;
        }
        last.time = input.run.time;
        self.sort_last();
    }

    /// Moves the last head to its place in the sorted list.
    #[inline(always)]
    fn sort_last(&mut self) {
        let mut at = self.order.len() - 1;
        let head = self.order[at];
        while at > 0 && self.order[at - 1].time < head.time {
            self.order[at] = self.order[at - 1];
            at -= 1;
        }
        self.order[at] = head;
    }

    /// Processes the simultaneous cells of several inputs at `time`, in the order of the tie-breaking rule.
    #[inline(never)]
    fn take_tied(&mut self, time: u64, sink: &mut Sink) {
        let mut tied = std::mem::take(&mut self.tied);
        while let Some(head) = self.order.pop_if(|head| head.time == time) {
            let input = &self.inputs[head.input as usize];
            let vc = self.vcs[input.run.local as usize].vc;
            let rank = (self.ties.rank(&input.end, Time(time), vc), input.link);
            tied.push((rank, head.input));
        }
        tied.sort_unstable();
        for &(_, input) in &tied {
            self.take_from(input, time + 1, sink);
        }
        for (_, input) in tied.drain(..) {
            self.order.push(Head { time, input });
            self.put_back(sink);
        }
        self.tied = tied;
    }

    /// Returns a lower bound, based on the known cells, on the arrival time of the next cell that ends a frame.
    pub fn bound(&self, woken: &[u32], streams: &[Stream]) -> u64 {
        let read = self.order.iter().map(|head| self.inputs[head.input as usize].min_end());
        let unread = woken.iter().filter_map(|&input| {
            let input = &self.inputs[input as usize];
            let first = streams[input.stream as usize].first()?;
            Some(input.min_end_of(first))
        });
        read.chain(unread).min().unwrap_or(u64::MAX)
    }
}
