//! Slots of a cell, and their division between the directions.

use longpipe_events::Time;

/// Symbols of a slot with a normal cyclic prefix (TS 38.211 section 4.3.2).
pub(super) const SYMBOLS: u64 = 14;

/// Directions of a radio link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    Down,
    Up,
}

/// Slots of a cell. With TDD, each period has downlink slots, a special slot with downlink symbols, and uplink slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub slot_ps: u64,
    /// Downlink slots of a period, without the special slot.
    pub down: u64,
    /// Downlink symbols of the special slot.
    pub special_symbols: u64,
    /// Uplink slots of a period; 0 with FDD, where each slot has both directions.
    pub up: u64,
}

impl Frame {
    /// Returns the number of slots of a period.
    pub fn period(&self) -> u64 {
        match self.up {
            0 => 1,
            up => self.down + 1 + up,
        }
    }

    /// Returns the start of a slot.
    pub fn start(&self, slot: u64) -> Time {
        Time(slot * self.slot_ps)
    }

    /// Returns the first slot that starts after `now`.
    pub fn after(&self, now: Time) -> u64 {
        now.0 / self.slot_ps + 1
    }

    /// Returns the number of slots that a time [ps] needs.
    pub fn slots(&self, ps: u64) -> u64 {
        ps.div_ceil(self.slot_ps)
    }

    /// Returns the first slot of a direction from `slot` on.
    pub fn next(&self, way: Way, slot: u64) -> u64 {
        if self.up == 0 {
            return slot;
        }
        let place = slot % self.period();
        match way {
            Way::Down if place <= self.last_down() => slot,
            Way::Down => slot + self.period() - place,
            Way::Up => slot + (self.down + 1).saturating_sub(place),
        }
    }

    /// Returns the place of the last downlink slot in a period.
    fn last_down(&self) -> u64 {
        match self.special_symbols {
            0 => self.down - 1,
            _ => self.down,
        }
    }

    /// Returns the downlink slot with the grants of an uplink slot, `grant_slots` slots before it or earlier; None if it is
    /// before the start of the run.
    pub fn grant_of(&self, uplink: u64, grant_slots: u64) -> Option<u64> {
        let last = uplink.checked_sub(grant_slots)?;
        if self.up == 0 {
            return Some(last);
        }
        last.checked_sub((last % self.period()).saturating_sub(self.last_down()))
    }

    /// Returns the number of symbols of a direction in a slot.
    pub fn symbols(&self, way: Way, slot: u64) -> u64 {
        let is_special = self.up > 0 && way == Way::Down && slot % self.period() == self.down;
        if is_special {
            self.special_symbols
        } else {
            SYMBOLS
        }
    }

    /// Returns the number of symbols of a direction in a period.
    pub fn symbols_of_period(&self, way: Way) -> u64 {
        match (self.up, way) {
            (0, _) => SYMBOLS,
            (_, Way::Down) => self.down * SYMBOLS + self.special_symbols,
            (up, Way::Up) => up * SYMBOLS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uplink_slots_have_the_grants_of_earlier_downlink_slots() {
        let nr = Frame {
            slot_ps: 500_000_000,
            down: 6,
            special_symbols: 8,
            up: 3,
        };
        assert_eq!((nr.period(), nr.next(Way::Up, 10), nr.next(Way::Down, 7)), (10, 17, 10));
        let grants: Vec<_> = [7, 8, 9, 17].map(|slot| nr.grant_of(slot, 4)).into();
        assert_eq!(grants, [Some(3), Some(4), Some(5), Some(13)]);
        // With 10 slots, a grant is in the special slot of the period before.
        assert_eq!((nr.grant_of(19, 10), nr.grant_of(7, 8)), (Some(6), None));
        assert_eq!((nr.symbols(Way::Down, 6), nr.symbols_of_period(Way::Down)), (8, 92));
        let lte = Frame {
            slot_ps: 1_000_000_000,
            down: 1,
            special_symbols: 0,
            up: 0,
        };
        assert_eq!(
            (lte.period(), lte.next(Way::Up, 5), lte.grant_of(9, 4)),
            (1, 5, Some(5))
        );
    }
}
