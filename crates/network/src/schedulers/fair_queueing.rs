//! Self-clocked fair queueing among the VCs of a port (Golestani 1994): while a VC has a unit to send, it gets at least
//! its weight's share of the slots, to within one unit of each VC.

use crate::packets::aal5::CELL_BITS;

/// Virtual time per cell of a VC that has the whole link.
const SCALE: u128 = 1 << 32;

/// Returns the weights [parts of `N` cells/s] of the N VCs of a link: the minimum cell rate of each plus an equal share of
/// what the link has left.
pub fn weights(link_bps: u64, mcrs: &[u64]) -> Vec<u128> {
    let guaranteed: u128 = mcrs.iter().map(|&mcr| u128::from(mcr)).sum();
    let left = u128::from(link_bps / CELL_BITS).saturating_sub(guaranteed);
    let weight = |&mcr: &u64| (mcrs.len() as u128 * u128::from(mcr) + left).max(1);
    mcrs.iter().map(weight).collect()
}

/// Order in which the VCs of a port send units, which are cells or whole frames.
#[derive(Clone, Debug)]
pub struct FairQueueing {
    /// Virtual time per cell, by VC.
    spacing: Vec<u128>,
    /// Finish tag of the latest unit that each VC sent or offered.
    finish: Vec<u128>,
    /// Whether each VC offers a unit.
    offers: Vec<bool>,
    /// Finish tag of the unit in service.
    virtual_time: u128,
}

impl FairQueueing {
    /// Creates the scheduler for VCs with the given weights.
    pub fn new(weights: &[u128]) -> FairQueueing {
        let total: u128 = weights.iter().sum();
        FairQueueing {
            spacing: weights.iter().map(|weight| SCALE * total / weight).collect(),
            finish: vec![0; weights.len()],
            offers: vec![false; weights.len()],
            virtual_time: 0,
        }
    }

    /// Announces that the first unit of a VC's queue has `cells`.
    pub fn offer(&mut self, vc: usize, cells: u32) {
        let start = self.finish[vc].max(self.virtual_time);
        self.finish[vc] = start + u128::from(cells) * self.spacing[vc];
        self.offers[vc] = true;
    }

    /// Returns the VC that sends next, whose unit is no longer offered; None if no VC offers a unit.
    pub fn serve(&mut self) -> Option<usize> {
        let offering = (0..self.finish.len()).filter(|&vc| self.offers[vc]);
        let vc = offering.min_by_key(|&vc| self.finish[vc])?;
        self.virtual_time = self.finish[vc];
        self.offers[vc] = false;
        Some(vc)
    }

    /// Withdraws all offers, because the units have been dropped.
    pub fn withdraw(&mut self) {
        let offering = self
            .offers
            .iter_mut()
            .zip(&mut self.finish)
            .filter(|(offers, _)| **offers);
        // All units that these VCs have sent ended by the virtual time.
        offering.for_each(|(offers, finish)| (*offers, *finish) = (false, self.virtual_time));
    }

    /// Returns whether a VC offers a unit.
    pub fn has_offer(&self) -> bool {
        self.offers.contains(&true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// While all VCs have units, the cells that a VC has sent differ from its share by at most one of its units and
        /// the largest unit of each VC at the same time (Golestani 1994, theorem 1).
        #[test]
        fn backlogged_vcs_get_their_shares_within_a_unit(
            vcs in prop::collection::vec((1u128..1000, 1u32..200), 2..6),
            units in 1usize..3000,
        ) {
            let total: u128 = vcs.iter().map(|vc| vc.0).sum();
            let mut queue = FairQueueing::new(&vcs.iter().map(|vc| vc.0).collect::<Vec<_>>());
            let mut sent = vec![0u128; vcs.len()];
            for (vc, &(_, cells)) in vcs.iter().enumerate() {
                queue.offer(vc, cells);
            }
            for _ in 0..units {
                let vc = queue.serve().expect("all VCs have units");
                sent[vc] += u128::from(vcs[vc].1);
                queue.offer(vc, vcs[vc].1);
            }
            for (i, a) in vcs.iter().enumerate() {
                for (j, b) in vcs.iter().enumerate() {
                    let normalized = |vc: usize, weight: u128| sent[vc] as f64 / weight as f64;
                    let unit = |vc: &(u128, u32)| f64::from(vc.1) / vc.0 as f64;
                    let apart = (normalized(i, a.0) - normalized(j, b.0)).abs();
                    prop_assert!(apart <= (unit(a) + unit(b)) * (1.0 + 1e-6) + 1e-6 / total as f64);
                }
            }
        }
    }

    #[test]
    fn weights_are_guarantees_and_equal_shares_of_the_rest() {
        // 100 cells/s, of which 20 and 30 are guaranteed; each of four VCs gets 12.5 cells/s of the rest.
        assert_eq!(weights(42_400, &[20, 30, 0, 0]), [130, 170, 50, 50]);
        // The whole link is guaranteed.
        assert_eq!(weights(42_400, &[100, 0]), [200, 1]);
    }

    #[test]
    fn an_idle_vc_saves_no_credit() {
        let mut queue = FairQueueing::new(&[1, 1]);
        queue.offer(0, 1);
        for _ in 0..100 {
            assert_eq!(queue.serve(), Some(0));
            queue.offer(0, 1);
        }
        queue.offer(1, 1);
        let mut sent = [0; 2];
        for _ in 0..20 {
            let vc = queue.serve().expect("both VCs have cells");
            sent[vc] += 1;
            queue.offer(vc, 1);
        }
        assert_eq!(sent, [10, 10]);
    }
}
