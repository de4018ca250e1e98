//! How long Linux delays an ACK, and when it acknowledges each segment at once (tcp_event_data_recv, tcp_send_delayed_ack and
//! tcp_delack_timer_handler, 6.1).
//!
//! The timeout (ATO) is counted in ticks of the kernel's clock. It follows the gaps between segments, and doubles each time that a
//! delayed ACK leaves because no second segment came.

use super::Receiver;
use crate::config::EcnConfig;
use crate::segment::DataSegment;
use longpipe_events::{Span, Time, PS_PER_SECOND};

/// Segments acknowledged at once after a pause, or after one that had arrived before (TCP_MAX_QUICKACKS).
const MAX_QUICK_ACKS: u32 = 16;
/// Segments acknowledged at once when marks begin, or after a retransmission of a connection that uses ECN.
const ECN_QUICK_ACKS: u32 = 2;
/// Least RTO [ps] (TCP_RTO_MIN).
const LEAST_RTO: Span = Span::millis(200);
/// RTO before the first RTT sample (TCP_TIMEOUT_INIT).
const INITIAL_RTO: Span = Span::seconds(1);
/// Longest delay of an ACK is half a second where no RTT is known (tcp_send_delayed_ack).
const MOST_PER_SECOND: u64 = 2;

/// The delayed ACKs of one receiver.
#[derive(Clone, Copy, Debug)]
pub struct Delays {
    tick: u64,
    /// Least timeout [tick] (TCP_ATO_MIN, TCP_DELACK_MIN).
    least: u64,
    /// Timeout [tick].
    ato: u64,
    /// When the latest segment in order arrived; none yet.
    latest: Option<Time>,
}

impl Delays {
    /// Returns the delays of a receiver whose clock has `hz` ticks per second; `least` is the least timeout.
    pub fn new(least: Span, hz: u32) -> Delays {
        let tick = PS_PER_SECOND / u64::from(hz);
        let least = (least.0 / tick).max(1);
        Delays {
            tick,
            least,
            ato: least,
            latest: None,
        }
    }

    /// Takes a segment in order, and returns how many segments from this one on are to be acknowledged at once because it came
    /// after a pause longer than the RTO.
    #[inline]
    pub fn on_segment(&mut self, now: Time, round_trip: Option<Span>) -> u32 {
        let regular = self
            .latest
            .is_some_and(|latest| now.since(latest).0 <= self.least / 2 * self.tick);
        if regular && self.ato == self.least {
            self.latest = Some(now);
            return 0;
        }
        self.adapt(now, round_trip)
    }

    #[cold]
    fn adapt(&mut self, now: Time, round_trip: Option<Span>) -> u32 {
        let Some(latest) = self.latest.replace(now) else {
            return 0;
        };
        let gap = now.0 / self.tick - latest.0 / self.tick;
        if gap <= self.least / 2 {
            self.ato = self.ato / 2 + self.least / 2;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(self.rto(round_trip));
        } else if gap > self.rto(round_trip) {
            return MAX_QUICK_ACKS;
        }
        0
    }

    /// Returns when an ACK is due that is delayed from `now`. No timer of the kernel expires early, so that one of n ticks
    /// expires at the end of the tick n + 1 later.
    pub fn deadline(&self, now: Time, round_trip: Option<Span>) -> Time {
        let mut ato = self.ato;
        if ato > self.least {
            let half_second = PS_PER_SECOND / MOST_PER_SECOND / self.tick;
            let most = round_trip.map_or(half_second, |rtt| {
                rtt.0.div_ceil(self.tick).max(self.least).min(half_second)
            });
            ato = ato.min(most);
        }
        Time((now.0 / self.tick + ato + 1) * self.tick)
    }

    /// An ACK left because no second segment came in time.
    pub fn on_timeout(&mut self, round_trip: Option<Span>) {
        self.ato = (2 * self.ato).min(self.rto(round_trip));
    }

    /// The segments to acknowledge at once are over (tcp_dec_quickack_mode).
    pub fn reset(&mut self) {
        self.ato = self.least;
    }

    /// RTO of a connection that measured one RTT, that of the handshake [tick].
    fn rto(&self, round_trip: Option<Span>) -> u64 {
        let rto = round_trip.map_or(INITIAL_RTO, |rtt| rtt + Span(2 * rtt.0).max(LEAST_RTO));
        rto.0.div_ceil(self.tick)
    }
}

impl Receiver {
    /// Returns the RTT that the receiver knows.
    pub(super) fn round_trip(&self) -> Option<Span> {
        self.window.as_ref().and_then(|window| window.round_trip())
    }

    /// Takes the gap before a segment in order into the delay of ACKs.
    #[inline]
    pub(super) fn measure_gap(&mut self, now: Time) {
        let round_trip = self.round_trip();
        if let Some(delays) = &mut self.delays {
            self.quick = self.quick.max(delays.on_segment(now, round_trip));
        }
    }

