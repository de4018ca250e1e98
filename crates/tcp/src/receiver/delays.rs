//! Linux's delayed ACKs, and the phases in which it acknowledges each segment at once (tcp_event_data_recv,
//! tcp_send_delayed_ack and tcp_delack_timer_handler, 6.1).
//!
//! The timeout (ATO) is counted in ticks of the kernel's clock, which starts when the connection is established. The
//! ATO follows the gaps between segments, and doubles each time that a delayed ACK is sent because no second segment
//! arrived.

use super::autotuning::AutotunedWindow;
use super::Receiver;
use crate::config::EcnConfig;
use crate::segment::DataSegment;
use longpipe_events::{Span, Time, PS_PER_SECOND};

/// Number of segments that are acknowledged at once after a pause or a duplicate segment (TCP_MAX_QUICKACKS).
const MAX_QUICK_ACKS: u32 = 16;
/// Number of segments that are acknowledged at once when ECN marks begin or, on a connection with ECN, after a
/// retransmission.
const ECN_QUICK_ACKS: u32 = 2;
/// Minimum RTO (TCP_RTO_MIN).
const MIN_RTO: Span = Span::millis(200);
/// RTO before the first RTT sample (TCP_TIMEOUT_INIT).
const INITIAL_RTO: Span = Span::seconds(1);
/// Inverse of the maximum delay of an ACK [1/s]; the maximum is half a second (tcp_send_delayed_ack).
const MAX_DELAYS_PER_SECOND: u64 = 2;

/// Delayed ACKs of one receiver.
#[derive(Clone, Copy, Debug)]
pub struct Delays {
    tick: u64,
    /// Idle time between the establishment of the connection and its first segment.
    preconnect: Span,
    /// Minimum timeout [tick] (TCP_ATO_MIN, TCP_DELACK_MIN).
    min_ato: u64,
    /// Gaps of at most this duration keep the minimum timeout.
    regular: Span,
    /// Timeout [tick].
    ato: u64,
    /// Arrival time of the latest in-order segment.
    latest: Option<Time>,
}

impl Delays {
    /// Creates the state for a clock with `hz` ticks per second that started `preconnect` before the first segment;
    /// `min_ato` is the minimum timeout.
    pub fn new(min_ato: Span, hz: u32, preconnect: Span) -> Delays {
        let tick = PS_PER_SECOND / u64::from(hz);
        let min_ato = (min_ato.0 / tick).max(1);
        Delays {
            tick,
            preconnect,
            min_ato,
            regular: Span(min_ato / 2 * tick),
            ato: min_ato,
            latest: None,
        }
    }

    /// Processes an in-order segment. If it arrived after a pause longer than the RTO, returns the number of segments,
    /// including this one, to acknowledge at once.
    #[inline]
    pub fn on_segment(&mut self, now: Time, round_trip: impl FnOnce() -> Option<Span>) -> u32 {
        let regular = self.latest.is_some_and(|latest| now.since(latest) <= self.regular);
        if regular && self.ato == self.min_ato {
            self.latest = Some(now);
            return 0;
        }
        self.update_ato(now, round_trip())
    }

    #[cold]
    fn update_ato(&mut self, now: Time, round_trip: Option<Span>) -> u32 {
        let Some(latest) = self.latest.replace(now) else {
            return 0;
        };
        let gap = self.ticks(now) - self.ticks(latest);
        if gap <= self.min_ato / 2 {
            self.ato = self.ato / 2 + self.min_ato / 2;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(self.rto(round_trip));
        } else if gap > self.rto(round_trip) {
            return MAX_QUICK_ACKS;
        }
        0
    }

    /// Returns the time at which an ACK is sent that is delayed from `now` on. The kernel's timers never expire early:
    /// a timer of n ticks expires n + 1 ticks after the current tick began.
    #[inline]
    pub fn deadline(&self, now: Time, round_trip: impl FnOnce() -> Option<Span>) -> Time {
        let mut ato = self.ato;
        if ato > self.min_ato {
            let half_second = PS_PER_SECOND / MAX_DELAYS_PER_SECOND / self.tick;
            let max_ato = round_trip().map_or(half_second, |rtt| {
                rtt.0.div_ceil(self.tick).max(self.min_ato).min(half_second)
            });
            ato = ato.min(max_ato);
        }
        Time((self.ticks(now) + ato + 1) * self.tick - self.preconnect.0)
    }

    /// Returns the number of ticks of the kernel's clock by `now`.
    #[inline]
    fn ticks(&self, now: Time) -> u64 {
        (now + self.preconnect).0 / self.tick
    }

