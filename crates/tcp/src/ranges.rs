//! Disjoint ranges of sequence space in ascending order.

use longpipe_events::memory::Growing;
use std::collections::VecDeque;

/// Half-open ranges that neither overlap nor touch. Most ranges are added and removed at the ends, and most operations
/// concern the last range only.
#[derive(Clone, Debug)]
pub struct Ranges {
    /// The last range; `NONE` if there are no ranges.
    last: (u64, u64),
    /// The other ranges.
    earlier: VecDeque<(u64, u64)>,
}

/// No range: it starts after, and ends before, all bytes.
const NONE: (u64, u64) = (u64::MAX, 0);

impl Default for Ranges {
    fn default() -> Ranges {
        Ranges {
            last: NONE,
            earlier: VecDeque::new(),
        }
    }
}

impl Ranges {
    /// Adds `start..end`, and returns whether any part of it was not covered before.
    #[inline(always)]
    pub fn insert(&mut self, start: u64, end: u64) -> bool {
        let last = &mut self.last;
        // Usually the last range grows, because data beyond a hole arrive in order.
        if last.0 <= start && start <= last.1 {
            let is_new = end > last.1;
            last.1 = last.1.max(end);
            return is_new;
        }
        self.insert_elsewhere(start, end)
    }

    /// Part of `insert` for data that do not start within or at the end of the last range.
    #[inline(never)]
    fn insert_elsewhere(&mut self, start: u64, end: u64) -> bool {
        if self.last.1 < start || self.is_empty() {
            if !self.is_empty() {
                self.earlier.put(self.last);
            }
            self.last = (start, end);
            return true;
        }
        let first = self.earlier.partition_point(|range| range.1 < start);
        // In the usual case, the range is already covered.
        let covers = |range: &(u64, u64)| range.0 <= start && end <= range.1;
        if self.earlier.get(first).is_some_and(covers) {
            return false;
        }
        let reached = self.earlier.range(first..).take_while(|range| range.0 <= end).count();
        let mut grown = (start, end);
        if reached > 0 {
            let (first, last) = (self.earlier[first], self.earlier[first + reached - 1]);
            grown = (start.min(first.0), end.max(last.1));
        }
        if self.last.0 <= end {
            self.last = (grown.0, grown.1.max(self.last.1));
            self.earlier.truncate(first);
        } else if reached > 0 {
            self.earlier[first] = grown;
            self.earlier.drain(first + 1..first + reached);
        } else {
            self.earlier.make_room();
            self.earlier.insert(first, grown);
        }
        true
    }

    /// Returns the end of the last range if `sequence` lies within the range or at its end.
    #[inline]
    pub fn end_of_last_with(&self, sequence: u64) -> Option<u64> {
        (self.last.0 <= sequence && sequence <= self.last.1).then_some(self.last.1)
    }

    /// Removes all ranges that start at or before `limit`, and returns the end of the last one removed.
    #[inline(always)]
    pub fn absorb(&mut self, limit: u64) -> Option<u64> {
        if self.last.0 > limit && self.earlier.front().is_none_or(|first| first.0 > limit) {
            return None;
        }
        self.absorb_some(limit)
    }

    fn absorb_some(&mut self, limit: u64) -> Option<u64> {
        if self.last.0 <= limit {
            let end = self.last.1;
            self.clear();
            return Some(end);
        }
        let reached = self.earlier.partition_point(|range| range.0 <= limit);
        let end = self.earlier.get(reached.checked_sub(1)?)?.1;
        self.earlier.drain(..reached);
        Some(end)
    }

    /// Returns the range that contains `sequence`, if any.
    pub fn containing(&self, sequence: u64) -> Option<(u64, u64)> {
        if self.last.0 <= sequence {
            return (sequence < self.last.1).then_some(self.last);
        }
        let index = self.first_earlier_after(sequence);
        self.earlier.get(index).copied().filter(|range| range.0 <= sequence)
    }

    /// Returns the index of the first range, other than the last one, that ends after `sequence`.
    fn first_earlier_after(&self, sequence: u64) -> usize {
        let count = self.earlier.len();
        if count > 4 {
            return self.earlier.partition_point(|range| range.1 <= sequence);
        }
        // A linear search over a few ranges takes less time.
        let mut index = 0;
        while index < count && self.earlier[index].1 <= sequence {
            index += 1;
        }
        index
    }

