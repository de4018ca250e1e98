//! A host's interface: unlimited, first in first out by frame, one cell per slot.

use crate::atm::aal5::Cell;
use crate::atm::slots::{SlotCursor, SlotGrid};
use crate::impairments::loss::Loss;
use crate::packets::ring::Ring;
use crate::packets::Circuit;
use crate::packets::Packet;
use longpipe_events::{Span, Time};

/// A frame that has its slots.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frame {
    /// What it carries; cell by cell, what it carries is elsewhere.
    pub packet: Packet,
    /// Slot of its first cell.
    pub slot: u64,
    /// When the last one arrives downstream.
    pub last: Time,
    /// Cells.
    pub cells: u16,
    /// Whether its first and its last cell stand for all.
    pub by_edges: bool,
}

impl Frame {
    /// What an interface has accepted.
    #[inline(always)]
    pub fn new(packet: Packet, cells: u16, accepted: Accepted, by_edges: bool) -> Frame {
        Frame {
            packet,
            slot: accepted.slot,
            last: accepted.last,
            cells,
            by_edges,
        }
    }

    /// What its interface said of it.
    pub fn accepted(&self) -> Accepted {
        Accepted {
            slot: self.slot,
            last: self.last,
            soon: true,
        }
    }
}

/// What an interface says of a frame handed to it.
#[derive(Clone, Copy, Debug)]
pub struct Accepted {
    /// Slot of its first cell.
    pub slot: u64,
    /// When the last one arrives downstream.
    pub last: Time,
    /// Whether it leaves so soon that it need not wait, if it goes by edges.
    pub soon: bool,
}

/// What comes off a wire.
#[derive(Clone, Copy, Debug)]
pub enum Off {
    /// A cell.
    Cell(Cell),
    /// A frame that goes by edges is about to.
    Frame(Frame),
}

/// The sending interface of a host and the wire behind it.
#[derive(Clone, Debug)]
pub struct Nic {
    grid: SlotGrid,
    delay: Span,
    /// A frame that goes by edges does not wait if each of its cells does so no longer than this.
    soon: Span,
    /// First slot not yet given away.
    next: SlotCursor,
    /// Frames that wait for their turn, the first one's cells on the wire.
    queue: Ring<Frame>,
    /// First slot of which nothing has arrived downstream yet.
    head: SlotCursor,
    /// Cells of the first frame in the queue not yet arrived downstream; 0: there is none.
    left: u16,
    loss: Option<Box<Loss>>,
    /// An ACK whose last cell arrives less than this after its data have left the trunk, alone, precedes all later ones.
    pub lead: Span,
    /// Frames that entered.
    pub frames_in: u64,
    /// Cells that entered.
    pub cells_in: u64,
    /// Cells of frames lost by force.
    pub lost_forced: u64,
    /// Cells arrived downstream, or sent by edges.
    cells_out: u64,
}

/// A frame that goes by edges does not wait if it leaves within the time of so many such frames.
const SOON: u64 = 32;

impl Nic {
    /// An idle interface.
    pub fn new(grid: SlotGrid, delay: Span, loss: Option<Box<Loss>>) -> Nic {
        Nic {
            grid,
            delay,
            soon: Span(grid.period_floor().saturating_mul(SOON)),
            next: grid.cursor(0),
            queue: Ring::default(),
            head: grid.cursor(0),
            left: 0,
            loss,
            lead: Span(0),
            frames_in: 0,
            cells_in: 0,
            lost_forced: 0,
            cells_out: 0,
        }
    }

    /// Takes a frame of `cells` that may leave from `ready` on, unless it is lost by force. It is to be sent or to wait.
    #[inline(always)]
    pub fn accept(&mut self, cells: u16, ready: Time) -> Option<Accepted> {
        self.frames_in += 1;
        self.cells_in += u64::from(cells);
        if self.loss.as_mut().is_some_and(|loss| loss.loses(ready)) {
            self.lost_forced += u64::from(cells);
            return None;
        }
        let wait = self.next.start().0.saturating_sub(ready.0);
        let soon = wait <= self.soon.0.saturating_mul(u64::from(cells));
        let (slot, _, last) = self.grid.take(&mut self.next, ready, u64::from(cells));
        Some(Accepted {
            slot,
            last: last + self.delay,
            soon,
        })
    }

    /// When the cell in a slot arrives downstream.
    pub fn arrival(&self, slot: u64) -> Time {
        self.grid.start(slot + 1) + self.delay
    }

    /// A frame of `cells` goes by edges and need not wait.
    #[inline(always)]
    pub fn send(&mut self, cells: u16) {
        self.cells_out += u64::from(cells);
    }

    /// A frame waits for its turn. Whether `head` changed.
    pub fn wait(&mut self, frame: Frame) -> bool {
        self.queue.push(frame);
        let idle = self.left == 0;
        if idle {
            self.begin();
        }
        idle
    }

    /// A frame that begins after the run, and waits for nothing, gives its slots back; so will all that follow.
    pub fn take_back(&mut self, slot: u64) {
        self.next = self.grid.cursor(slot);
    }

    /// The first waiting frame's turn has come.
    fn begin(&mut self) {
        let Some(first) = self.queue.first() else { return };
        self.left = first.cells;
        if !first.by_edges {
            self.head = self.grid.cursor(first.slot + 1);
        }
    }

    /// When the next cell arrives downstream, or the one before a frame that goes by edges would, and its VC.
    #[inline(always)]
    pub fn head(&self) -> Option<(Time, Circuit)> {
        let first = self.queue.first()?;
        let time = if first.by_edges {
            self.grid.start(first.slot)
        } else {
            self.head.start()
        };
        Some((time + self.delay, first.packet.vc()))
    }

    /// Takes off the wire what `head` tells of.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Off> {
        let first = *self.queue.first()?;
        if first.by_edges {
            self.cells_out += u64::from(first.cells);
            self.left = 0;
        } else {
            self.left -= 1;
            self.cells_out += 1;
            self.head.step();
        }
        let cell = Cell {
            vc: first.packet.vc(),
            frame: first.packet.frame(),
            left: self.left,
            step: first.packet.step(),
        };
        if self.left == 0 {
            self.queue.pop();
            self.begin();
        }
        Some(if first.by_edges {
            Off::Frame(first)
        } else {
            Off::Cell(cell)
        })
    }

    /// A frame sent by edges whose last cell leaves in slot `last` has not arrived whole by `now`, the end of the run.
    pub fn hold(&mut self, last: u64, cells: u16, now: Time) {
        let sent = now.0.checked_sub(self.delay.0);
        let arrived = sent.map_or(0, |sent| self.grid.ended_by(Time(sent)));
        let (first, end) = (last + 1 - u64::from(cells), last + 1);
        self.cells_out -= end - arrived.clamp(first, end);
    }

    /// So many cells of frames sent whole have not arrived by the end of the run.
    pub fn keep(&mut self, cells: u64) {
        self.cells_out -= cells;
    }

    /// Cells arrived downstream.
    pub fn cells_out(&self) -> u64 {
        self.cells_out
    }

    /// Propagation delay of the link.
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Cells accepted and not yet arrived downstream.
    pub fn cells_held(&self) -> u64 {
        self.cells_in - self.lost_forced - self.cells_out
    }
}
