//! Scoreboard of RFC 6675 section 4: data received beyond SND.UNA, lost data, and data in flight (pipe).

use crate::ranges::Ranges;

/// Bytes covered by SACK blocks, and the byte below which all holes have been retransmitted.
#[derive(Clone, Debug, Default)]
pub struct Board {
    una: u64,
    sacked: Ranges,
    /// First byte after the latest retransmission (HighRxt): all missing data before it have been retransmitted.
    high_rxt: u64,
    /// Missing bytes below `high_rxt`.
    retransmitted_bytes: u64,
}

/// Cached result of IsLost: all missing bytes below a limit are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostLimit {
    /// Missing bytes below this limit are lost.
    pub below: u64,
    /// Bytes received beyond the limit.
    arrived: u64,
}

impl Board {
    /// Processes an ACK of all bytes below `una` with SACK blocks (Update). Returns whether the blocks report new data.
    pub fn update(&mut self, una: u64, blocks: impl Iterator<Item = (u64, u64)>) -> bool {
        let acknowledged = self.unsacked(self.una, una.min(self.high_rxt));
        self.retransmitted_bytes = self.retransmitted_bytes.saturating_sub(acknowledged);
        self.sacked.absorb(una);
        self.una = una;
        let mut reports_new_data = false;
        for (start, end) in blocks {
            let arrived = self.unsacked(start.max(una), end.min(self.high_rxt));
            self.retransmitted_bytes = self.retransmitted_bytes.saturating_sub(arrived);
            reports_new_data |= self.sacked.insert(start, end);
        }
        reports_new_data
    }

    /// Returns whether no data beyond SND.UNA are known to have arrived.
    pub fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// Starts a recovery; nothing has been retransmitted in it yet (HighRxt = HighACK).
    pub fn begin(&mut self) {
        (self.high_rxt, self.retransmitted_bytes) = (self.una, 0);
    }

    /// Records that all missing data up to `end` have been retransmitted.
    pub fn on_retransmitted(&mut self, end: u64) {
        self.retransmitted_bytes += self.unsacked(self.high_rxt.max(self.una), end);
        self.high_rxt = self.high_rxt.max(end);
    }

    /// Discards all SACK information after a timeout (RFC 2018 section 8). `una` is SND.UNA; it is passed because ACKs
    /// on the fast path do not call `update`.
    pub fn clear(&mut self, una: u64) {
        self.sacked.clear();
        self.una = una;
        self.begin();
    }

    /// Returns the limit below which every missing byte is lost (IsLost), because at least `threshold` ranges, or more
    /// than `threshold - 1` segments of data, have arrived above it.
    pub fn lost(&self, threshold: u32, mss: u32) -> LostLimit {
        let max_sacked = u64::from(threshold - 1) * u64::from(mss);
        let (mut ranges, mut arrived) = (0, 0);
        for (start, end) in self.sacked.from_the_last() {
            ranges += 1;
            arrived += end - start;
            if ranges >= threshold || arrived > max_sacked {
                return LostLimit { below: start, arrived };
            }
        }
        LostLimit {
            below: self.una,
            arrived,
        }
    }

    /// Returns the limit for FACK: all missing data below SND.FACK are lost, and `awnd` replaces PIPE (Mathis and
    /// Mahdavi 1996 section 2).
    pub fn lost_by_fack(&self) -> LostLimit {
        let fack = self.sacked.from_the_last().next().map_or(self.una, |(_, end)| end);
        LostLimit {
            below: fack,
            arrived: 0,
        }
    }

    /// Returns the data in flight (SetPipe) if all bytes below `max` have been sent: data not lost, plus
    /// retransmissions.
    pub fn pipe(&self, max: u64, lost: LostLimit) -> u64 {
        max - lost.below - lost.arrived + self.retransmitted_bytes
    }

    /// Returns the data in flight after a timeout, at which all missing data below `end` were declared lost.
    pub fn pipe_beyond(&self, end: u64, max: u64) -> u64 {
        self.unsacked(end.max(self.una), max) + self.retransmitted_bytes
    }

    /// Returns the first part of the missing data that has not been retransmitted and lies below received data
    /// (NextSeg, rules 1.a and 1.b).
    pub fn hole(&self) -> Option<(u64, u64)> {
        self.sacked.gap_from(self.high_rxt.max(self.una))
    }

    /// Returns the first missing data below `end` that have not been retransmitted.
    pub fn hole_below(&self, end: u64) -> Option<(u64, u64)> {
        self.sacked.missing(self.high_rxt.max(self.una), end)
    }

    /// Returns the last missing data below `max`.
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

    /// Reference implementation of IsLost (RFC 6675 section 4) for a single byte.
    fn is_lost(byte: u64, sacked: &BTreeSet<u64>, threshold: u32, mss: u32) -> bool {
        let beyond = sacked.range(byte..);
        let ranges = beyond
            .clone()
            .filter(|&&segment| !sacked.contains(&(segment - 1)))
            .count();
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
            for (acked, start, length, retransmitted_bytes) in steps {
                // The receiver acknowledges all data that it has received in order.
                una = (una + acked).min(MAX);
                while sacked.contains(&una) {
                    una += 1;
                }
                let block = (start.max(una + 1), (start.max(una + 1) + length).min(MAX));
                let blocks = (block.0 < block.1).then_some(block);
                let before = sacked.len();
                sacked.extend(blocks.map_or(0..0, |(start, end)| start..end));
                let reports_new_data = board.update(una, blocks.into_iter());
                prop_assert_eq!(reports_new_data, sacked.len() > before);
                sacked.retain(|&byte| byte >= una);

                let lost = board.lost(threshold, mss);
                let open: Vec<u64> = (una..MAX).filter(|byte| !sacked.contains(byte)).collect();
                for &byte in &open {
                    prop_assert_eq!(byte < lost.below, is_lost(byte, &sacked, threshold, mss), "{}", byte);
                }
                let is_retransmitted = |byte: u64| byte < high;
                let pipe: u64 = open
                    .iter()
                    .map(|&byte| u64::from(!is_lost(byte, &sacked, threshold, mss)) + u64::from(is_retransmitted(byte)))
                    .sum();
                prop_assert_eq!(board.pipe(MAX, lost), pipe);
                // The `awnd` of FACK: SND.NXT - SND.FACK + retran_data.
                let fack = sacked.last().map_or(una, |last| last + 1);
                let retransmitted = open.iter().filter(|&&byte| is_retransmitted(byte)).count() as u64;
                prop_assert_eq!(board.pipe(MAX, board.lost_by_fack()), MAX - fack + retransmitted);
                let middle = MAX / 2;
                let beyond = open.iter().filter(|&&byte| byte >= middle || is_retransmitted(byte)).count()
                    + open.iter().filter(|&&byte| byte >= middle && is_retransmitted(byte)).count();
                prop_assert_eq!(board.pipe_beyond(middle, MAX), beyond as u64);

                let next = open.iter().copied().find(|&byte| byte >= high && sacked.range(byte..).next().is_some());
                prop_assert_eq!(board.hole().map(|(start, _)| start), next);
                let below = open.iter().copied().find(|&byte| byte >= high && byte < middle);
                prop_assert_eq!(board.hole_below(middle).map(|(start, _)| start), below);
                prop_assert_eq!(board.last_hole(MAX).map(|(_, end)| end - 1), open.last().copied());
                if let (true, Some((start, end))) = (retransmitted_bytes, board.hole()) {
                    high = end.min(start + u64::from(mss));
                    board.on_retransmitted(high);
                }
            }
        }
    }
}
