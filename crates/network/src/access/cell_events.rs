//! Events of a cell in the order of their times; simultaneous ones are in their own order.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Pending events; `A` is a time, or the number of a slot.
#[derive(Clone, Debug)]
pub(super) struct CellEvents<A, E>(BinaryHeap<Entry<A, E>>);

/// An event, which is the greater the earlier it is, because a `BinaryHeap` removes the greatest entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry<A, E> {
    at: A,
    event: E,
}

impl<A: Copy + Ord, E: Copy + Ord> CellEvents<A, E> {
    /// Creates a list without events.
    pub fn new() -> CellEvents<A, E> {
        CellEvents(BinaryHeap::new())
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, at: A, event: E) {
        self.0.push(Entry { at, event });
    }

    /// Returns the time of the first event.
    #[inline]
    pub fn first(&self) -> Option<A> {
        self.0.peek().map(|first| first.at)
    }

    /// Removes and returns the first event with its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(A, E)> {
        self.0.pop().map(|Entry { at, event }| (at, event))
    }
}

impl<A: Ord, E: Ord> Ord for Entry<A, E> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.cmp(&self.at).then_with(|| other.event.cmp(&self.event))
    }
}

impl<A: Ord, E: Ord> PartialOrd for Entry<A, E> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    // The heap calls this method most often. Most times differ, so that one comparison suffices.
    #[inline(always)]
    fn le(&self, other: &Self) -> bool {
        self.at > other.at || (self.at == other.at && self.event >= other.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_sorted_by_time_and_then_by_their_own_order() {
        let mut events = CellEvents::new();
        for (at, event) in [(3, 'a'), (1, 'c'), (2, 'b'), (1, 'a'), (1, 'b')] {
            events.push(at, event);
        }
        assert_eq!(events.first(), Some(1));
        let order: Vec<_> = std::iter::from_fn(|| events.pop()).collect();
        assert_eq!(order, [(1, 'a'), (1, 'b'), (1, 'c'), (2, 'b'), (3, 'a')]);
    }

    proptest::proptest! {
        #[test]
        fn comparisons_agree_with_each_other(one: (u8, u8), other: (u8, u8)) {
            let entry = |(at, event)| Entry { at: at % 4, event: event % 4 };
            let (one, other) = (entry(one), entry(other));
            proptest::prop_assert_eq!(one <= other, one.cmp(&other) != Ordering::Greater);
        }
    }
}
