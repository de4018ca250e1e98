//! ACKs that tell of data beyond a hole wait for each other, as in Linux (tcp_input.c, __tcp_ack_snd_check, 6.1).

use longpipe_events::Span;

/// So many leave at once, for a sender that counts duplicates (TCP_FASTRETRANS_THRESH).
const AT_ONCE: u32 = 3;
/// So many more segments make one leave (tcp_comp_sack_nr).
const MOST: u32 = 44;
/// An ACK waits for a twentieth of the round trip, if that is less.
const SHARE: u64 = 20;

/// How long such ACKs wait, and what waits.
#[derive(Clone, Copy, Debug)]
pub struct Compression {
    longest: Span,
    /// Next byte expected, and how many counted ACKs have left since it is.
    next: u64,
    left: u32,
    /// Segments that the next ACK will tell of besides the latest.
    waiting: u32,
}

impl Compression {
    /// One by which ACKs wait so long at most; none: they never do.
    pub fn new(longest_ps: u64) -> Option<Compression> {
        (longest_ps > 0).then_some(Compression {
            longest: Span(longest_ps),
            next: 0,
            left: 0,
            waiting: 0,
        })
    }

    /// A segment arrived while there is a hole at `next`, the first beyond any if it is `fresh`: how long its ACK waits, unless
    /// it leaves at once.
    pub fn on_segment(&mut self, next: u64, fresh: bool, round_trip: Option<Span>) -> Option<Span> {
        // Linux 6.1.176 lets four out at a hole that is new, and three where another was filled.
        if fresh || self.waiting >= MOST {
            return None;
        }
        if self.next != next {
            (self.next, self.left) = (next, 0);
        }
        if self.left < AT_ONCE {
            self.left += 1;
            return None;
        }
        let wait = self.longest.min(Span(round_trip?.0 / SHARE));
        self.waiting += 1;
        Some(wait)
    }

    /// An ACK left since the segment before.
    pub fn on_ack(&mut self) {
        self.waiting = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Option<Span> = Some(Span::millis(100));

    #[test]
    fn four_leave_at_once_and_then_none_before_a_millisecond_or_44_segments() {
        let mut compression = Compression::new(Span::millis(1).0).unwrap();
        assert_eq!(compression.on_segment(1000, true, RTT), None);
        let waits: Vec<_> = (0..48).map(|_| compression.on_segment(1000, false, RTT)).collect();
        assert!(waits[..3].iter().all(Option::is_none));
        assert!(waits[3..47].iter().all(|&wait| wait == Some(Span::millis(1))));
        assert_eq!(waits[47], None);
        compression.on_ack();
        assert_eq!(compression.on_segment(1000, false, RTT), Some(Span::millis(1)));
        // Another hole.
        assert_eq!(compression.on_segment(2000, false, RTT), None);
    }

    #[test]
    fn over_a_short_path_they_wait_a_twentieth_of_the_round_trip() {
        let mut compression = Compression::new(Span::millis(1).0).unwrap();
        for _ in 0..3 {
            compression.on_segment(0, false, None);
        }
        assert_eq!(
            compression.on_segment(0, false, Some(Span::millis(10))),
            Some(Span(Span::millis(1).0 / 2))
        );
        assert_eq!(compression.on_segment(0, false, None), None);
        assert!(Compression::new(0).is_none());
    }
}
