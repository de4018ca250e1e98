//! Segments that the network lost, with the causes.

use longpipe_events::memory::{self, Growing};
use longpipe_events::Time;
use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

/// Cause of a segment's loss, as numbered by the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LossCause(pub u8);

impl LossCause {
    /// No data segment is known to be lost: only ACKs were lost, or the reduction is spurious.
    pub const NONE: LossCause = LossCause(0);
    /// An ECN mark, not a loss.
    pub const MARK: LossCause = LossCause(1);
    /// The first cause of losses in the network.
    pub const FIRST: LossCause = LossCause(2);
}

/// Maximum number of causes: no known loss, an ECN mark, and the causes of losses in the network.
pub const CAUSES: usize = 16;

/// A data segment that the network lost, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loss {
    /// First byte of the segment.
    pub sequence: u64,
    /// Number of the transmission that was lost; transmissions are numbered in order. A frame of cells is lost in
    /// parts; the first lost part counts.
    pub transmission: u64,
    /// Time of the loss.
    pub time: Time,
    /// Cause of the loss.
    pub cause: LossCause,
}

impl Loss {
    /// Returns a range that contains the losses of a segment before the given transmission.
    fn all_of(sequence: u64, transmission: u64) -> Range<Loss> {
        let bound = |transmission| Loss {
            sequence,
            transmission,
            time: Time(0),
            cause: LossCause(0),
        };
        bound(0)..bound(transmission)
    }

    /// Returns whether a reduction responds to this loss rather than to another one. It responds to the loss of the
    /// first segment. Among the transmissions of this segment, the latest counts; among the parts of this transmission,
    /// the first lost part counts.
    pub(super) fn precedes(&self, other: &Loss) -> bool {
        let key = |loss: &Loss| (loss.sequence, Reverse(loss.transmission), loss.time, loss.cause);
        key(self) < key(other)
    }
}

/// Losses of segments that are not acknowledged, in order of sequence number and transmission, although the network may
/// report them in any order.
#[derive(Clone, Debug, Default)]
pub(super) struct ReportedLosses {
    /// Losses that were reported in order, as most are.
    in_order: VecDeque<Loss>,
    /// Losses that were reported after one that follows them in `in_order`.
    others: BTreeSet<Loss>,
    /// Number of items of `others` whose memory is counted.
    counted: usize,
}

impl ReportedLosses {
    /// Adds a loss.
    pub(super) fn insert(&mut self, loss: Loss) {
        if self.in_order.back().is_none_or(|&last| last <= loss) {
            return self.in_order.put(loss);
        }
        if self.others.len() == self.counted {
            let more = self.counted.max(4);
            memory::take(memory::bytes::<Loss>(more));
            self.counted += more;
        }
        self.others.insert(loss);
    }

    /// Removes the losses of segments that start before `una`.
    pub(super) fn forget_before(&mut self, una: u64) {
        while self.in_order.front().is_some_and(|loss| loss.sequence < una) {
            self.in_order.pop_front();
        }
        while self.others.first().is_some_and(|loss| loss.sequence < una) {
            self.others.pop_first();
        }
    }

    /// Shortcut: returns the first loss if it satisfies a condition, no other loss of its segment is known, and all losses
    /// were reported in order.
    pub(super) fn only_of_first_segment(&self, condition: impl Fn(&Loss) -> bool) -> Option<Loss> {
        let first = self.in_order.front().filter(|&loss| condition(loss))?;
        let second = self.in_order.get(1);
        let alone = self.others.is_empty() && second.is_none_or(|second| second.sequence != first.sequence);
        alone.then_some(*first)
    }

    /// Returns the losses of the first segment one of whose losses satisfies a condition.
    pub(super) fn first_segment(&self, condition: impl Fn(&Loss) -> bool) -> Option<impl Iterator<Item = &Loss>> {
        let first = self.in_order.iter().find(|&loss| condition(loss));
        let other = self.others.iter().find(|&loss| condition(loss));
        let sequence = first.into_iter().chain(other).map(|loss| loss.sequence).min()?;
        let begin = self.in_order.partition_point(|loss| loss.sequence < sequence);
        let in_order = self
            .in_order
            .range(begin..)
            .take_while(move |loss| loss.sequence == sequence);
        Some(in_order.chain(self.others.range(Loss::all_of(sequence, u64::MAX))))
    }

    /// Removes the losses of a segment before the given transmission.
    pub(super) fn forget_earlier(&mut self, loss: &Loss) {
        let begin = self
            .in_order
            .partition_point(|earlier| earlier.sequence < loss.sequence);
        let end = self
            .in_order
            .partition_point(|earlier| (earlier.sequence, earlier.transmission) < (loss.sequence, loss.transmission));
        self.in_order.drain(begin..end);
        while let Some(&loss_of_segment) = self.others.range(Loss::all_of(loss.sequence, loss.transmission)).next() {
            self.others.remove(&loss_of_segment);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.in_order.len() + self.others.len()
    }
}
