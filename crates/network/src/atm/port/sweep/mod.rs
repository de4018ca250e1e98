//! A switch's output port that reads what its wires bring up to an instant before which all of it is known: one sweep
//! over many cells, without an event for any.
//!
//! Cells of a frame that follow each other in the slots of their wire, and between which none comes over another, enter
//! in one step where none can find the buffer full, no slot passes unused and X stays below its peak. Where one of
//! these is open they enter one by one, as in the reference.

mod account;
mod holding;
mod intake;
mod run;
mod vc;

use crate::atm::port::admission::QueueCounters;
use crate::atm::port::trains::Late;
use crate::atm::slots::{GridSums, SlotCursor, SlotGrid, StartSum};
use crate::drops::DropCause;
use crate::impairments::loss::Loss;
use crate::packets::{Circuit, Link};
use crate::policies::{AfterLoss, Policy};
use crate::ties::TieRule;
pub use account::Account;
use holding::Holding;
use longpipe_events::{Order, Span, Time};
pub use run::{Input, Run, Stream};
use std::sync::Arc;
pub use vc::{Onward, Vc};

/// A frame's last cell has its slot, and the frame goes to its host whole as far as can be told from its cells.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// The port's link.
    pub link: Link,
    /// The VC.
    pub vc: Circuit,
    /// Number of the frame in it.
    pub frame: u32,
    /// Cells of it that follow each other.
    pub cells: u16,
    /// When the last one arrives at the end of the link.
    pub at: Time,
}

/// A frame loses a cell, maybe not the first one.
#[derive(Clone, Copy, Debug)]
pub struct LostCell {
    /// The port's link.
    pub link: Link,
    /// The VC.
    pub vc: Circuit,
    /// Number of the frame in it.
    pub frame: u32,
    /// When the cell arrived.
    pub time: Time,
    /// Why it is lost.
    pub cause: DropCause,
}

/// Where a port puts what leaves it.
pub struct Sink<'a> {
    /// What is on its way to each port over each wire.
    pub streams: &'a mut [Stream],
    /// By port, inputs that have something again.
    pub woken: &'a mut [Vec<u32>],
    /// Frames on their way to their hosts.
    pub done: &'a mut Vec<Done>,
    /// Frames that lose a cell.
    pub lost: &'a mut Vec<LostCell>,
}

impl Sink<'_> {
    /// Cells are on their way over a wire.
    #[inline(always)]
    pub fn push(&mut self, stream: u32, run: Run) {
        if let Some((port, input)) = self.streams[stream as usize].push(run) {
            self.woken[port as usize].push(input);
        }
    }
}

/// What a port is made of.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Its number in the network.
    pub link: Link,
    /// Its slots.
    pub sums: Arc<GridSums>,
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
    /// Its circuits, by number there.
    pub vcs: Vec<Vc>,
    /// Wires that lead to it.
    pub inputs: Vec<Input>,
    /// First slot whose cell has not left the path by the end of the run.
    pub horizon: u64,
}

/// The next cell of an input that has any.
#[derive(Clone, Copy, Debug)]
struct Head {
    time: u64,
    input: u32,
}

/// The output port of a switch and the wire behind it, in sweeps.
#[derive(Clone, Debug)]
pub struct SweepPort {
    link: Link,
    grid: SlotGrid,
    delay: Span,
    capacity: u64,
    policy: Policy,
    /// No frame is refused for any X up to this.
    calm: u64,
    after_loss: AfterLoss,
    loss: Option<Box<Loss>>,
    ties: TieRule,
    vcs: Vec<Vc>,
    inputs: Vec<Input>,
    /// Inputs with cells to come, the next one last.
    order: Vec<Head>,
    /// Those that tie, with their ranks.
    tied: Vec<((Order, Link), u32)>,
    /// First slot not yet used.
    next: SlotCursor,
    /// First slot of the busy period.
    busy: u64,
    /// Ends of all slots used before it.
    before: StartSum,
    sums: Arc<GridSums>,
    /// The first slot that begins after the latest look at what has left, and how many had ended by then.
    past: SlotCursor,
    ended: u64,
    /// When cells that came alone arrived: the sum [ps].
    arrival_time: u128,
    admitted: u64,
    /// Who is in the queue, for policies that ask.
    holding: Option<Box<Holding>>,
    horizon: u64,
    late: Vec<Late>,
    counters: QueueCounters,
}

impl SweepPort {
    /// An empty port.
    pub fn new(parts: Parts) -> SweepPort {
        let (grid, vcs) = (parts.sums.grid(), parts.vcs.len());
        let capacity = parts.capacity.unwrap_or(u64::MAX);
        SweepPort {
            link: parts.link,
            grid,
            delay: parts.delay,
            capacity,
            calm: parts.policy.calm(capacity),
            after_loss: parts.policy.after_loss(),
            holding: parts.policy.asks_for_vcs().then(|| Box::new(Holding::new(vcs))),
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

    /// Takes all that arrives before `until`, of which no more will be known; `woken` inputs have something again.
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

    /// Takes what an input brings before `limit`.
    #[inline(always)]
    fn take_from(&mut self, input: u32, limit: u64, sink: &mut Sink) {
        let run = self.inputs[input as usize].take(limit);
        self.take(input as usize, run, sink);
    }

    /// An input has something again.
    fn read_on(&mut self, input: u32, sink: &mut Sink) {
        let source = &mut self.inputs[input as usize];
        if let Some(run) = sink.streams[source.stream as usize].pop() {
            source.run = run;
            self.order.push(Head { time: run.time, input });
            self.sort_last();
        }
    }

    /// The input that was next is put where its next cell belongs.
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

    /// Puts the last of the heads before those that come sooner.
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

    /// Takes the cells of several inputs that arrive at `time`, in the order of the tie rule.
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

    /// A time before which no frame's last cell will come, of what is known.
    pub fn bound(&self, woken: &[u32], streams: &[Stream]) -> u64 {
        let read = self
            .order
            .iter()
            .map(|head| self.inputs[head.input as usize].least_end());
        let unread = woken.iter().filter_map(|&input| {
            let input = &self.inputs[input as usize];
            let first = streams[input.stream as usize].first()?;
            Some(input.least_end_of(first))
        });
        read.chain(unread).min().unwrap_or(u64::MAX)
    }
}
