//! Who is in a port's queue: X_i and N_a, without a count per cell.
//!
//! Cells leave in the order in which they came, batch by batch. So it is enough to know how many cells each batch
//! brought, and when the cells of a VC began and ceased to enter; all is read again, once, as the queue drains.

use crate::atm::port::trains::vc::Rank;
use longpipe_events::memory::Growing;
use std::collections::VecDeque;

/// Batches of equal size, one after the other.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Number of its first cell among all admitted.
    cell: u64,
    /// Its first batch.
    batch: u64,
    /// Cells admitted of each batch.
    cells: u64,
}

/// A VC begins or ceases to have a cell in every batch.
#[derive(Clone, Copy, Debug)]
struct Change {
    batch: u64,
    local: u32,
}

/// The batch of the oldest cell in the queue.
#[derive(Clone, Copy, Debug)]
pub struct Oldest {
    /// Its number.
    pub batch: u64,
    /// How many of its cells have left.
    gone: u64,
}

/// What the reader, at the head of the queue, knows of one VC.
#[derive(Clone, Copy, Debug, Default)]
struct Reader {
    /// Cells that came before `since`, or before the head's batch if there is none.
    passed: u64,
    /// Batch since which it has a cell in every batch.
    since: u64,
    /// Its place in `front`.
    place: u32,
    in_front: bool,
    /// Times that it began, less times read that it ceased.
    runs: u32,
}

/// Stretches that are kept whatever has left.
const FEW: usize = 1024;

/// The queue's history, from its head on.
#[derive(Clone, Debug)]
pub struct Ledger {
    stretches: VecDeque<Stretch>,
    opened: VecDeque<Change>,
    closed: VecDeque<Change>,
    /// VCs with a cell in the head's batch.
    front: Vec<u32>,
    vcs: Vec<Reader>,
    /// VCs with `runs`.
    active: u64,
    ranks: Vec<(Rank, u32)>,
    /// Stretches at which what has left is forgotten.
    most: usize,
}

impl Ledger {
    /// For an empty queue of `vcs` circuits.
    pub fn new(vcs: usize) -> Ledger {
        Ledger {
            stretches: VecDeque::new(),
            opened: VecDeque::new(),
            closed: VecDeque::new(),
            front: Vec::new(),
            vcs: vec![Reader::default(); vcs],
            active: 0,
            ranks: Vec::new(),
            most: FEW,
        }
    }

    /// Between two batches, of which `next` is the second: forgets what has left, now and then.
    #[inline]
    pub fn forget(&mut self, departed: u64, admitted: u64, next: u64) {
        if self.stretches.len() >= self.most {
            self.forget_now(departed, admitted, next);
        }
    }

    #[cold]
    fn forget_now(&mut self, departed: u64, admitted: u64, next: u64) {
        if departed < admitted {
            self.seek(departed);
        } else {
            self.stretches.clear();
            self.read(next - 1);
        }
        self.most = FEW.max(2 * self.stretches.len());
    }

    /// From `batch` on, each one brings `cells`; the first of them is number `cell`.
    #[inline]
    pub fn on_batches(&mut self, cell: u64, batch: u64, cells: u64) {
        self.stretches.put(Stretch { cell, batch, cells });
    }

    /// A VC has cells from `batch` on.
    #[inline]
    pub fn open(&mut self, batch: u64, local: u32) {
        self.opened.put(Change { batch, local });
        let vc = &mut self.vcs[local as usize];
        self.active += u64::from(vc.runs == 0);
        vc.runs += 1;
    }

    /// A VC has no more cells from `batch` on.
    #[inline]
    pub fn close(&mut self, batch: u64, local: u32) {
        // Within a batch one VC may lose its cell after another has had its last.
        let later = self.closed.iter().rev().take_while(|other| other.batch > batch).count();
        self.closed.make_room();
        self.closed.insert(self.closed.len() - later, Change { batch, local });
    }

    /// Moves the head on to the cell before which `departed` cells have left; there must be one.
    pub fn seek(&mut self, departed: u64) -> Oldest {
        while self.stretches.get(1).is_some_and(|next| next.cell <= departed) {
            self.stretches.pop_front();
        }
        let Stretch { cell, batch, cells } = self.stretches[0];
        let oldest = Oldest {
            batch: batch + (departed - cell) / cells,
            gone: (departed - cell) % cells,
        };
        self.read(oldest.batch);
        debug_assert_eq!(self.front.len() as u64, cells);
        oldest
    }

