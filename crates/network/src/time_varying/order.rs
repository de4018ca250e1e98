//! Order in which packets with a varying delay arrive, and counts of overtaking packets.

use crate::scenario::time_varying::OrderConfig;
use longpipe_events::Ring;

/// Counts of overtaking packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overtakings {
    /// Number of packets that arrived before a packet that was sent earlier.
    pub packets: u64,
    /// Maximum number of packets that one packet overtook.
    pub furthest: u64,
}

/// A packet that overtook others.
#[derive(Clone, Copy, Debug, Default)]
struct Overtaking {
    leaves: u64,
    places: u64,
}

/// Order of arrivals over a link.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    free: bool,
    /// Earliest possible arrival [ps] of the next packet, if the link keeps packets in order.
    min: u64,
    /// Sorted arrival times of the packets on the wire, if the link allows overtaking.
    arrivals: Ring<u64>,
    /// Counts for packets that have been sent.
    past: Overtakings,
    /// Overtaking packets whose transmission may not yet have ended.
    to_come: Ring<Overtaking>,
}

impl Order {
    /// Creates the state of an empty wire.
    pub fn new(config: OrderConfig) -> Order {
        Order {
            free: config == OrderConfig::Free,
            min: 0,
            arrivals: Ring::default(),
            past: Overtakings::default(),
            to_come: Ring::default(),
        }
    }

    /// Returns the arrival time of a packet sent at `leaves`, after all earlier packets; `arrival` is the time at which
    /// it would arrive according to its delay alone.
    #[inline]
    pub fn arrive(&mut self, now: u64, leaves: u64, arrival: u64) -> u64 {
        if !self.free {
            return self.arrive_in_order(arrival);
        }
        while self.arrivals.first().is_some_and(|&first| first <= leaves) {
            self.arrivals.pop();
        }
        let mut place = self.arrivals.tail();
        while place > self.arrivals.head() && *self.arrivals.get(place - 1) > arrival {
            place -= 1;
        }
        let places = self.arrivals.tail() - place;
        self.arrivals.insert(place, arrival);
        self.settle(now);
        if places > 0 {
            self.to_come.push(Overtaking { leaves, places });
        }
        arrival
    }

    /// Returns whether the link keeps packets in order.
    pub fn is_kept(&self) -> bool {
        !self.free
    }

    /// Like `arrive`, for a link that keeps packets in order.
    #[inline(always)]
    pub fn arrive_in_order(&mut self, arrival: u64) -> u64 {
        let arrival = arrival.max(self.min);
        self.min = arrival + 1;
        arrival
    }

    /// Returns the counts for packets sent by `now`.
    pub fn overtakings(&mut self, now: u64) -> Overtakings {
        self.settle(now);
        self.past
    }

    fn settle(&mut self, now: u64) {
        while let Some(packet) = self.to_come.first().copied().filter(|packet| packet.leaves <= now) {
            self.to_come.pop();
            self.past.packets += 1;
            self.past.furthest = self.past.furthest.max(packet.places);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_wire_keeps_order() {
        let mut order = Order::new(OrderConfig::Fifo);
        assert_eq!(
            [(0, 50), (1, 40), (2, 51), (3, 60)].map(|(at, to)| order.arrive(at, at, to)),
            [50, 51, 52, 60]
        );
        assert_eq!(order.overtakings(100), Overtakings::default());
    }

    proptest! {
        #[test]
        fn overtakings_equal_a_count_over_all_pairs(
            packets in prop::collection::vec((0u64..5, 1u64..40), 1..60), end in 0u64..200,
        ) {
            let (mut order, mut leaves, mut all) = (Order::new(OrderConfig::Free), 0, vec![]);
            for (gap, delay) in packets {
                leaves += gap;
                prop_assert_eq!(order.arrive(leaves.min(end), leaves, leaves + delay), leaves + delay);
                all.push((leaves, leaves + delay));
            }
            let mut expected = Overtakings::default();
            for (at, &(left, arrival)) in all.iter().enumerate() {
                let places = all[..at].iter().filter(|(_, other)| *other > arrival).count() as u64;
                if places > 0 && left <= end {
                    expected.packets += 1;
                    expected.furthest = expected.furthest.max(places);
                }
            }
            prop_assert_eq!(order.overtakings(end), expected);
        }
    }
}
