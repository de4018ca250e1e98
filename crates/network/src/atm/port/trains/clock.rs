//! When batches of cells reach a port, and which of its slots they find.

use crate::atm::slots::SlotGrid;
use longpipe_events::{Span, Time};

/// Batch `k` is the cells that leave their interfaces in slot `k` and so reach the port at one instant.
#[derive(Clone, Debug)]
pub struct Clock {
    input: SlotGrid,
    delay: Span,
    output: SlotGrid,
    /// The first slot of batch `k`, less `k + 1`, if that is the same for all.
    offset: Option<u64>,
    /// Most slots that begin between two batches.
    pub most: u64,
    /// Slots to a batch, in 2^-32, rounded down.
    ratio: u64,
}

/// Rounding moves the slots between two batches by no more.
const MARGIN: u64 = 4;

impl Clock {
    /// For inputs with one grid and one delay.
    pub fn new(input: SlotGrid, delay: Span, output: SlotGrid) -> Clock {
        let offset = input.alignment(delay, &output);
        let most = offset.map_or_else(|| input.contains(&output).1, |_| 1);
        Clock {
            input,
            delay,
            output,
            offset,
            most,
            ratio: input.ratio(&output),
        }
    }

    /// When batch `k` arrives.
    #[inline]
    pub fn time(&self, k: u64) -> Time {
        self.input.start(k + 1) + self.delay
    }

    /// Propagation from the interfaces.
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// The last batch that arrives by `t`; none before the first.
    pub fn latest(&self, t: Time) -> Option<u64> {
        let since = t.0.checked_sub(self.delay.0)?;
        self.input.ended_by(Time(since)).checked_sub(1)
    }

    /// First slot that begins when batch `k` arrives, at `time`, or later, and the number of those that have ended.
    #[inline]
    pub fn slots(&self, k: u64, time: Time) -> Slots {
        let (first, ended) = match self.offset {
            Some(offset) => (k + 1 + offset, k + offset),
            None => self.output.around(time),
        };
        Slots { first, ended }
    }

    /// Bounds on the same, for a batch that is not long after a known one: no earlier first slot, no fewer over.
    #[inline(always)]
    pub fn bounds(&self, known: &Known, k: u64) -> Slots {
        if let Some(offset) = self.offset {
            return Slots {
                first: k + 1 + offset,
                ended: k + offset,
            };
        }
        let slots = (k - known.batch).wrapping_mul(self.ratio) >> 32;
        Slots {
            first: known.slots.first + slots + MARGIN,
            ended: known.slots.ended + slots.saturating_sub(MARGIN),
        }
    }

    /// Likewise, of a batch whose time is not known.
    #[inline]
    pub fn slots_of(&self, k: u64) -> Slots {
        match self.offset {
            Some(_) => self.slots(k, Time::ZERO),
            None => self.slots(k, self.time(k)),
        }
    }
}

/// A port's slots around a batch.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    /// The first that the batch can use.
    pub first: u64,
    /// How many have ended when it arrives.
    pub ended: u64,
}

/// A batch of which it is known what slots it finds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) batch: u64,
    pub(super) slots: Slots,
}
