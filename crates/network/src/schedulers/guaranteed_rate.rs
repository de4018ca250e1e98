//! Guaranteed rate: of N cells that are sent while both classes hold cells, GR · N are UBR cells (gr-97 section 3).

use super::class::Class;

/// A share of 1, expressed in parts per billion.
pub const ONE: u64 = 1_000_000_000;

/// Spreads UBR's slots evenly: of N contested slots, UBR has had GR · N, to within one slot.
#[derive(Clone, Debug)]
pub struct GuaranteedRate {
    /// GR [parts per billion].
    share: u64,
    /// UBR's credit [parts per billion of a slot], which is less than one slot.
    credit: u64,
}

impl GuaranteedRate {
    /// Creates the scheduler; the share must be at most one billion parts per billion.
    pub fn new(share_ppb: u64) -> GuaranteedRate {
        GuaranteedRate {
            share: share_ppb,
            credit: 0,
        }
    }

    /// Returns the class of the next contested slot.
    #[inline]
    pub fn choose(&mut self) -> Class {
        self.credit += self.share;
        if self.credit < ONE {
            return Class::Vbr;
        }
        self.credit -= ONE;
        Class::Ubr
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn after_n_contested_slots_ubr_has_its_share_within_one_cell(share in 0..=ONE, slots in 1u64..5000) {
            let mut scheduler = GuaranteedRate::new(share);
            let mut ubr = 0u64;
            for n in 1..=slots {
                ubr += u64::from(scheduler.choose() == Class::Ubr);
                prop_assert_eq!(ubr, n * share / ONE);
            }
        }
    }

    #[test]
    fn shares_including_zero_and_one_are_exact() {
        let ubr = |share| {
            let mut scheduler = GuaranteedRate::new(share);
            (0..1000).filter(|_| scheduler.choose() == Class::Ubr).count()
        };
        assert_eq!((ubr(0), ubr(ONE / 10), ubr(ONE / 2), ubr(ONE)), (0, 100, 500, 1000));
    }
}