    /// Reads the changes up to `batch`.
    fn read(&mut self, batch: u64) {
        loop {
            let open = self.opened.front().filter(|change| change.batch <= batch).copied();
            let close = self.closed.front().filter(|change| change.batch <= batch).copied();
            match (open, close) {
                (Some(open), close) if close.is_none_or(|close| close.batch > open.batch) => {
                    self.opened.pop_front();
                    let vc = &mut self.vcs[open.local as usize];
                    (vc.since, vc.in_front, vc.place) = (open.batch, true, self.front.len() as u32);
                    self.front.push(open.local);
                }
                (_, Some(close)) => {
                    self.closed.pop_front();
                    self.leave(close);
                }
                (_, None) => return,
            }
        }
    }

    fn leave(&mut self, close: Change) {
        let vc = &mut self.vcs[close.local as usize];
        vc.passed += close.batch - vc.since;
        vc.in_front = false;
        vc.runs -= 1;
        self.active -= u64::from(vc.runs == 0);
        let place = vc.place as usize;
        self.front.swap_remove(place);
        if let Some(&moved) = self.front.get(place) {
            self.vcs[moved as usize].place = place as u32;
        }
    }

    /// Cells of a VC that came before the head's batch.
    fn passed(&self, local: u32, batch: u64) -> u64 {
        let vc = &self.vcs[local as usize];
        vc.passed + if vc.in_front { batch - vc.since } else { 0 }
    }

    /// X_i of a VC and, unless that is zero, N_a. `rank` orders the cells of the head's batch, `admitted` counts
    /// the cells of a VC that have entered.
    pub fn occupancy(
        &mut self,
        head: Oldest,
        local: u32,
        rank: impl Fn(u32) -> Rank,
        admitted: impl Fn(u32) -> u64,
    ) -> (u64, u64) {
        let mut held = admitted(local) - self.passed(local, head.batch);
        let mut active = self.active;
        if head.gone > 0 {
            self.ranks.clear();
            self.ranks.extend(self.front.iter().map(|&local| (rank(local), local)));
            self.ranks.sort_unstable();
            for &(_, gone) in &self.ranks[..head.gone as usize] {
                held -= u64::from(gone == local);
                active -= u64::from(admitted(gone) == self.passed(gone, head.batch) + 1);
            }
        }
        (held, active)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One cell of one of two VCs in every batch, the VC changing every other batch; `held` of them stay in the queue.
    fn ledger(batches: u64, held: u64, forgets: bool) -> Ledger {
        let mut ledger = Ledger::new(2);
        for batch in 0..batches {
            let local = (batch / 2 % 2) as u32;
            if forgets {
                ledger.forget(batch.saturating_sub(held), batch, batch);
            }
            if batch % 2 == 0 {
                ledger.open(batch, local);
            }
            ledger.on_batches(batch, batch, 1);
            if batch % 2 == 1 {
                ledger.close(batch + 1, local);
            }
        }
        ledger
    }

    #[test]
    fn what_has_left_is_forgotten_without_being_asked_for() {
        for held in [0, 1, 7, 3000] {
            let ledger = ledger(100_000, held, true);
            let most = 2 * FEW.max(held as usize + 1);
            assert!(ledger.stretches.len() <= most, "{} of {held}", ledger.stretches.len());
            assert!(ledger.opened.len() + ledger.closed.len() <= most);
        }
    }

    #[test]
    fn who_is_in_the_queue_does_not_depend_on_what_was_forgotten() {
        for held in [1, 2, 7, 3000] {
            let admitted = |_| 50_000 / 2;
            let found = [true, false].map(|forgets| {
                let mut ledger = ledger(50_000, held, forgets);
                let head = ledger.seek(50_000 - held);
                [0, 1].map(|local| ledger.occupancy(head, local, |_| Rank::default(), admitted))
            });
            assert_eq!(found[0], found[1]);
            assert_eq!(found[0][0].0 + found[0][1].0, held);
        }
    }
}
