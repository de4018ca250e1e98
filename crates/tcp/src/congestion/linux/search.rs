//! SEARCH: ends the first slow start when the data delivered fall behind the data sent one round trip earlier
//! (draft-chung-ccwg-search-09), and, in version 4.0 of its authors' module, then drains the queue.
//!
//! Time is divided into bins whose length is 0.35 times the first RTT sample. At the end of each bin, the data
//! delivered in the last `WINDOW` bins are compared with the data sent in the same number of bins one RTT earlier. Both
//! are equal while the path carries everything that is sent.

use crate::congestion::control::Ack;
use crate::congestion::flight::Flight;
use crate::congestion::linux::hystart::Start;
use longpipe_events::{Span, Time};

/// Number of bins in the comparison window (W).
const WINDOW: u64 = 10;
/// Maximum number of bins in the latest RTT, plus one (EXTRA_BINS): no comparison is possible for a longer RTT.
const EXTRA: u64 = 15;
/// Length of the comparison window in hundredths of the first RTT sample (WINDOW_SIZE_FACTOR).
const WINDOW_RTTS: u64 = 350;
/// Share of missing deliveries at and above which slow start ends, in hundredths of the data sent (THRESH).
const THRESHOLD: u64 = 26;
/// Denominator of `WINDOW_RTTS`, `THRESHOLD` and fractions of a bin.
const SCALE: u64 = 100;
/// Number of bins for which delivered and sent bytes are kept.
const DELIVERED_BINS: usize = WINDOW as usize + 1;
const SENT_BINS: usize = DELIVERED_BINS + EXTRA as usize;

/// Number of bins that cover the first RTT, ⌈100 WINDOW / WINDOW_RTTS⌉: the data delivered in them are the window after
/// the drain.
const RTT_BINS: u64 = (SCALE * WINDOW).div_ceil(WINDOW_RTTS);
/// Minimum window after the drain [segment] (TCP_INIT_CWND).
const MIN_TARGET_SEGMENTS: u64 = 10;
/// During the drain, one segment is sent for this number of delivered segments (SEARCH_DRAIN_ACKEDSEG_THRESH).
const DRAIN_SEGMENTS: u64 = 3;

/// State of SEARCH in the first slow start.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Whether the queue is drained before slow start ends (SEARCH 4.0).
    drains: bool,
    drain: Option<Drain>,
    /// Bytes delivered so far.
    delivered: u64,
    /// Latest RTT sample.
    rtt: Option<Span>,
    bins: Option<Box<Bins>>,
}

/// The bins since the first ACK.
#[derive(Clone, Debug)]
struct Bins {
    length: Span,
    /// Number and end time of the current bin.
    index: u64,
    end: Time,
    /// For each of the latest bins, the bytes delivered by its end.
    delivered: [u64; DELIVERED_BINS],
    /// For each of the latest bins, the bytes sent by its end.
    sent: [u64; SENT_BINS],
}

/// The end of slow start, in which the window falls with the data in flight.
#[derive(Clone, Copy, Debug)]
struct Drain {
    /// Window at which slow start ends [byte].
    target: u64,
    /// Delivered bytes for which no segment has been sent.
    credit: u64,
}

impl Drain {
    /// Permits one segment for each `DRAIN_SEGMENTS` delivered segments.
    fn on_ack(&mut self, delivered: u64, in_flight: u64, mss: u64) -> Start {
        self.credit += delivered;
        let segments = self.credit / (DRAIN_SEGMENTS * mss);
        self.credit -= segments * DRAIN_SEGMENTS * mss;
        let window = (in_flight + segments * mss).max(self.target);
        Start::Drain {
            window: window as f64,
            leaves: window == self.target,
        }
    }
}

impl Search {
    /// Creates the state of SEARCH 4.0.
    pub fn draining() -> Search {
        Search {
            drains: true,
            ..Search::default()
        }
    }

    /// Processes an ACK, including duplicates. SND.MAX is used as the number of bytes sent, because before the first
    /// loss only tail loss probes are retransmissions.
    pub fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> Start {
        let mss = u64::from(flight.mss);
        if let Some(drain) = &mut self.drain {
            return drain.on_ack(ack.delivered, ack.in_flight, mss);
        }
        match self.compare(ack.now, ack.delivered, flight.max, ack.rtt) {
            Some(comparison) if comparison.is_short() && self.drains => {
                let in_rtt = self.bins.as_ref().map_or(0, |bins| bins.delivered_in(RTT_BINS));
                let target = in_rtt.max(MIN_TARGET_SEGMENTS * mss);
                self.drain = Some(Drain { target, credit: 0 });
                Start::Grow(0.0)
            }
            Some(comparison) if comparison.is_short() => Start::Leave,
            _ => Start::Grow(1.0),
        }
    }

