//! The receiver's window as Linux lets it grow (tcp_input.c, 6.1), as far as it shows in ACKs: while it grows, each segment is
//! acknowledged at once.
//!
//! It starts small and grows by two segments with each that arrives in order, up to a bound that follows what the application
//! reads in a round trip. What the sender may send is another matter: that window is the scenario's, from the start.

use longpipe_events::{Span, Time};

/// The window and its bound.
#[derive(Clone, Debug)]
pub struct GrowingWindow {
    window: u64,
    bound: u64,
    /// Payload of a full segment [byte].
    mss: u64,
    /// The most that was read in a round trip.
    read: u64,
    /// When this round trip began, and what had been read then.
    began: Time,
    before: u64,
    /// Shortest way of data so far, by timestamps.
    least_way: Span,
}

/// The first bound: half of the buffer that a socket has at first [byte] (tcp_rmem).
const FIRST: u64 = 65_536;
/// What is read in the first round trip: an initial window [segment].
const FIRST_READ: u64 = 10;
/// The bound has room for twice what was read, so much of its growth, and some segments.
const TWICE: u64 = 2;
const SPARE: u64 = 16;

impl GrowingWindow {
    /// That of segments of so many bytes.
    pub fn new(mss: u32) -> GrowingWindow {
        let mss = u64::from(mss);
        GrowingWindow {
            window: FIRST,
            bound: FIRST,
            mss,
            read: FIRST_READ * mss,
            began: Time::ZERO,
            before: 0,
            least_way: Span(u64::MAX),
        }
    }

    /// A segment `sent` at that time arrived in order, up to byte `end`, and is read at once; whether the window grew by it.
    pub fn on_segment(&mut self, now: Time, sent: Time, end: u64) -> bool {
        let grows = self.window < self.bound;
        self.window = self.bound.min(self.window + 2 * self.mss);
        // A round trip is this segment's way and the shortest one, which fitted two captures of Linux over one path best.
        let way = now - sent;
        self.least_way = self.least_way.min(way);
        if now.since(self.began) >= way + self.least_way {
            let read = end - self.before;
            if read > self.read {
                self.raise(read);
                self.read = read;
            }
            (self.began, self.before) = (now, end);
        }
        grows
    }

    /// More was read in a round trip than ever.
    fn raise(&mut self, read: u64) {
        let room = u128::from(TWICE * read + SPARE * self.mss);
        let more = room * u128::from(read - self.read) / u128::from(self.read);
        let bound = u64::try_from(room + u128::from(TWICE) * more).unwrap_or(u64::MAX);
        self.bound = self.bound.max(bound / self.mss * self.mss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    /// Round trips of 100 ms, in which ever more segments come, 1.2 ms apart: which of them are acknowledged at once, and the
    /// bound after each round.
    fn rounds(segments: &[u64]) -> (Vec<bool>, Vec<u64>) {
        let mut window = GrowingWindow::new(MSS as u32);
        let (mut end, mut at_once, mut bounds) = (0, vec![], vec![]);
        for (round, &segments) in (1..).zip(segments) {
            for segment in 0..segments {
                let now = Time(Span::millis(100 * round).0 + Span::micros(1200 * segment).0);
                end += MSS;
                at_once.push(window.on_segment(now, Time(now.0 - Span::millis(50).0), end));
            }
            bounds.push(window.bound / MSS);
        }
        (at_once, bounds)
    }

    /// Linux 6.1 over 10 Mbit/s and 100 ms: the bounds are 168, 288 and 558 segments, and ACKs come at once from the 31st
    /// segment on until some 288 are here.
    #[test]
    fn the_bound_follows_what_is_read_in_a_round_trip() {
        let (at_once, bounds) = rounds(&[10, 20, 40, 80, 83, 83, 83]);
        assert_eq!(bounds[..5], [45, 45, 168, 288, 528]);
        let first = at_once.iter().position(|&at_once| at_once);
        let last = at_once.iter().rposition(|&at_once| at_once);
        assert!((30..=32).contains(&first.unwrap()), "{first:?}");
        assert!((260..=300).contains(&last.unwrap()), "{last:?}");
    }
}
