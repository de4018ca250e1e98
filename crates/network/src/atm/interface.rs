//! A host's interface: an unlimited FIFO of frames, which sends one cell per slot.

use crate::impairments::loss::Loss;
use crate::packets::aal5::Cell;
use crate::packets::Circuit;
use crate::packets::Packet;
use crate::slots::{SlotCursor, SlotGrid};
use longpipe_events::{Ring, Span, Time};

/// A frame whose slots are assigned.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScheduledFrame {
    /// Packet of the frame; in cell-by-cell simulation, the packet's payload is stored in `InTransit`.
    pub packet: Packet,
    /// Slot of its first cell.
    pub slot: u64,
    /// Arrival time of the last cell at the downstream end of the link.
    pub last: Time,
    /// Number of cells.
    pub cells: u16,
    /// Whether the frame is represented only by its first and last cell (its edges).
    pub by_edges: bool,
}

impl ScheduledFrame {
    /// Creates a frame from the result of `Nic::accept`.
    #[inline(always)]
    pub fn new(packet: Packet, cells: u16, accepted: Accepted, by_edges: bool) -> ScheduledFrame {
        ScheduledFrame {
            packet,
            slot: accepted.slot,
            last: accepted.last,
            cells,
            by_edges,
        }
    }

    /// Returns the result of accepting the frame.
    pub fn accepted(&self) -> Accepted {
        Accepted {
            slot: self.slot,
            last: self.last,
            soon: true,
        }
    }
}

/// Result of accepting a frame.
#[derive(Clone, Copy, Debug)]
pub struct Accepted {
    /// Slot of its first cell.
    pub slot: u64,
    /// Arrival time of the last cell at the downstream end of the link.
    pub last: Time,
    /// Whether the frame is represented by its edges and leaves so soon that it need not be queued.
    pub soon: bool,
}

/// An arrival at the end of a wire.
#[derive(Clone, Copy, Debug)]
pub enum WireArrival {
    /// A cell.
    Cell(Cell),
    /// A frame that is about to arrive, represented by its edges (its first and last cells).
    Frame(ScheduledFrame),
}

/// Sending interface of a host, and the wire that it feeds.
#[derive(Clone, Debug)]
pub struct Nic {
    grid: SlotGrid,
    delay: Span,
    /// Maximum time for which a frame represented by its edges may wait without being queued.
    soon: Span,
    /// First free slot.
    next: SlotCursor,
    /// Queued frames; cells of the first frame are on the wire.
    queue: Ring<ScheduledFrame>,
    /// First slot whose cell has not yet arrived downstream.
    head: SlotCursor,
    /// Number of cells of the first queued frame that have not arrived downstream; 0 if there are no frames.
    left: u16,
    loss: Option<Box<Loss>>,
    /// Lookahead of ACKs: if no other ACK is in transit, an ACK whose last cell arrives within this time after its data
    /// left the trunk precedes all later ACKs.
    pub ack_lookahead: Span,
    /// Number of frames that entered the interface.
    pub frames_in: u64,
    /// Number of cells that entered the interface.
    pub cells_in: u64,
    /// Cells of frames dropped by injected loss.
    pub lost_injected: u64,
    /// Number of cells that have arrived downstream, or whose frames were sent as edges.
    cells_out: u64,
}

/// Number of frame times within which a frame represented by its edges must leave to bypass the queue.
const SOON: u64 = 32;

impl Nic {
    /// Creates an idle interface.
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
            ack_lookahead: Span(0),
            frames_in: 0,
            cells_in: 0,
            lost_injected: 0,
            cells_out: 0,
        }
    }

    /// Accepts a frame of `cells` cells that may leave at `ready` or later. Returns None if injected loss drops the
    /// frame; otherwise, the caller sends or queues it.
    #[inline(always)]
    pub fn accept(&mut self, cells: u16, ready: Time) -> Option<Accepted> {
        self.frames_in += 1;
        self.cells_in += u64::from(cells);
        if self.loss.as_mut().is_some_and(|loss| loss.loses(ready)) {
            self.lost_injected += u64::from(cells);
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

    /// Returns the arrival time of the cell in a slot.
    pub fn arrival(&self, slot: u64) -> Time {
        self.grid.start(slot + 1) + self.delay
    }

    /// Counts a frame of `cells` that is represented by its edges and bypasses the queue.
    #[inline(always)]
    pub fn send(&mut self, cells: u16) {
        self.cells_out += u64::from(cells);
    }

    /// Queues a frame. Returns whether `head` changed.
    pub fn wait(&mut self, frame: ScheduledFrame) -> bool {
        self.queue.push(frame);
        let idle = self.left == 0;
        if idle {
            self.begin();
        }
        idle
    }

    /// Releases the slots of a frame that starts after the end of the run; all later frames also start after it.
    pub fn release_from(&mut self, slot: u64) {
        self.next = self.grid.cursor(slot);
    }

    /// Starts the transmission of the first queued frame.
    fn begin(&mut self) {
        let Some(first) = self.queue.first() else { return };
        self.left = first.cells;
        if !first.by_edges {
            self.head = self.grid.cursor(first.slot + 1);
        }
    }

    /// Returns the time and VC of the next arrival downstream. For a frame represented by its edges, the time is one
    /// slot early.
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

    /// Removes and returns the arrival of `head`.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<WireArrival> {
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
            tagged: false,
        };
        if self.left == 0 {
            self.queue.pop();
            self.begin();
        }
        Some(if first.by_edges {
            WireArrival::Frame(first)
        } else {
            WireArrival::Cell(cell)
        })
    }

    /// Counts those cells of a frame represented by its edges, the last of which is in slot `last`, that have not
    /// arrived by `now`, the end of the run.
    pub fn hold(&mut self, last: u64, cells: u16, now: Time) {
        let sent = now.0.checked_sub(self.delay.0);
        let arrived = sent.map_or(0, |sent| self.grid.ended_by(Time(sent)));
        let (first, end) = (last + 1 - u64::from(cells), last + 1);
        self.cells_out -= end - arrived.clamp(first, end);
    }

    /// Returns the number of cells that have arrived downstream.
    pub fn cells_out(&self) -> u64 {
        self.cells_out
    }

    /// Returns the propagation delay of the link.
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Returns the number of accepted cells that have not arrived downstream.
    pub fn cells_held(&self) -> u64 {
        self.cells_in - self.lost_injected - self.cells_out
    }
}