    /// Counts a segment that is acknowledged at once as one of those that may not wait, and returns whether it is (Linux:
    /// `tcp_dec_quickack_mode`).
    #[inline]
    pub(super) fn use_quick_ack(&mut self) -> bool {
        if self.quick == 0 {
            return false;
        }
        self.quick -= 1;
        if let (0, Some(delays)) = (self.quick, &mut self.delays) {
            delays.reset();
        }
        true
    }

    /// Has the next segments acknowledged at once after a pause, after a segment that had arrived before, when marks begin and after
    /// a retransmission of a connection that uses ECN (Linux: `tcp_enter_quickack_mode`).
    pub(super) fn start_quick_acks(&mut self, now: Time, segment: &DataSegment, (in_order, marks): (bool, bool)) {
        if in_order {
            self.measure_gap(now);
        }
        let duplicate = !in_order && segment.end() <= self.next;
        let (classic, dctcp) = (
            matches!(self.ecn, EcnConfig::Classic { .. }),
            self.ecn == EcnConfig::Dctcp {},
        );
        let begin = classic && segment.ecn.marked && !marks;
        // Retransmissions can't be marked.
        let again = classic && segment.retransmission;
        let (more, reset) = if duplicate {
            (MAX_QUICK_ACKS, true)
        } else if begin || again {
            (ECN_QUICK_ACKS, true)
        } else {
            // The segment that ends a reduction, and the first one marked otherwise, have their ACKs at once.
            let once = (classic && segment.ecn.reduced) || (dctcp && self.echoes_mark != marks);
            (u32::from(once), false)
        };
        self.quick = self.quick.max(more);
        if let (true, Some(delays)) = (reset, &mut self.delays) {
            delays.reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Option<Span> = Some(Span::millis(269));

    fn at(us: u64) -> Time {
        Time(Span::micros(us).0)
    }

    /// Linux 6.1.176 at 100 ticks a second: 14 connections whose 30th segment arrived 1.89 ms after a tick sent its ACK 48.11 ms
    /// later; one whose segment arrived 5.14 ms after a tick, 44.86 ms later.
    #[test]
    fn linux_a_delayed_ack_leaves_at_the_fifth_tick_of_ten_milliseconds() {
        let delays = Delays::new(Span::millis(40), 100);
        assert_eq!(delays.deadline(at(401_890), RTT), at(450_000));
        assert_eq!(delays.deadline(at(405_140), RTT), at(450_000));
        assert_eq!(delays.deadline(at(410_000), RTT), at(460_000));
        let delays = Delays::new(Span::millis(40), 250);
        assert_eq!(delays.deadline(at(401_890), RTT), at(444_000));
    }

    /// By the kernel's arithmetic in ticks of 10 ms: the ATO of 4 doubles with each missed ACK, up to SRTT as a delay, and segments
    /// at most 20 ms apart bring it back by 4/2 + half of it.
    #[test]
    fn linux_the_timeout_doubles_with_each_missed_ack_and_regular_segments_bring_it_back() {
        let mut delays = Delays::new(Span::millis(40), 100);
        let ticks = |delays: &Delays| (delays.deadline(at(0), RTT).0 / Span::millis(10).0) - 1;
        assert_eq!(delays.on_segment(at(0), RTT), 0);
        let mut seen = vec![ticks(&delays)];
        for _ in 0..4 {
            delays.on_timeout(RTT);
            seen.push(ticks(&delays));
        }
        // SRTT is 26.9 ticks.
        assert_eq!(seen, [4, 8, 16, 27, 27]);
        assert_eq!(delays.ato, 64);
        let back: Vec<u64> = (1..6)
            .map(|number| {
                delays.on_segment(at(1000 * number), RTT);
                delays.ato
            })
            .collect();
        assert_eq!(back, [34, 19, 11, 7, 5]);
        // Gaps of three ticks: 5/2 + 3.
        delays.on_segment(at(36_000), RTT);
        assert_eq!(delays.ato, 5);
    }

    /// A pause beyond the RTO, here 269 + 538 ms, means that the sender did not restart its window.
    #[test]
    fn linux_after_a_pause_longer_than_the_rto_sixteen_segments_are_acknowledged_at_once() {
        let mut delays = Delays::new(Span::millis(40), 100);
        assert_eq!(delays.on_segment(at(0), RTT), 0);
        assert_eq!(delays.on_segment(at(800_000), RTT), 0);
        assert_eq!(delays.on_segment(at(1_700_000), RTT), MAX_QUICK_ACKS);
        assert_eq!(delays.on_segment(at(2_900_000), None), MAX_QUICK_ACKS);
    }
}
