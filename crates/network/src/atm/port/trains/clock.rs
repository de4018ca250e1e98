//! Arrival times of batches at a port, and the port's slots at these times.

use crate::slots::SlotGrid;
use longpipe_events::{Span, Time};

/// Batch `k` consists of the cells that leave their interfaces in slot `k` and therefore reach the port at the same
/// time.
#[derive(Clone, Debug)]
pub struct BatchClock {
    input: SlotGrid,
    delay: Span,
    output: SlotGrid,
    /// First slot of batch `k`, minus `k + 1`, if this difference is constant.
    offset: Option<u64>,
    /// Maximum number of slots that start between two batches.
    pub max: u64,
    /// Slots per batch, in units of 2^-32, rounded down.
    ratio: u64,
}

/// Bound on the effect of rounding on the number of slots between two batches.
const MARGIN: u64 = 4;

impl BatchClock {
    /// Creates the clock for inputs that share one slot grid and one delay.
    pub fn new(input: SlotGrid, delay: Span, output: SlotGrid) -> BatchClock {
        let offset = input.alignment(delay, &output);
        let max = offset.map_or_else(|| input.contains(&output).1, |_| 1);
        BatchClock {
            input,
            delay,
            output,
            offset,
            max,
            ratio: input.ratio(&output),
        }
    }

    /// Returns the arrival time of batch `k`.
    #[inline]
    pub fn time(&self, k: u64) -> Time {
        self.input.start(k + 1) + self.delay
    }

    /// Returns the propagation delay from the interfaces.
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Returns the number of the last batch that arrives by `t`; None before the first batch.
    pub fn latest(&self, t: Time) -> Option<u64> {
        let since = t.0.checked_sub(self.delay.0)?;
        self.input.ended_by(Time(since)).checked_sub(1)
    }

    /// Returns the first slot that starts at or after `time`, the arrival of batch `k`, and the number of slots that
    /// have ended.
    #[inline]
    pub fn slots(&self, k: u64, time: Time) -> BatchSlots {
        let (first, ended) = match self.offset {
            Some(offset) => (k + 1 + offset, k + offset),
            None => self.output.around(time),
        };
        BatchSlots { first, ended }
    }

    /// Returns bounds for a batch soon after a batch whose slots are known: a lower bound on its first slot, and an
    /// upper bound on the number of slots that have ended.
    #[inline(always)]
    pub fn bounds(&self, anchor: &Known, k: u64) -> BatchSlots {
        if let Some(offset) = self.offset {
            return BatchSlots {
                first: k + 1 + offset,
                ended: k + offset,
            };
        }
        let slots = (k - anchor.batch).wrapping_mul(self.ratio) >> 32;
        BatchSlots {
            first: anchor.slots.first + slots + MARGIN,
            ended: anchor.slots.ended + slots.saturating_sub(MARGIN),
        }
    }

    /// Returns the slots of a batch whose time is not known.
    #[inline]
    pub fn slots_of(&self, k: u64) -> BatchSlots {
        match self.offset {
            Some(_) => self.slots(k, Time::ZERO),
            None => self.slots(k, self.time(k)),
        }
    }
}

/// Slots of a port at the time when a batch arrives.
#[derive(Clone, Copy, Debug)]
pub struct BatchSlots {
    /// First slot that the batch can use.
    pub first: u64,
    /// Number of slots that have ended when the batch arrives.
    pub ended: u64,
}

/// A batch whose slots are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) batch: u64,
    pub(super) slots: BatchSlots,
}
