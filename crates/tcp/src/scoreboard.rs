//! What a sender knows of the data beyond SND.UNA (RFC 2018 section 5; ATM Forum/98-0876 section 3.2).

use crate::ranges::Ranges;

/// Bytes that SACK blocks covered, and how far the holes between them have been resent.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    sacked: Ranges,
    /// Holes below this byte have been resent.
    resent: u64,
}

impl Scoreboard {
    /// An ACK of all below `una` with SACK blocks came; true if the blocks tell anything new.
    #[inline(always)]
    pub fn update(&mut self, una: u64, blocks: impl Iterator<Item = (u64, u64)>) -> bool {
        self.sacked.absorb(una);
        let mut news = false;
        for (start, end) in blocks {
            news |= self.sacked.insert(start, end);
        }
        news
    }

    /// Whether nothing beyond SND.UNA is known.
    pub fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// A recovery begins by resending all below `end`.
    pub fn begin(&mut self, end: u64) {
        self.resent = end;
    }

    /// The first hole not yet resent, cut to `mss` bytes: its first byte and its length.
    pub fn next_hole(&self, una: u64, mss: u32) -> Option<(u64, u32)> {
        let (start, end) = self.sacked.gap_from(self.resent.max(una))?;
        Some((start, (end - start).min(u64::from(mss)) as u32))
    }

    /// The holes below `end` have been resent.
    pub fn on_resent(&mut self, end: u64) {
        self.resent = end;
    }

    /// A timeout: what the receiver holds is no longer relied on (RFC 2018 section 8).
    pub fn clear(&mut self) {
        self.sacked.clear();
        self.resent = 0;
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
            board.on_resent(start + u64::from(length));
        }
        assert_eq!(holes, [(10, 8), (18, 2), (30, 8), (38, 2)]);
    }

    #[test]
    fn a_cumulative_ack_and_a_timeout_clear_the_board() {
        let mut board = Scoreboard::default();
        board.update(0, [(20, 30), (40, 50)].into_iter());
        board.update(30, [].into_iter());
        assert_eq!(board.next_hole(30, 100), Some((30, 10)));
        board.clear();
        assert_eq!(board.next_hole(30, 100), None);
    }
}
