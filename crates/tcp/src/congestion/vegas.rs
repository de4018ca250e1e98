//! Vegas: the window that keeps between α and β segments in the path's queues (Brakmo and Peterson 1995).
//!
//! Once per round trip it compares what went through with what would, were no queue there:
//! diff = window · (1 − base round trip / this round trip).

use crate::config::VegasConfig;
use crate::flight::Flight;
use longpipe_events::Time;
use std::collections::VecDeque;

/// When a segment left, unless it was sent again (Karn).
#[derive(Clone, Copy, Debug)]
struct SentSegment {
    end: u64,
    at: Option<Time>,
}

/// What the window does with each ACK of new data until the round trip is over.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Growth {
    /// A segment for each ACK.
    Double,
    /// A segment in all.
    Linear,
    /// Nothing.
    None,
}

/// The state of one sender.
#[derive(Clone, Debug)]
pub struct Vegas {
    config: VegasConfig,
    /// Segments under way, in order.
    sent: VecDeque<SentSegment>,
    /// Shortest round trip seen [ps].
    base: u64,
    /// Sum [ps] and number of the round trips measured since the tagged segment left.
    sum: u64,
    count: u64,
    /// First byte of the segment whose acknowledgement ends this round trip.
    tagged: u64,
    growth: Growth,
    /// What this ACK takes off the window [byte].
    cut: f64,
    /// Whether slow start ends with this ACK.
    leaves_slow_start: bool,
}

/// Least window [segment], and ssthresh once slow start is left (ns-2).
const LEAST_SEGMENTS: f64 = 2.0;

impl Vegas {
    /// Nothing sent yet.
    pub fn new(config: VegasConfig) -> Vegas {
        Vegas {
            config,
            sent: VecDeque::new(),
            base: u64::MAX,
            sum: 0,
            count: 0,
            tagged: 0,
            growth: Growth::Double,
            cut: 0.0,
            leaves_slow_start: false,
        }
    }

    /// A segment leaves, the first time or again.
    pub fn on_sent(&mut self, now: Time, sequence: u64, end: u64) {
        if self.sent.back().is_none_or(|last| last.end < end) {
            self.sent.push_back(SentSegment { end, at: Some(now) });
        }
        let first = self.sent.partition_point(|segment| segment.end <= sequence);
        for segment in self.sent.range_mut(first..).take_while(|segment| segment.end <= end) {
            segment.at = segment.at.filter(|&at| at == now);
        }
    }

    /// An ACK of `acked` new bytes came, which `flight` shows already.
    pub fn on_ack(&mut self, now: Time, flight: &Flight, acked: u64) {
        (self.cut, self.leaves_slow_start) = (0.0, false);
        let mut latest = None;
        while let Some(segment) = self.sent.front().filter(|segment| segment.end <= flight.una) {
            latest = segment.at;
            self.sent.pop_front();
        }
        if let Some(sent) = latest {
            let round_trip = (now - sent).0;
            self.base = self.base.min(round_trip);
            self.sum += round_trip;
            self.count += 1;
        }
        if flight.una > self.tagged {
            if self.count > 0 {
                let window = (flight.outstanding() + acked) as f64 / flight.mss();
                let round_trip = self.sum as f64 / self.count as f64;
                self.adjust(flight, window * (1.0 - self.base as f64 / round_trip));
            }
            (self.sum, self.count) = (0, 0);
            self.tagged = flight.nxt;
        }
    }

    /// Decides on the next round trip; `diff` is what stands in queues [segment].
    fn adjust(&mut self, flight: &Flight, diff: f64) {
        let VegasConfig { alpha, beta, gamma } = self.config;
        if flight.cwnd < flight.ssthresh {
            if diff > gamma {
                // The window is an eighth too large by now (Brakmo's code, and ns-2's).
                (self.leaves_slow_start, self.growth) = (true, Growth::None);
                self.cut = flight.cwnd / 8.0;
            } else if self.growth == Growth::Double {
                self.growth = Growth::None;
            } else {
                self.growth = Growth::Double;
            }
        } else if diff > beta {
            (self.cut, self.growth) = (flight.mss(), Growth::None);
        } else if diff < alpha {
            self.growth = Growth::Linear;
        } else {
            self.growth = Growth::None;
        }
    }

    /// cwnd and ssthresh [byte] after this ACK.
    pub fn grown(&self, flight: &Flight) -> (f64, f64) {
        let mss = flight.mss();
        let growth = match self.growth {
            Growth::Double if flight.cwnd < flight.ssthresh => mss,
            Growth::Double | Growth::Linear => mss * mss / flight.cwnd,
            Growth::None => 0.0,
        };
        let least = LEAST_SEGMENTS * mss;
        let window = if self.cut > 0.0 {
            (flight.cwnd - self.cut).max(least)
        } else {
            flight.cwnd + growth
        };
        let threshold = if self.leaves_slow_start { least } else { flight.ssthresh };
        (window.min(flight.rwnd as f64), threshold)
    }
}
