//! The SACK blocks of an ACK.

use super::Receiver;
use crate::segment::{SackBlock, MAX_SACK_BLOCKS};

impl Receiver {
    /// The block of the latest segment, then those reported last (RFC 2018 section 4).
    #[inline(always)]
    pub(super) fn blocks(&mut self) -> [SackBlock; MAX_SACK_BLOCKS] {
        if let Some(duplicate) = self.duplicate.take() {
            return self.blocks_after(duplicate);
        }
        // Mostly there is but one.
        match self.beyond.only() {
            Some(only) if (only.0..only.1).contains(&self.latest) => {
                self.reported = [only.0, 0, 0];
                [self.block(only), SackBlock::NONE, SackBlock::NONE]
            }
            _ => self.several_blocks(),
        }
    }

    /// What came twice, then the others as far as there is room (RFC 2883 section 4).
    #[cold]
    fn blocks_after(&mut self, duplicate: (u64, u64)) -> [SackBlock; MAX_SACK_BLOCKS] {
        let [first, second, _] = self.several_blocks();
        let mut blocks = [self.block(duplicate), first, second];
        blocks[usize::from(self.sack_blocks)..].fill(SackBlock::NONE);
        blocks
    }

    #[inline(never)]
    fn several_blocks(&mut self) -> [SackBlock; MAX_SACK_BLOCKS] {
        let mut blocks = [SackBlock::NONE; MAX_SACK_BLOCKS];
        let mut reported = [0; MAX_SACK_BLOCKS];
        let mut count = 0;
        for sequence in [self.latest].into_iter().chain(self.reported) {
            if count == usize::from(self.sack_blocks) {
                break;
            }
            let Some((start, end)) = self.beyond.containing(sequence) else {
                continue;
            };
            if !reported[..count].contains(&start) {
                reported[count] = start;
                blocks[count] = self.block((start, end));
                count += 1;
            }
        }
        self.reported = reported;
        blocks
    }

    #[inline(always)]
    fn block(&self, (start, end): (u64, u64)) -> SackBlock {
        SackBlock::new(start.wrapping_sub(self.next) as u32, end.wrapping_sub(self.next) as u32)
    }
}
