//! The sender's SACK scoreboard: which bytes beyond SND.UNA the receiver holds (RFC 2018 section 5; ATM Forum/98-0876
//! section 3.2).

use crate::ranges::Ranges;

/// Ranges reported by SACK blocks, and the byte below which all holes between them have been retransmitted.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    sacked: Ranges,
    /// All holes below this byte have been retransmitted.
    retransmitted_until: u64,
}

impl Scoreboard {
    /// Processes an ACK of all bytes below `una` with SACK blocks. Returns whether a block covers bytes that had not
    /// been reported before.
    #[inline(always)]
    pub fn update(&mut self, una: u64, blocks: impl Iterator<Item = (u64, u64)>) -> bool {
        self.sacked.absorb(una);
        let mut is_new = false;
        for (start, end) in blocks {
            is_new |= self.sacked.insert(start, end);
        }
        is_new
    }

    /// Returns whether no block beyond SND.UNA is known.
    pub fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// Starts a recovery; its first retransmission covers the bytes from SND.UNA to `end`.
    pub fn begin(&mut self, end: u64) {
        self.retransmitted_until = end;
    }

    /// Returns the first byte of the first hole that has not been retransmitted, and the hole's length, limited to
    /// `mss`.
    pub fn next_hole(&self, una: u64, mss: u32) -> Option<(u64, u32)> {
        let (start, end) = self.sacked.gap_from(self.retransmitted_until.max(una))?;
        Some((start, (end - start).min(u64::from(mss)) as u32))
    }

    /// Records that the holes below `end` have been retransmitted.
    pub fn on_retransmitted(&mut self, end: u64) {
        self.retransmitted_until = end;
    }

    /// Discards the SACK information after a timeout, because the receiver may have discarded the data (RFC 2018
    /// section 8).
    pub fn clear(&mut self) {
        self.sacked.clear();
        self.retransmitted_until = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hole_is_offered_once_in_ascending_order() {
        let mut board = Scoreboard::default();
        assert!(board.update(0, [(40, 50), (20, 30)].into_iter()));
        assert!(!board.update(0, [(20, 30)].into_iter()));
        board.begin(10);
        let mut holes = vec![];
        while let Some((start, length)) = board.next_hole(0, 8) {
            holes.push((start, length));
            board.on_retransmitted(start + u64::from(length));
        }
        assert_eq!(holes, [(10, 8), (18, 2), (30, 8), (38, 2)]);
    }

    #[test]
    fn a_cumulative_ack_and_a_timeout_clear_the_scoreboard() {
        let mut board = Scoreboard::default();
        board.update(0, [(20, 30), (40, 50)].into_iter());
        board.update(30, [].into_iter());
        assert_eq!(board.next_hole(30, 100), Some((30, 10)));
        board.clear();
        assert_eq!(board.next_hole(30, 100), None);
    }
}
