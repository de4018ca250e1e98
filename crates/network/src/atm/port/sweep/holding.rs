//! Who is in a port's queue, for policies that ask.

use crate::packets::ring::Ring;

/// Cells of one VC in slots that follow each other.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    slot: u64,
    cells: u64,
    local: u32,
}

/// X_i and N_a, as of the latest look.
#[derive(Clone, Debug)]
pub struct Holding {
    held: Ring<Held>,
    vcs: Vec<u64>,
    active: u64,
}

impl Holding {
    /// None of `vcs` circuits.
    pub fn new(vcs: usize) -> Holding {
        Holding {
            held: Ring::default(),
            vcs: vec![0; vcs],
            active: 0,
        }
    }

    /// Cells of a VC enter, that leave in slots from `slot` on; so many slots are over.
    #[inline(always)]
    pub fn enter(&mut self, local: u32, slot: u64, cells: u64, ended: u64) {
        // One goes for one that comes, so that a port that is seldom asked keeps no history.
        self.release_first(ended);
        self.release_first(ended);
        self.held.push(Held { slot, cells, local });
        let vc = &mut self.vcs[local as usize];
        self.active += u64::from(*vc == 0);
        *vc += cells;
    }

    /// X_i of a VC and N_a once so many slots are over.
    pub fn occupancy(&mut self, local: u32, ended: u64) -> (u64, u64) {
        while self.release_first(ended) {}
        if let Some(&Held { slot, cells, local }) = self.held.first().filter(|first| first.slot < ended) {
            let gone = ended - slot;
            *self.held.get_mut(self.held.head()) = Held {
                slot: ended,
                cells: cells - gone,
                local,
            };
            self.vcs[local as usize] -= gone;
        }
        (self.vcs[local as usize], self.active)
    }

    /// Lets the first cells go if all have left.
    #[inline(always)]
    fn release_first(&mut self, ended: u64) -> bool {
        let Some(&Held { slot, cells, local }) = self.held.first() else {
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
