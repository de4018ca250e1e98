//! The scoreboard: what arrived beyond SND.UNA, what of the rest is lost, and how much is under way (RFC 6675 section 4).

use crate::ranges::Ranges;

/// Bytes that SACK blocks covered, and how far what they left open was sent again.
#[derive(Clone, Debug, Default)]
pub struct Board {
    una: u64,
    sacked: Ranges,
    /// First byte after the latest copy (HighRxt): all below that did not arrive was sent again.
    high_rxt: u64,
    /// Bytes below it that did not arrive.
    copies: u64,
}

/// What IsLost says, which is the same of all bytes below a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// All below that did not arrive is lost.
    pub below: u64,
    /// Bytes beyond that arrived.
    arrived: u64,
}

impl Board {
    /// An ACK of all below `una` with SACK blocks came (Update); true if the blocks tell anything new.
    pub fn update(&mut self, una: u64, blocks: impl Iterator<Item = (u64, u64)>) -> bool {
        let acknowledged = self.unsacked(self.una, una.min(self.high_rxt));
        self.copies = self.copies.saturating_sub(acknowledged);
        self.sacked.absorb(una);
        self.una = una;
        let mut news = false;
        for (start, end) in blocks {
            let arrived = self.unsacked(start.max(una), end.min(self.high_rxt));
            self.copies = self.copies.saturating_sub(arrived);
            news |= self.sacked.insert(start, end);
        }
        news
    }

    /// Whether nothing beyond SND.UNA is known.
    pub fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// Nothing was sent again so far (HighRxt = HighACK).
    pub fn begin(&mut self) {
        (self.high_rxt, self.copies) = (self.una, 0);
    }

    /// All up to `end` that did not arrive has been sent again.
    pub fn on_copied(&mut self, end: u64) {
        self.copies += self.unsacked(self.high_rxt.max(self.una), end);
        self.high_rxt = self.high_rxt.max(end);
    }

    /// Forgets all SACKed data after a timeout (RFC 2018 section 8). `una` is SND.UNA, because ACKs on the fast path do not call
    /// `update`.
    pub fn clear(&mut self, una: u64) {
        self.sacked.clear();
        self.una = una;
        self.begin();
    }

    /// IsLost: so many ranges arrived beyond, or more bytes than one segment fewer has.
    pub fn lost(&self, threshold: u32, mss: u32) -> Lost {
        let most = u64::from(threshold - 1) * u64::from(mss);
        let (mut ranges, mut arrived) = (0, 0);
        for (start, end) in self.sacked.from_the_last() {
            ranges += 1;
            arrived += end - start;
            if ranges >= threshold || arrived > most {
                return Lost { below: start, arrived };
            }
        }
        Lost {
            below: self.una,
            arrived,
        }
    }

    /// All below the last byte that arrived (SND.FACK), by which PIPE is `awnd` (Mathis and Mahdavi 1996 section 2).
    pub fn lost_by_fack(&self) -> Lost {
        let fack = self.sacked.from_the_last().next().map_or(self.una, |(_, end)| end);
        Lost {
            below: fack,
            arrived: 0,
        }
    }

    /// SetPipe, where all below `max` has been sent: what is not lost, and what was sent again.
    pub fn pipe(&self, max: u64, lost: Lost) -> u64 {
        max - lost.below - lost.arrived + self.copies
    }

    /// The same after a timeout, by which all below `end` is lost.
    pub fn pipe_beyond(&self, end: u64, max: u64) -> u64 {
        self.unsacked(end.max(self.una), max) + self.copies
    }

    /// What did not arrive, was not sent again, and has data beyond that arrived (NextSeg, 1.a and 1.b), as far as it goes.
    pub fn hole(&self) -> Option<(u64, u64)> {
        self.sacked.gap_from(self.high_rxt.max(self.una))
    }

    /// What did not arrive and was not sent again, below `end`.
    pub fn hole_below(&self, end: u64) -> Option<(u64, u64)> {
        self.sacked.missing(self.high_rxt.max(self.una), end)
    }

