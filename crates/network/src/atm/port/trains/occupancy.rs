//! Occupancy of a port's queue by VC (X_i and N_a), computed without work for each cell.
//!
//! Cells leave in order of arrival, batch by batch. It therefore suffices to record the number of cells per batch, and
//! the batches at which cells of a VC began or ceased to be admitted. These records are read as the queue drains.

use crate::atm::port::trains::vc::Rank;
use longpipe_events::memory::Growing;
use std::collections::VecDeque;

/// Consecutive batches of equal size.
#[derive(Clone, Copy, Debug)]
struct EqualBatches {
    /// Number of the first cell, counted over all admitted cells.
    cell: u64,
    /// First batch.
    batch: u64,
    /// Number of admitted cells per batch.
    cells: u64,
}

/// The start or the end of a period in which a VC has a cell in every batch.
#[derive(Clone, Copy, Debug)]
struct Change {
    batch: u64,
    local: u32,
}

/// The batch of the oldest cell in the queue.
#[derive(Clone, Copy, Debug)]
pub struct Oldest {
    /// Number of the batch.
    pub batch: u64,
    /// Number of the batch's cells that have left.
    gone: u64,
}

/// State of a VC at the head of the queue.
#[derive(Clone, Copy, Debug, Default)]
struct Reader {
    /// Number of the VC's cells before batch `since`, or before the head's batch if `since` is unset.
    passed: u64,
    /// Number of the batch since which the VC has had a cell in every batch.
    since: u64,
    /// Index in `front`.
    place: u32,
    in_front: bool,
    /// Number of starts minus number of ends that have been read so far.
    runs: u32,
}

/// Number of `Stretch` entries that are always kept.
const FEW: usize = 1024;

/// History of the queue, starting at its head.
#[derive(Clone, Debug)]
pub struct OccupancyHistory {
    stretches: VecDeque<EqualBatches>,
    opened: VecDeque<Change>,
    closed: VecDeque<Change>,
    /// VCs that have a cell in the head's batch.
    front: Vec<u32>,
    vcs: Vec<Reader>,
    /// Number of VCs with `runs` > 0.
    active: u64,
    ranks: Vec<(Rank, u32)>,
    /// Number of `Stretch` entries at and above which departed cells are discarded.
    max: usize,
}

impl OccupancyHistory {
    /// Creates the history of an empty queue with `vcs` circuits.
    pub fn new(vcs: usize) -> OccupancyHistory {
        OccupancyHistory {
            stretches: VecDeque::new(),
            opened: VecDeque::new(),
            closed: VecDeque::new(),
            front: Vec::new(),
            vcs: vec![Reader::default(); vcs],
            active: 0,
            ranks: Vec::new(),
            max: FEW,
        }
    }

    /// Discards departed cells occasionally; invoked before batch `next`.
    #[inline]
    pub fn forget(&mut self, departed: u64, admitted: u64, next: u64) {
        if self.stretches.len() >= self.max {
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
        self.max = FEW.max(2 * self.stretches.len());
    }

    /// Records that, from `batch` on, each batch has `cells` cells; the first of these cells has number `cell`.
    #[inline]
    pub fn on_batches(&mut self, cell: u64, batch: u64, cells: u64) {
        self.stretches.put(EqualBatches { cell, batch, cells });
    }

    /// Records that a VC has a cell in every batch from `batch` on.
    #[inline]
    pub fn open(&mut self, batch: u64, local: u32) {
        self.opened.put(Change { batch, local });
        let vc = &mut self.vcs[local as usize];
        self.active += u64::from(vc.runs == 0);
        vc.runs += 1;
    }

    /// Records that a VC has no more cells from `batch` on.
    #[inline]
    pub fn close(&mut self, batch: u64, local: u32) {
        // Within a batch, a cell of one VC may be lost after another VC's last cell has arrived.
        let later = self.closed.iter().rev().take_while(|other| other.batch > batch).count();
        self.closed.make_room();
        self.closed.insert(self.closed.len() - later, Change { batch, local });
    }

    /// Advances the head to the oldest cell that remains after `departed` departures; the queue must not be empty.
    pub fn seek(&mut self, departed: u64) -> Oldest {
        while self.stretches.get(1).is_some_and(|next| next.cell <= departed) {
            self.stretches.pop_front();
        }
        let EqualBatches { cell, batch, cells } = self.stretches[0];
        let oldest = Oldest {
            batch: batch + (departed - cell) / cells,
            gone: (departed - cell) % cells,
        };
        self.read(oldest.batch);
        debug_assert_eq!(self.front.len() as u64, cells);
        oldest
    }

    /// Reads changes up to `batch`.
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

    /// Returns the number of cells of a VC before the head's batch.
    fn passed(&self, local: u32, batch: u64) -> u64 {
        let vc = &self.vcs[local as usize];
        vc.passed + if vc.in_front { batch - vc.since } else { 0 }
    }

    /// Returns X_i of a VC and, unless that is 0, N_a. `rank` orders the cells of the head's batch; `admitted` is the
    /// number of the VC's admitted cells.
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

    /// Checks a queue that holds `held` cells. Each batch has one cell, which belongs to one of two VCs; the VC changes
    /// every other batch.
    fn history(batches: u64, held: u64, forgets: bool) -> OccupancyHistory {
        let mut history = OccupancyHistory::new(2);
        for batch in 0..batches {
            let local = (batch / 2 % 2) as u32;
            if forgets {
                history.forget(batch.saturating_sub(held), batch, batch);
            }
            if batch % 2 == 0 {
                history.open(batch, local);
            }
            history.on_batches(batch, batch, 1);
            if batch % 2 == 1 {
                history.close(batch + 1, local);
            }
        }
        history
    }

    #[test]
    fn departed_cells_are_discarded_without_queries() {
        for held in [0, 1, 7, 3000] {
            let history = history(100_000, held, true);
            let max = 2 * FEW.max(held as usize + 1);
            assert!(history.stretches.len() <= max, "{} of {held}", history.stretches.len());
            assert!(history.opened.len() + history.closed.len() <= max);
        }
    }

    #[test]
    fn occupancies_do_not_depend_on_discarded_history() {
        for held in [1, 2, 7, 3000] {
            let admitted = |_| 50_000 / 2;
            let found = [true, false].map(|forgets| {
                let mut history = history(50_000, held, forgets);
                let head = history.seek(50_000 - held);
                [0, 1].map(|local| history.occupancy(head, local, |_| Rank::default(), admitted))
            });
            assert_eq!(found[0], found[1]);
            assert_eq!(found[0][0].0 + found[0][1].0, held);
        }
    }
}
