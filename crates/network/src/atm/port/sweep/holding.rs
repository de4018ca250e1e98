//! Occupancy of a port's queue by VC, for policies that depend on it.

use longpipe_events::Ring;

/// Cells of a VC in consecutive slots.
#[derive(Clone, Copy, Debug, Default)]
struct HeldCells {
    slot: u64,
    cells: u64,
    local: u32,
}

/// Number of queued cells of each VC (X_i), and number of VCs with queued cells (N_a), at the latest query.
#[derive(Clone, Debug)]
pub struct Holding {
    held: Ring<HeldCells>,
    vcs: Vec<u64>,
    active: u64,
}

impl Holding {
    /// Creates an empty queue for `vcs` circuits.
    pub fn new(vcs: usize) -> Holding {
        Holding {
            held: Ring::default(),
            vcs: vec![0; vcs],
            active: 0,
        }
    }

    /// Adds cells of a VC that leave in consecutive slots starting with `slot`; `ended` slots have ended.
    #[inline(always)]
    pub fn enter(&mut self, local: u32, slot: u64, cells: u64, ended: u64) {
        // For each new entry, at most one entry is released, so that a port that is rarely queried keeps no history.
        self.release_first(ended);
        self.release_first(ended);
        self.held.push(HeldCells { slot, cells, local });
        let vc = &mut self.vcs[local as usize];
        self.active += u64::from(*vc == 0);
        *vc += cells;
    }

    /// Returns the number of queued cells of a VC (X_i), and the number of VCs with queued cells (N_a), once `ended`
    /// slots have ended.
    pub fn occupancy(&mut self, local: u32, ended: u64) -> (u64, u64) {
        while self.release_first(ended) {}
        if let Some(&HeldCells { slot, cells, local }) = self.held.first().filter(|first| first.slot < ended) {
            let gone = ended - slot;
            *self.held.get_mut(self.held.head()) = HeldCells {
                slot: ended,
                cells: cells - gone,
                local,
            };
            self.vcs[local as usize] -= gone;
        }
        (self.vcs[local as usize], self.active)
    }

    /// Releases the first entry if all its cells have left.
    #[inline(always)]
    fn release_first(&mut self, ended: u64) -> bool {
        let Some(&HeldCells { slot, cells, local }) = self.held.first() else {
            return false;
        };
        if slot + cells > ended {
            return false;
        }
        self.held.pop();
        let vc = &mut self.vcs[local as usize];
        *vc -= cells;
        self.active -= u64::from(*vc == 0);
        true
    }
}
