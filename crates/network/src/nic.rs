//! A host's interface: unlimited, first in first out by frame, one cell per slot.

use crate::aal5::Cell;
use crate::loss::Loss;
use crate::ring::Ring;
use longpipe_events::{SlotCursor, SlotGrid, Span, Time};

/// A frame waiting for its slots.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    vc: u32,
    frame: u32,
    cells: u16,
    ready: Time,
    /// The step of its circuit that comes after this interface's link.
    step: u32,
    /// Whether its first and its last cell stand for all.
    by_edges: bool,
}

/// The first or the last cell of a frame, on its way.
#[derive(Clone, Copy, Debug)]
pub struct FrameEdge {
    /// The cell.
    pub cell: Cell,
    /// Its slot.
    pub slot: u64,
    /// Cells of the frame.
    pub cells: u16,
}

/// The sending interface of a host and the wire behind it.
#[derive(Clone, Debug)]
pub struct Nic {
    grid: SlotGrid,
    delay: Span,
    queue: Ring<Waiting>,
    /// First slot not yet used.
    next: SlotCursor,
    /// Cells of the first waiting frame not yet arrived downstream; by edges, all of them or 1; 0: it has no slots yet.
    left: u16,
    by_edges: bool,
    /// Its cells.
    cells: u16,
    /// The last cell of that frame.
    last: Cell,
    /// When the head cell arrives downstream.
    arrival: Time,
    loss: Option<Box<Loss>>,
    /// Frames that entered.
    pub frames_in: u64,
    /// Cells that entered.
    pub cells_in: u64,
    /// Cells of frames lost by force.
    pub lost_forced: u64,
    /// Cells arrived downstream; by edges, of frames arrived whole.
    cells_out: u64,
}

impl Nic {
    /// An idle interface.
    pub fn new(grid: SlotGrid, delay: Span, loss: Option<Box<Loss>>) -> Nic {
        Nic {
            grid,
            delay,
            queue: Ring::default(),
            next: grid.cursor(0),
            left: 0,
            by_edges: false,
            cells: 0,
            last: Cell::default(),
            arrival: Time::ZERO,
            loss,
            frames_in: 0,
            cells_in: 0,
            lost_forced: 0,
            cells_out: 0,
        }
    }

    /// Takes a frame that may leave from `ready` on; `step` of its circuit follows this link. True if `head` changed.
    pub fn enqueue(&mut self, vc: u32, frame: u32, cells: u16, ready: Time, step: u32, by_edges: bool) -> bool {
        self.frames_in += 1;
        self.cells_in += u64::from(cells);
        if self.loss.as_mut().is_some_and(|loss| loss.loses(ready)) {
            self.lost_forced += u64::from(cells);
            return false;
        }
        self.queue.push(Waiting {
            vc,
            frame,
            cells,
            ready,
            step,
            by_edges,
        });
        let idle = self.left == 0;
        if idle {
            self.begin();
        }
        idle
    }

    /// Gives the first waiting frame its first slot.
    fn begin(&mut self) {
        let Some(first) = self.queue.first() else { return };
        self.grid.advance(&mut self.next, first.ready);
        (self.left, self.cells, self.by_edges) = (first.cells, first.cells, first.by_edges);
        self.last = Cell {
            vc: first.vc,
            frame: first.frame,
            left: 0,
            step: first.step,
        };
        self.next.step();
        self.arrival = self.next.start() + self.delay;
    }

    /// When the next cell arrives downstream, and its VC.
    #[inline(always)]
    pub fn head(&self) -> Option<(Time, u32)> {
        (self.left > 0).then_some((self.arrival, self.last.vc))
    }

    /// Takes the head cell off the wire.
    #[inline(always)]
    pub fn pop(&mut self) -> Cell {
        self.left -= 1;
        self.cells_out += 1;
        let cell = Cell {
            left: self.left,
            ..self.last
        };
        if self.left > 0 {
            self.next.step();
            self.arrival = self.next.start() + self.delay;
        } else {
            self.queue.pop();
            self.begin();
        }
        cell
    }

    /// Whether the first and the last cell of the head frame stand for all.
    #[inline(always)]
    pub fn by_edges(&self) -> bool {
        self.by_edges
    }

    /// Takes the head frame's first cell off the wire, and all but the last; or the last.
    #[inline]
    pub fn pop_edge(&mut self) -> FrameEdge {
        let edge = FrameEdge {
            cell: Cell {
                left: self.left - 1,
                ..self.last
            },
            slot: self.next.index() - 1,
            cells: self.cells,
        };
        if self.left > 1 {
            if self.left == 2 {
                self.next.step();
            } else {
                self.next = self.grid.cursor(self.next.index() + u64::from(self.left) - 1);
            }
            self.left = 1;
            self.arrival = self.next.start() + self.delay;
        } else {
            self.left = 0;
            self.cells_out += u64::from(self.cells);
            self.queue.pop();
            self.begin();
        }
        edge
    }

    /// Cells arrived downstream by `now`, the end of the run.
    pub fn cells_out(&self, now: Time) -> u64 {
        if !self.by_edges || self.left != 1 {
            return self.cells_out;
        }
        let first = self.next.index() - u64::from(self.cells);
        let left = now
            .0
            .checked_sub(self.delay.0)
            .map_or(0, |sent| self.grid.ended_by(Time(sent)));
        self.cells_out + (left - first)
    }

    /// Propagation delay of the link.
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Cells accepted and not yet arrived downstream by `now`, the end of the run.
    pub fn cells_held(&self, now: Time) -> u64 {
        self.cells_in - self.lost_forced - self.cells_out(now)
    }
}
