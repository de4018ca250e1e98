//! Disjoint ranges of sequence space in ascending order.

use longpipe_events::memory::Growing;
use std::collections::VecDeque;

/// Half-open ranges that neither overlap nor touch. They are stored in a deque, because most ranges are added and
/// removed at the ends.
#[derive(Clone, Debug, Default)]
pub struct Ranges(VecDeque<(u64, u64)>);

impl Ranges {
    /// Adds `start..end`, and returns whether any part of it was not covered before.
    #[inline(always)]
    pub fn insert(&mut self, start: u64, end: u64) -> bool {
        // Usually the last range grows, because data beyond a hole arrive in order.
        match self.0.back_mut() {
            Some(last) if last.0 <= start && start <= last.1 => {
                let is_new = end > last.1;
                last.1 = last.1.max(end);
                is_new
            }
            _ => self.insert_elsewhere(start, end),
        }
    }

    /// Part of `insert` for data that do not start within or at the end of the last range.
    #[inline(never)]
    fn insert_elsewhere(&mut self, start: u64, end: u64) -> bool {
        let ranges = &mut self.0;
        if ranges.back().is_none_or(|last| last.1 < start) {
            ranges.put((start, end));
            return true;
        }
        let first = ranges.partition_point(|range| range.1 < start);
        match ranges.get_mut(first) {
            // In the usual case, the range is already covered.
            Some(range) if range.0 <= start && end <= range.1 => return false,
            Some(range) if range.0 <= end => {
                range.0 = range.0.min(start);
                range.1 = range.1.max(end);
            }
            _ => {
                ranges.make_room();
                ranges.insert(first, (start, end));
                return true;
            }
        }
        let reached = ranges.range(first + 1..).take_while(|range| range.0 <= end).count();
        if reached > 0 {
            ranges[first].1 = end.max(ranges[first + reached].1);
            ranges.drain(first + 1..=first + reached);
        }
        true
    }

    /// Removes all ranges that start at or before `limit`, and returns the end of the last one removed.
    #[inline(always)]
    pub fn absorb(&mut self, limit: u64) -> Option<u64> {
        if self.0.front().is_none_or(|first| first.0 > limit) {
            return None;
        }
        self.absorb_some(limit)
    }

    fn absorb_some(&mut self, limit: u64) -> Option<u64> {
        let reached = self.0.partition_point(|range| range.0 <= limit);
        let end = self.0.get(reached.checked_sub(1)?)?.1;
        self.0.drain(..reached);
        Some(end)
    }

    /// Returns the range that contains `sequence`, if any.
    pub fn containing(&self, sequence: u64) -> Option<(u64, u64)> {
        let last = self.0.back()?;
        if last.0 <= sequence {
            return (sequence < last.1).then_some(*last);
        }
        let index = self.0.partition_point(|range| range.1 <= sequence);
        self.0.get(index).copied().filter(|range| range.0 <= sequence)
    }

    /// Returns the only range; None if there are no ranges or several.
    pub fn only(&self) -> Option<(u64, u64)> {
        (self.0.len() == 1).then(|| self.0[0])
    }

    /// Returns the first gap at or after `sequence` that is followed by a range.
    pub fn gap_from(&self, sequence: u64) -> Option<(u64, u64)> {
        let mut index = self.0.partition_point(|range| range.1 <= sequence);
        let mut start = sequence;
        if let Some(range) = self.0.get(index).filter(|range| range.0 <= start) {
            start = range.1;
            index += 1;
        }
        self.0.get(index).map(|range| (start, range.0))
    }

    /// Returns the first part of `from..end` that no range covers.
    pub fn missing(&self, from: u64, end: u64) -> Option<(u64, u64)> {
        let last = self.0.back().filter(|last| last.0 <= from);
        let index = match last {
            Some(_) => self.0.len() - 1,
            None => self.0.partition_point(|range| range.1 <= from),
        };
        let (mut start, mut next) = (from, index);
        if let Some(range) = self.0.get(index).filter(|range| range.0 <= from) {
            start = from.max(range.1);
            next += 1;
        }
        let until = self.0.get(next).map_or(end, |range| range.0.min(end));
        (start < until).then_some((start, until))
    }

    /// Iterates over the ranges in descending order.
    pub fn from_the_last(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().rev().copied()
    }

    /// Returns the number of bytes of `from..end` that the ranges cover.
    pub fn covered(&self, from: u64, end: u64) -> u64 {
        let first = self.0.partition_point(|range| range.1 <= from);
        let within = self.0.range(first..).take_while(|range| range.0 < end);
        within.map(|range| range.1.min(end) - range.0.max(from)).sum()
    }

    /// Returns whether there are no ranges.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all ranges.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn ranges_agree_with_a_set_of_bytes(
            inserted in prop::collection::vec((0u64..60, 1u64..12), 0..20),
            absorbed in 0u64..80,
            from in 0u64..80,
        ) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for (start, length) in inserted {
                let before = set.len();
                set.extend(start..start + length);
                prop_assert_eq!(ranges.insert(start, start + length), set.len() > before);
                prop_assert!(ranges.0.iter().zip(ranges.0.iter().skip(1)).all(|(a, b)| a.1 < b.0));
            }
            let gap = (from..).find(|i| !set.contains(i)).unwrap();
            let behind = set.range(gap..).next().map(|&end| (gap, end));
            prop_assert_eq!(ranges.gap_from(from), behind);
            prop_assert_eq!(ranges.containing(from).is_some(), set.contains(&from));
            let missing = (gap < from + 20).then(|| (gap, set.range(gap..).next().map_or(from + 20, |&next| next.min(from + 20))));
            prop_assert_eq!(ranges.missing(from, from + 20), missing);
            prop_assert_eq!(ranges.covered(from, from + 20), set.range(from..from + 20).count() as u64);
            prop_assert!(ranges.from_the_last().eq(ranges.0.iter().rev().copied()));
            let end = ranges.absorb(absorbed).unwrap_or(0).max(absorbed);
            prop_assert!(!set.contains(&end) && (absorbed..end).all(|i| set.contains(&i)));
            let left: BTreeSet<u64> = set.range(end..).copied().collect();
            prop_assert_eq!(ranges.0.iter().flat_map(|range| range.0..range.1).collect::<BTreeSet<_>>(), left);
        }
    }
}