    /// The last of what did not arrive, of all below `max`.
    pub fn last_hole(&self, max: u64) -> Option<(u64, u64)> {
        let mut end = max;
        for (start, sacked) in self.sacked.from_the_last() {
            if sacked < end {
                return Some((sacked, end));
            }
            end = start;
        }
        (self.una < end).then_some((self.una, end))
    }

    fn unsacked(&self, from: u64, to: u64) -> u64 {
        if from < to {
            to - from - self.sacked.covered(from, to)
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const MAX: u64 = 60;

    /// IsLost as RFC 6675 section 4 has it, of one byte.
    fn is_lost(byte: u64, sacked: &BTreeSet<u64>, threshold: u32, mss: u32) -> bool {
        let beyond = sacked.range(byte..);
        let ranges = beyond.clone().filter(|&&one| !sacked.contains(&(one - 1))).count();
        ranges >= threshold as usize || beyond.count() as u64 > u64::from(threshold - 1) * u64::from(mss)
    }

    proptest! {
        #[test]
        fn rfc_6675_section_4_byte_by_byte(
            steps in prop::collection::vec((0u64..6, 1u64..MAX, 1u64..12, any::<bool>()), 1..30),
            threshold in 1u32..5,
            mss in 1u32..8,
        ) {
            let mut board = Board::default();
            let (mut una, mut high) = (0, 0);
            let mut sacked = BTreeSet::new();
            for (acked, start, length, copies) in steps {
                // The receiver acknowledges all that arrived in order.
                una = (una + acked).min(MAX);
                while sacked.contains(&una) {
                    una += 1;
                }
                let block = (start.max(una + 1), (start.max(una + 1) + length).min(MAX));
                let blocks = (block.0 < block.1).then_some(block);
                let before = sacked.len();
                sacked.extend(blocks.map_or(0..0, |(start, end)| start..end));
                let news = board.update(una, blocks.into_iter());
                prop_assert_eq!(news, sacked.len() > before);
                sacked.retain(|&byte| byte >= una);

                let lost = board.lost(threshold, mss);
                let open: Vec<u64> = (una..MAX).filter(|byte| !sacked.contains(byte)).collect();
                for &byte in &open {
                    prop_assert_eq!(byte < lost.below, is_lost(byte, &sacked, threshold, mss), "{}", byte);
                }
                let again = |byte: u64| byte < high;
                let pipe: u64 = open
                    .iter()
                    .map(|&byte| u64::from(!is_lost(byte, &sacked, threshold, mss)) + u64::from(again(byte)))
                    .sum();
                prop_assert_eq!(board.pipe(MAX, lost), pipe);
                // SND.NXT - SND.FACK + retran_data.
                let fack = sacked.last().map_or(una, |last| last + 1);
                let under_way = open.iter().filter(|&&byte| again(byte)).count() as u64;
                prop_assert_eq!(board.pipe(MAX, board.lost_by_fack()), MAX - fack + under_way);
                let middle = MAX / 2;
                let beyond = open.iter().filter(|&&byte| byte >= middle || again(byte)).count()
                    + open.iter().filter(|&&byte| byte >= middle && again(byte)).count();
                prop_assert_eq!(board.pipe_beyond(middle, MAX), beyond as u64);

                let next = open.iter().copied().find(|&byte| byte >= high && sacked.range(byte..).next().is_some());
                prop_assert_eq!(board.hole().map(|(start, _)| start), next);
                let below = open.iter().copied().find(|&byte| byte >= high && byte < middle);
                prop_assert_eq!(board.hole_below(middle).map(|(start, _)| start), below);
                prop_assert_eq!(board.last_hole(MAX).map(|(_, end)| end - 1), open.last().copied());
                if let (true, Some((start, end))) = (copies, board.hole()) {
                    high = end.min(start + u64::from(mss));
                    board.on_copied(high);
                }
            }
        }
    }
}
