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
    /// What the bound may come to, and payload of a full segment [byte].
    most: u64,
    mss: u64,
    /// The most that was read in a round trip.
    read: u64,
    /// When this round trip began, and what had been read then.
    began: Time,
    before: u64,
    /// Smoothed round trip, by timestamps: the way of the data and the shortest way so far; none before any came.
    round_trip: Option<Span>,
    least_way: Span,
}

/// The first bound: half of the buffer that a socket has at first [byte] (tcp_rmem).
const FIRST: u64 = 65_536;
/// What is read in the first round trip: an initial window [segment].
const FIRST_READ: u64 = 10;
/// A round trip counts for so little of the smoothed one: as the bounds that Linux shows tell.
const SMOOTH: u64 = 128;
/// The bound has room for twice what was read, so much of its growth, and some segments.
const TWICE: u64 = 2;
const SPARE: u64 = 16;

impl GrowingWindow {
    /// One that may come to so many bytes.
    pub fn new(most: u64, mss: u32) -> GrowingWindow {
        let mss = u64::from(mss);
        GrowingWindow {
            window: FIRST.min(most),
            bound: FIRST.min(most),
            most,
            mss,
            read: FIRST_READ * mss,
            began: Time::ZERO,
            before: 0,
            round_trip: None,
            least_way: Span(u64::MAX),
        }
    }

    /// A segment `sent` at that time arrived in order, up to byte `end`, and is read at once; whether the window grew by it.
    pub fn on_segment(&mut self, now: Time, sent: Time, end: u64) -> bool {
        let grows = self.window < self.bound;
        self.window = self.bound.min(self.window + 2 * self.mss);
        self.take_round_trip(now - sent);
        if self
            .round_trip
            .is_some_and(|round_trip| now.since(self.began) >= round_trip)
        {
            let read = end - self.before;
            if read > self.read {
                self.raise(read);
                self.read = read;
            }
            (self.began, self.before) = (now, end);
        }
        grows
    }

    fn take_round_trip(&mut self, way: Span) {
        self.least_way = self.least_way.min(way);
        let sample = way.0 + self.least_way.0;
        let smoothed = self
            .round_trip
            .map_or(sample, |old| old.0 - old.0 / SMOOTH + sample / SMOOTH);
        self.round_trip = Some(Span(smoothed));
    }

    /// More was read in a round trip than ever.
    fn raise(&mut self, read: u64) {
        let room = u128::from(TWICE * read + SPARE * self.mss);
        let more = room * u128::from(read - self.read) / u128::from(self.read);
        let bound = u64::try_from(room + u128::from(TWICE) * more).unwrap_or(u64::MAX);
        self.bound = self.bound.max((bound / self.mss * self.mss).min(self.most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    /// Round trips of 100 ms, in which ever more segments come, 1.2 ms apart: which of them are acknowledged at once, and the
    /// bound after each round.
    fn rounds(segments: &[u64], most: u64) -> (Vec<bool>, Vec<u64>) {
        let mut window = GrowingWindow::new(most, MSS as u32);
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
        let (at_once, bounds) = rounds(&[10, 20, 40, 80, 83, 83, 83], u64::MAX);
        assert_eq!(bounds[..5], [45, 45, 168, 288, 528]);
        let first = at_once.iter().position(|&at_once| at_once);
        let last = at_once.iter().rposition(|&at_once| at_once);
        assert!((30..=32).contains(&first.unwrap()), "{first:?}");
        assert!((260..=300).contains(&last.unwrap()), "{last:?}");
    }

    #[test]
    fn it_grows_no_further_than_it_may() {
        let (at_once, bounds) = rounds(&[10, 20, 40, 80, 160], 100_000);
        assert_eq!(bounds.last(), Some(&(100_000 / MSS)));
        assert_eq!(at_once.iter().filter(|&&at_once| at_once).count(), 12);
    }
}