    /// Returns the only range; None if there are no ranges or several.
    #[inline]
    pub fn only(&self) -> Option<(u64, u64)> {
        (self.earlier.is_empty() && !self.is_empty()).then_some(self.last)
    }

    /// Returns the index of the first range that ends after `sequence`.
    fn first_after(&self, sequence: u64) -> usize {
        if self.last.0 <= sequence {
            return self.earlier.len() + usize::from(self.last.1 <= sequence);
        }
        self.first_earlier_after(sequence)
    }

    /// Returns a range by its index.
    fn get(&self, index: usize) -> Option<(u64, u64)> {
        match self.earlier.get(index) {
            Some(range) => Some(*range),
            None => (index == self.earlier.len() && !self.is_empty()).then_some(self.last),
        }
    }

    /// Returns the first gap at or after `sequence` that is followed by a range.
    pub fn gap_from(&self, sequence: u64) -> Option<(u64, u64)> {
        let mut index = self.first_after(sequence);
        let mut start = sequence;
        if let Some(range) = self.get(index).filter(|range| range.0 <= start) {
            start = range.1;
            index += 1;
        }
        self.get(index).map(|range| (start, range.0))
    }

    /// Returns the first part of `from..end` that no range covers.
    pub fn missing(&self, from: u64, end: u64) -> Option<(u64, u64)> {
        let mut start = from;
        let mut next = self.first_after(from);
        if let Some(range) = self.get(next).filter(|range| range.0 <= from) {
            start = range.1;
            next += 1;
        }
        let until = self.get(next).map_or(end, |range| range.0.min(end));
        (start < until).then_some((start, until))
    }

    /// Iterates over the ranges in descending order.
    pub fn from_the_last(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let last = (!self.is_empty()).then_some(self.last);
        last.into_iter().chain(self.earlier.iter().rev().copied())
    }

    /// Returns the number of bytes of `from..end` that the ranges cover.
    pub fn covered(&self, from: u64, end: u64) -> u64 {
        // Usually, only the last range may cover any of these bytes.
        if self.last.0 <= from || self.earlier.is_empty() {
            return self.last.1.min(end).saturating_sub(self.last.0.max(from));
        }
        let first = self.first_earlier_after(from);
        let within = self.earlier.range(first..).take_while(|range| range.0 < end);
        let of_range = |range: &(u64, u64)| range.1.min(end).saturating_sub(range.0.max(from));
        within.map(of_range).sum::<u64>() + of_range(&self.last)
    }

    /// Returns whether there are no ranges.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.last.1 == 0
    }

    /// Returns the number of ranges.
    #[inline(always)]
    pub fn count(&self) -> u64 {
        self.earlier.len() as u64 + u64::from(!self.is_empty())
    }

    /// Removes all ranges.
    pub fn clear(&mut self) {
        self.last = NONE;
        self.earlier.clear();
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
                let all: Vec<_> = ranges.earlier.iter().chain([&ranges.last]).collect();
                prop_assert!(all.windows(2).all(|pair| pair[0].1 < pair[1].0));
            }
            let gap = (from..).find(|i| !set.contains(i)).unwrap();
            let behind = set.range(gap..).next().map(|&end| (gap, end));
            prop_assert_eq!(ranges.gap_from(from), behind);
            prop_assert_eq!(ranges.containing(from).is_some(), set.contains(&from));
            let missing = (gap < from + 20).then(|| (gap, set.range(gap..).next().map_or(from + 20, |&next| next.min(from + 20))));
            prop_assert_eq!(ranges.missing(from, from + 20), missing);
            prop_assert_eq!(ranges.covered(from, from + 20), set.range(from..from + 20).count() as u64);
            let reversed: Vec<_> = ranges.from_the_last().collect();
            prop_assert_eq!(ranges.count(), reversed.len() as u64);
            prop_assert!(reversed.windows(2).all(|pair| pair[1].1 < pair[0].0));
            prop_assert_eq!(reversed.iter().flat_map(|range| range.0..range.1).collect::<BTreeSet<_>>(), set.clone());
            let end = ranges.absorb(absorbed).unwrap_or(0).max(absorbed);
            prop_assert!(!set.contains(&end) && (absorbed..end).all(|i| set.contains(&i)));
            let left: BTreeSet<u64> = set.range(end..).copied().collect();
            prop_assert_eq!(ranges.from_the_last().flat_map(|range| range.0..range.1).collect::<BTreeSet<_>>(), left);
        }
    }
}
