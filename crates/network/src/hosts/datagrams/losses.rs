//! Losses of datagrams on a path that may reorder or duplicate packets, where a missing datagram may still arrive.
//!
//! The receiver notices a loss when a later datagram arrives, so losses after the last datagram that arrived do not count
//! yet.

use longpipe_events::memory::Growing;
use longpipe_tcp::ranges::Ranges;

/// A datagram of which several copies exist.
#[derive(Clone, Copy, Debug)]
struct Duplicated {
    number: u64,
    /// Copies that have neither arrived nor been lost.
    in_transit: u64,
    arrived: bool,
}

/// Lost datagrams of a flow. A datagram is lost when its last copy is lost, if no copy of it has arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    /// Datagrams with several copies of which some are in transit, in ascending order.
    duplicated: Vec<Duplicated>,
    /// Number of lost datagrams that were sent before the last one that arrived.
    lost: u64,
    /// Lost datagrams that were sent after the last one that arrived.
    later: Ranges,
}

impl Losses {
    /// Records that a copy of a datagram is duplicated.
    pub fn duplicate(&mut self, number: u64) {
        match self.position(number) {
            Ok(index) => self.duplicated[index].in_transit += 1,
            Err(index) => {
                self.duplicated.make_room();
                self.duplicated.insert(
                    index,
                    Duplicated {
                        number,
                        in_transit: 2,
                        arrived: false,
                    },
                );
            }
        }
    }

    /// Records the arrival of a copy of a datagram. Returns whether it is the first one.
    pub fn arrive(&mut self, number: u64) -> bool {
        let Ok(index) = self.position(number) else {
            return true;
        };
        let first = !std::mem::replace(&mut self.duplicated[index].arrived, true);
        self.end_copy(index);
        first
    }

    /// Records that a copy of a datagram is lost; `expected` is the number after that of the last datagram that
    /// arrived.
    pub fn lose(&mut self, number: u64, expected: u64) {
        if let Ok(index) = self.position(number) {
            let Duplicated {
                in_transit, arrived, ..
            } = self.duplicated[index];
            self.end_copy(index);
            if arrived || in_transit > 1 {
                return;
            }
        }
        if number < expected {
            self.lost += 1;
        } else {
            self.later.insert(number, number + 1);
        }
    }

    /// Records that the datagram before number `expected` has arrived as the last one so far: the losses before it count.
    pub fn reach(&mut self, expected: u64) {
        if !self.later.is_empty() {
            self.lost += self.later.covered(0, expected);
            // The datagram that arrived is in no range, so every range ends before it or begins after it.
            self.later.absorb(expected - 1);
        }
    }

    /// Returns the number of lost datagrams that were sent before the last one that arrived.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the index of a datagram in `duplicated`, or the index at which it would be inserted.
    fn position(&self, number: u64) -> Result<usize, usize> {
        self.duplicated
            .binary_search_by_key(&number, |datagram| datagram.number)
    }

    /// Records that a copy is no longer in transit, and removes the datagram after its last copy.
    fn end_copy(&mut self, index: usize) {
        self.duplicated[index].in_transit -= 1;
        if self.duplicated[index].in_transit == 0 {
            self.duplicated.remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_count_once_a_later_datagram_has_arrived() {
        let mut losses = Losses::default();
        losses.lose(1, 0);
        losses.lose(2, 0);
        losses.lose(5, 0);
        assert_eq!(losses.lost(), 0);
        assert!(losses.arrive(3));
        losses.reach(4);
        assert_eq!(losses.lost(), 2);
        losses.lose(0, 4);
        assert_eq!(losses.lost(), 3);
        assert!(losses.arrive(9));
        losses.reach(10);
        assert_eq!(losses.lost(), 4);
    }

    #[test]
    fn duplicated_datagram_arrives_with_its_first_copy() {
        let mut losses = Losses::default();
        for number in [4, 2, 3] {
            losses.duplicate(number);
        }
        losses.duplicate(4);
        // The first copy of datagram 2 is lost and the second one arrives; datagram 3 has the opposite fate.
        losses.lose(2, 0);
        assert!(losses.arrive(2));
        assert!(losses.arrive(3));
        losses.reach(4);
        losses.lose(3, 4);
        assert_eq!(losses.lost(), 0);
        // Datagram 4 has three copies; they are all lost.
        (0..3).for_each(|_| losses.lose(4, 4));
        assert!(losses.arrive(5));
        losses.reach(6);
        assert_eq!((losses.lost(), losses.duplicated.len()), (1, 0));
        losses.duplicate(6);
        assert!(losses.arrive(6));
        assert!(!losses.arrive(6));
        assert!(losses.duplicated.is_empty());
    }
}