    /// Records an ACK of `delivered` bytes when `sent` bytes have been sent. If a bin has ended and enough bins are
    /// known, returns the two volumes to compare.
    fn compare(&mut self, now: Time, delivered: u64, sent: u64, rtt: Option<Span>) -> Option<Comparison> {
        self.delivered += delivered;
        self.rtt = rtt.or(self.rtt);
        let rtt = self.rtt?;
        let Some(bins) = &mut self.bins else {
            self.bins = Bins::begin(now, self.delivered, sent, rtt);
            return None;
        };
        if now <= bins.end {
            return None;
        }
        let passed = (now - bins.end).0 / bins.length.0 + 1;
        if passed > WINDOW {
            // After such a gap, neither the bins nor the first RTT sample describe the path; the next ACK starts new
            // bins.
            self.bins = None;
            return None;
        }
        bins.pass(passed, self.delivered, sent);
        // SEARCH 4.0 needs one more bin.
        bins.compare(rtt, EXTRA - u64::from(self.drains))
    }
}

/// Bytes sent in a window of bins that ended one RTT ago, and bytes delivered in the latest window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Comparison {
    sent: u64,
    delivered: u64,
}

impl Comparison {
    /// Returns whether the missing deliveries end slow start.
    fn is_short(self) -> bool {
        let missing = self.sent.saturating_sub(self.delivered) * SCALE;
        missing.checked_div(self.sent).is_some_and(|share| share >= THRESHOLD)
    }
}

impl Bins {
    fn begin(now: Time, delivered: u64, sent: u64, rtt: Span) -> Option<Box<Bins>> {
        let length = Span(rtt.0 * WINDOW_RTTS / SCALE / WINDOW);
        (length.0 > 0).then(|| {
            Box::new(Bins {
                length,
                index: 0,
                end: now + length,
                delivered: [delivered; DELIVERED_BINS],
                sent: [sent; SENT_BINS],
            })
        })
    }

    /// Ends `passed` bins; bins without an ACK repeat the values of the previous bin.
    fn pass(&mut self, passed: u64, delivered: u64, sent: u64) {
        let before = (self.delivered_at(self.index), self.sent_at(self.index));
        for step in 1..=passed {
            let values = if step == passed { (delivered, sent) } else { before };
            let index = (self.index + step) as usize;
            (self.delivered[index % DELIVERED_BINS], self.sent[index % SENT_BINS]) = values;
        }
        self.index += passed;
        self.end += Span(passed * self.length.0);
    }

    /// Returns None if too few bins are known for a round trip of `rtt`, or if it takes `longest` bins or more.
    fn compare(&self, rtt: Span, longest: u64) -> Option<Comparison> {
        let ago = rtt.0 / self.length.0;
        let then = self.index.saturating_sub(ago);
        if then <= WINDOW || self.index - then >= longest {
            return None;
        }
        // The time one RTT ago precedes the end of bin `then` by this fraction of a bin. The text of the draft
        // interpolates with the following bin instead; its authors agree that this is an error.
        let part = (rtt.0 % self.length.0) * SCALE / self.length.0;
        let sent_until = |index: u64| self.sent_at(index) - self.sent_at(index - WINDOW);
        Some(Comparison {
            sent: (sent_until(then - 1) * part + sent_until(then) * (SCALE - part)) / SCALE,
            delivered: self.delivered_in(WINDOW),
        })
    }

    /// Returns the bytes delivered in the latest `bins` bins.
    fn delivered_in(&self, bins: u64) -> u64 {
        self.delivered_at(self.index) - self.delivered_at(self.index - bins)
    }

    fn delivered_at(&self, index: u64) -> u64 {
        self.delivered[index as usize % DELIVERED_BINS]
    }

