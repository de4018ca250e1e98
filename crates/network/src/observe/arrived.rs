//! Counts the payload bytes that reach a receiver for the first time.

use longpipe_tcp::ranges::Ranges;

/// Bytes of a flow that its receiver has received, in any order.
#[derive(Clone, Debug, Default)]
pub struct Arrived {
    /// All bytes below this one have arrived.
    reached: u64,
    /// Ranges that arrived beyond a gap.
    beyond: Ranges,
}

impl Arrived {
    /// Records a segment. Returns how many of its bytes had not arrived before.
    pub fn take(&mut self, sequence: u64, length: u32) -> u32 {
        let end = sequence + u64::from(length);
        let (mut from, mut fresh) = (sequence.max(self.reached), 0);
        while let Some((start, until)) = self.beyond.missing(from, end) {
            fresh += until - start;
            from = until;
        }
        if fresh == 0 {
            return 0;
        }
        if sequence > self.reached {
            self.beyond.insert(sequence, end);
        } else {
            self.reached = end;
            self.reached = self.beyond.absorb(end).map_or(end, |last| last.max(end));
        }
        fresh as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_counts_once_on_its_first_arrival() {
        let mut arrived = Arrived::default();
        assert_eq!(arrived.take(0, 100), 100);
        // Records a duplicate, a partial duplicate, and an empty segment.
        assert_eq!(arrived.take(0, 100), 0);
        assert_eq!(arrived.take(50, 100), 50);
        assert_eq!(arrived.take(150, 0), 0);
        // Records data beyond a gap, data inside the gap, and overlapping data beyond the gap.
        assert_eq!(arrived.take(300, 100), 100);
        assert_eq!(arrived.take(500, 100), 100);
        assert_eq!(arrived.take(200, 50), 50);
        assert_eq!(arrived.take(350, 200), 100);
        assert_eq!(arrived.take(300, 300), 0);
        // The gaps are filled; the bytes beyond them are not counted again.
        assert_eq!(arrived.take(150, 250), 100);
        assert_eq!(arrived.take(550, 100), 50);
        assert_eq!(arrived.take(0, 650), 0);
        assert_eq!(arrived.take(650, 10), 10);
    }
}
