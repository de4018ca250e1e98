//! The SACK blocks of an ACK.

use super::Receiver;
use crate::segment::{SackBlock, MAX_SACK_BLOCKS};

impl Receiver {
    /// Returns the block that contains the latest segment, followed by the blocks reported most recently (RFC 2018
    /// section 4).
    #[inline(always)]
    pub(super) fn blocks(&mut self) -> [SackBlock; MAX_SACK_BLOCKS] {
        // `duplicate` is taken only in the cold function, because this one then writes less.
        if self.duplicate.is_some() {
            return self.blocks_after_duplicate();
        }
        // Usually there is only one block.
        match self.out_of_order.only() {
            Some(only) if (only.0..only.1).contains(&self.latest) => {
                (self.reported, self.stored) = ([only, (0, 0), (0, 0)], 0);
                [self.block(only), SackBlock::NONE, SackBlock::NONE]
            }
            _ => {
                // The block is copied word by word, because the processor would stall if one instruction loaded several
                // words that were stored separately.
                let [first, second, third] = self.several_blocks();
                [first, second, third]
            }
        }
    }

    /// Returns a D-SACK block, followed by as many other blocks as fit (RFC 2883 section 4).
    #[cold]
    fn blocks_after_duplicate(&mut self) -> [SackBlock; MAX_SACK_BLOCKS] {
        let duplicate = self.duplicate.take().map(|duplicate| self.block(duplicate));
        let [first, second, _] = self.several_blocks();
        let mut blocks = [duplicate.unwrap_or_default(), first, second];
        blocks[usize::from(self.sack_blocks)..].fill(SackBlock::NONE);
        blocks
    }

    /// Returns the block that contains the latest segment, followed by the blocks of the previous ACK that still exist, and
    /// stores them in `self.reported`. Blocks are (start, end) as absolute sequence numbers; end 0 means no block.
    #[inline(never)]
    fn several_blocks(&mut self) -> [SackBlock; MAX_SACK_BLOCKS] {
        let compression = self.compression.as_deref();
        let count = match compression.filter(|compression| compression.knows_all()) {
            // Shortcut: the latest segment is in the first range, and no range has to be looked up.
            Some(compression) => {
                let beyond = compression.ranges().iter().filter(|&&(start, _)| start > self.next);
                let reported = self.reported[..usize::from(self.sack_blocks)].iter_mut();
                self.stored = 0;
                beyond.zip(reported).map(|(range, block)| *block = *range).count()
            }
            None => self.look_up_blocks(),
        };
        self.reported[count..].fill((0, 0));
        self.reported.map(|block| {
            if block.1 == 0 {
                SackBlock::NONE
            } else {
                self.block(block)
            }
        })
    }

    /// Sets the blocks to report, and returns their number.
    fn look_up_blocks(&mut self) -> usize {
        // If ACKs are compressed, some ranges have not been reported yet, so the order of arrival determines the
        // blocks.
        let compressed = self.compression.as_ref().map(|compression| compression.ranges());
        let reported = self.reported;
        let previous_blocks = compressed.unwrap_or(&reported);
        let mut count = 0;
        let latest = if self.latest < self.next {
            None
        } else {
            self.out_of_order.containing(self.latest)
        };
        if let Some(latest) = latest {
            (self.reported[0], count) = (latest, 1);
        }
        // If no other segment arrived, each previously reported block is unchanged, contains the latest segment, or has
        // been acknowledged cumulatively.
        let stored = std::mem::take(&mut self.stored);
        let no_other_arrived = compressed.is_none() && (stored == 0 || stored == self.latest);
        for &(start, end) in previous_blocks {
            if count == usize::from(self.sack_blocks) {
                break;
            }
            if no_other_arrived {
                let is_within_latest = latest.is_some_and(|latest| latest.0 <= start && end <= latest.1);
                if start > self.next && !is_within_latest {
                    self.reported[count] = (start, end);
                    count += 1;
                }
            } else if let Some(block) = self.out_of_order.containing(start) {
                if !self.reported[..count].contains(&block) {
                    self.reported[count] = block;
                    count += 1;
                }
            }
        }
        count
    }

    /// Returns a block in the form of the segment: relative to RCV.NXT.
    #[inline(always)]
    fn block(&self, (start, end): (u64, u64)) -> SackBlock {
        SackBlock::new(start.wrapping_sub(self.next) as u32, end.wrapping_sub(self.next) as u32)
    }
}