    fn sent_at(&self, index: u64) -> u64 {
        self.sent[index as usize % SENT_BINS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with decisions of neqo-transport (Mozilla, commit 80ca01ee, cc/search.rs, an implementation of draft
    /// 09), compiled separately, for two slow starts over a link and four random sequences of ACKs. Each row is an ACK:
    /// the bytes sent so far, the bytes newly acknowledged, the RTT, the number of the bin that the ACK ended, if any,
    /// and the decision. The sequences continue after an exit.
    const WITNESS: &str = include_str!("search_witness.csv");

    #[test]
    fn every_bin_and_decision_matches_neqo() {
        let (mut case, mut search, mut exits) = ("", Search::default(), 0);
        for row in WITNESS.lines().skip(1) {
            let fields: Vec<&str> = row.split(',').collect();
            let number = |index: usize| fields[index].parse::<u64>().expect(row);
            if fields[0] != case {
                (case, search) = (fields[0], Search::default());
            }
            let (now, rtt) = (Time(Span::micros(number(1)).0), Span::micros(number(4)));
            let comparison = search.compare(now, number(3), number(2), Some(rtt));
            let bin = search.bins.as_ref().map(|bins| bins.index.to_string());
            assert_eq!(bin.unwrap_or_default(), fields[5], "{row}");
            let expected = (!fields[7].is_empty()).then(|| Comparison {
                sent: number(7),
                delivered: number(8),
            });
            assert_eq!(comparison.filter(|comparison| comparison.sent > 0), expected, "{row}");
            let exits_now = comparison.is_some_and(Comparison::is_short);
            assert_eq!(exits_now, fields[6] == "exit", "{row}");
            exits += u32::from(exits_now);
        }
        assert_eq!(exits, 57);
    }

    /// 60 segments are in flight, and nothing else is sent than the drain permits: for three delivered segments one is
    /// sent, so that two thirds of the deliveries leave the path. After 60 deliveries, 20 segments remain, the target.
    #[test]
    fn search_4_drains_two_thirds_of_the_delivered_segments_until_the_target() {
        let mss = 1000;
        let mut drain = Drain {
            target: 20 * mss,
            credit: 0,
        };
        let mut in_flight = 60 * mss;
        for delivered in 1..=60 {
            in_flight -= mss;
            let expected = (in_flight + if delivered % 3 == 0 { mss } else { 0 }).max(20 * mss);
            let leaves = expected == 20 * mss;
            let window = expected as f64;
            assert_eq!(
                drain.on_ack(mss, in_flight, mss),
                Start::Drain { window, leaves },
                "{delivered}"
            );
            in_flight = expected;
            assert_eq!(leaves, delivered >= 59, "{delivered}");
        }
    }

    /// Bins last 0.35 RTT, so three of them cover the first RTT.
    #[test]
    fn search_4_target_is_the_data_delivered_in_three_bins() {
        assert_eq!(RTT_BINS, 3);
        let bins = Bins::begin(Time(0), 0, 0, Span::millis(100));
        let mut bins = bins.expect("an RTT");
        for (delivered, sent) in [(5, 9), (11, 20), (18, 40), (30, 80)] {
            bins.pass(1, delivered, sent);
        }
        assert_eq!(bins.delivered_in(RTT_BINS), 25);
    }

    /// Repeats neqo-transport's unit tests: a bin ends with the first ACK later than its end, a bin without an ACK
    /// repeats the previous values, and after more than ten bins without an ACK, new bins start with the next RTT.
    #[test]
    fn bins_end_and_are_skipped_as_in_neqo_s_tests() {
        let (rtt, bin) = (Span::millis(100), Span::millis(35));
        let begun = || {
            let mut search = Search::default();
            assert_eq!(search.compare(Time(rtt.0), 1200, 1200, Some(rtt)), None);
            search
        };
        let bins = |search: &Search| search.bins.as_ref().map(|bins| (bins.index, bins.length, bins.end));
        let mut search = begun();
        let end = Time(rtt.0) + bin;
        assert_eq!(bins(&search), Some((0, bin, end)));
        search.compare(end, 1200, 2400, Some(rtt));
        assert_eq!(bins(&search), Some((0, bin, end)));
        search.compare(end + Span(1), 1200, 3600, Some(rtt));
        assert_eq!(bins(&search), Some((1, bin, end + bin)));

        let mut search = begun();
        search.compare(end + bin + Span(1), 1200, 2400, Some(rtt));
        let found = search.bins.as_ref().expect("bins were begun");
        assert_eq!([0, 1, 2].map(|index| found.delivered_at(index)), [1200, 1200, 2400]);
        assert_eq!([0, 1, 2].map(|index| found.sent_at(index)), [1200, 1200, 2400]);

        let mut search = begun();
        let mut now = Time(rtt.0 + 10 * bin.0);
        search.compare(now, 1200, 2400, Some(rtt));
        assert_eq!(bins(&search).map(|(index, ..)| index), Some(10));
        now += Span(11 * bin.0);
        search.compare(now, 1200, 3600, Some(rtt));
        assert_eq!(bins(&search), None);
        search.compare(now, 1200, 4800, Some(Span::millis(200)));
        assert_eq!(bins(&search), Some((0, Span::millis(70), now + Span::millis(70))));
    }
}