    /// Records that an ACK was sent because no second segment arrived in time.
    pub fn on_timeout(&mut self, round_trip: Option<Span>) {
        self.ato = (2 * self.ato).min(self.rto(round_trip));
    }

    /// Sets the timeout to its minimum, at the start and at the end of a phase of immediate ACKs
    /// (tcp_enter_quickack_mode, tcp_dec_quickack_mode).
    pub fn reset(&mut self) {
        self.ato = self.min_ato;
    }

    /// Returns the RTO [tick] of a connection whose only RTT sample comes from the handshake.
    fn rto(&self, round_trip: Option<Span>) -> u64 {
        let rto = round_trip.map_or(INITIAL_RTO, |rtt| rtt + Span(2 * rtt.0).max(MIN_RTO));
        rto.0.div_ceil(self.tick)
    }
}

impl Receiver {
    /// Returns the receiver's RTT estimate.
    pub(super) fn round_trip(&self) -> Option<Span> {
        self.window.as_ref().and_then(|window| window.round_trip())
    }

    /// Updates the delay of ACKs from the gap before an in-order segment.
    #[inline(always)]
    pub(super) fn measure_gap(&mut self, now: Time) {
        let window = self.window.as_deref();
        if let Some(delays) = &mut self.delays {
            let round_trip = || window.and_then(AutotunedWindow::round_trip);
            self.quick = self.quick.max(delays.on_segment(now, round_trip));
        }
    }

    /// Counts an immediate ACK in quickack mode, and returns whether the receiver was in that mode (Linux:
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

    /// Starts immediate ACKs. Called after a pause, after a duplicate segment, when marks begin, and after a
    /// retransmission on a connection with ECN (Linux: `tcp_enter_quickack_mode`).
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
        // Retransmissions are not ECN-capable.
        let retransmission = classic && segment.retransmission;
        let (more, reset) = if duplicate {
            (MAX_QUICK_ACKS, true)
        } else if begin || retransmission {
            (ECN_QUICK_ACKS, true)
        } else {
            // The segment that carries CWR, and the first segment whose mark differs from that of the previous one, are
            // acknowledged at once.
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

    /// Measured with Linux 6.1.176 at 100 ticks per second: on 14 connections, the 30th segment arrived 1.89 ms after a
    /// tick, and its ACK was sent 48.11 ms later; on one connection, the segment arrived 5.14 ms after a tick, and its
    /// ACK was sent 44.86 ms later.
    #[test]
    fn linux_a_delayed_ack_is_sent_at_the_fifth_tick_of_ten_milliseconds() {
        let delays = Delays::new(Span::millis(40), 100, Span(0));
        assert_eq!(delays.deadline(at(401_890), || RTT), at(450_000));
        assert_eq!(delays.deadline(at(405_140), || RTT), at(450_000));
        assert_eq!(delays.deadline(at(410_000), || RTT), at(460_000));
        let delays = Delays::new(Span::millis(40), 250, Span(0));
        assert_eq!(delays.deadline(at(401_890), || RTT), at(444_000));
    }

    /// The kernel's arithmetic in ticks of 10 ms: the ATO of 4 ticks doubles with each delayed ACK that is sent by the
    /// timer, but the delay is at most SRTT; for gaps of at most 20 ms the ATO becomes ATO/2 + 4/2 ticks.
    #[test]
    fn linux_the_timeout_doubles_with_each_expiration_and_regular_segments_reduce_it() {
        let mut delays = Delays::new(Span::millis(40), 100, Span(0));
        let ticks = |delays: &Delays| (delays.deadline(at(0), || RTT).0 / Span::millis(10).0) - 1;
        assert_eq!(delays.on_segment(at(0), || RTT), 0);
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
                delays.on_segment(at(1000 * number), || RTT);
                delays.ato
            })
            .collect();
        assert_eq!(back, [34, 19, 11, 7, 5]);
        // Gaps of three ticks give an ATO of 5/2 + 3 ticks.
        delays.on_segment(at(36_000), || RTT);
        assert_eq!(delays.ato, 5);
    }

    /// After a pause longer than the RTO, here 269 + 538 ms, the receiver assumes that the sender has not restarted its
    /// window.
    #[test]
    fn linux_pause_above_rto_restores_sixteen_quick_acks() {
        let mut delays = Delays::new(Span::millis(40), 100, Span(0));
        assert_eq!(delays.on_segment(at(0), || RTT), 0);
        assert_eq!(delays.on_segment(at(800_000), || RTT), 0);
        assert_eq!(delays.on_segment(at(1_700_000), || RTT), MAX_QUICK_ACKS);
        assert_eq!(delays.on_segment(at(2_900_000), || None), MAX_QUICK_ACKS);
    }
}
