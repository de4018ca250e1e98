//! The sending end point.

mod transmit;

use crate::config::TcpConfig;
use crate::congestion::Congestion;
use crate::flight::Flight;
use crate::rare::Rare;
use crate::recovery::{Recovery, Resend, Triggers};
use crate::segment::AckSegment;
use crate::timer::RttEstimator;
use longpipe_events::{MaybeTime, Span, Time};
use std::num::NonZeroU64;

/// Data that an application has written so far [byte]; `GREEDY` never ends.
pub const GREEDY: u64 = u64::MAX;

/// Counters of one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SenderCounters {
    /// Segments sent, retransmissions included.
    pub sent_segments: u64,
    /// Payload bytes sent, retransmissions included.
    pub sent_bytes: u64,
    /// Segments sent again.
    pub retransmitted_segments: u64,
    /// Payload bytes sent again.
    pub retransmitted_bytes: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Duplicate ACKs received.
    pub duplicate_acks: u64,
}

/// Stands for the first byte of the segment being timed where there is none: beyond all bytes.
const NOTHING: u64 = u64::MAX;

/// One connection's sending side: recovery × congestion control × timer. What every ACK touches comes first, so that
/// many connections fit the cache.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    flight: Flight,
    /// First byte the application has not written [byte].
    written: u64,
    /// When the retransmission timer expires.
    deadline: MaybeTime,
    /// How long it runs if it starts now; none: the estimator has to be asked.
    rto: Option<NonZeroU64>,
    /// First byte of the one segment being timed, or `NOTHING`.
    timed: u64,
    congestion: Congestion,
    /// Whether new data and their ACKs concern nothing but the window, the timer and the congestion control.
    calm: bool,
    /// Resend the segment at SND.UNA before anything else.
    resend_first: bool,
    fast_retransmit_restarts_timer: bool,
    silly_window_avoidance: bool,
    /// Whether a segment shorter than the MSS leaves only at the end of the data.
    short_at_end_only: bool,
    timestamps: bool,
    /// Whether both hold: short segments at the end only, and no timestamps.
    steady: bool,
    rare: Option<Box<Rare>>,
    recovery: Recovery,
    triggers: Triggers,
    /// Of segments and bytes sent, those of segments shorter than the MSS.
    counters: SenderCounters,
    /// When the segment being timed left.
    timed_since: Time,
    rtt: RttEstimator,
    /// The latest round trip measured, until somebody asks.
    measured: Option<Span>,
}

impl Sender {
    /// A sender that has sent nothing. `phase` is the first tick of a coarse clock.
    pub fn new(config: &TcpConfig, phase: Span) -> Sender {
        let mss = config.mss_bytes;
        let initial_window = f64::from(config.initial_window_segments) * f64::from(mss);
        let rtt = RttEstimator::new(&config.timer, phase);
        let rare = Rare::new(config, initial_window);
        let short_at_end_only = config.silly_window_avoidance && u64::from(mss) <= config.advertised_window() / 2;
        Sender {
            flight: Flight {
                una: 0,
                nxt: 0,
                max: 0,
                cwnd: initial_window,
                ssthresh: config
                    .initial_ssthresh_bytes
                    .map_or(f64::INFINITY, |bytes| bytes as f64),
                rwnd: config.advertised_window(),
                mss,
                duplicates: 0,
            },
            recovery: Recovery::new(config),
            congestion: Congestion::new(config),
            written: 0,
            deadline: MaybeTime::NONE,
            rto: rtt.steady_rto(),
            rtt,
            timed: NOTHING,
            timed_since: Time::ZERO,
            measured: None,
            calm: rare.is_none(),
            rare,
            resend_first: false,
            triggers: Triggers::new(config),
            fast_retransmit_restarts_timer: config.fast_retransmit_restarts_timer,
            silly_window_avoidance: config.silly_window_avoidance,
            short_at_end_only,
            timestamps: config.timestamps(),
            steady: short_at_end_only && !config.timestamps(),
            counters: SenderCounters::default(),
        }
    }

    /// The application has written up to byte `end` in all.
    pub fn write_up_to(&mut self, end: u64) {
        self.written = self.written.max(end);
    }

    /// An acknowledgement arrived.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Time, ack: &AckSegment) {
        debug_assert!(ack.acknowledgement <= self.flight.max, "an ACK for data never sent");
        if !self.calm | (ack.blocks[0].end > 0) | (ack.acknowledgement <= self.flight.una) {
            return self.on_notable_ack(now, ack);
        }
        self.on_calm_ack(now, ack.acknowledgement, ack.echo);
    }

    /// Takes an ACK without options that needs no more than a larger window and another run of the timer, after which
    /// `poll_full` says what to send; else `on_ack` has to take it.
    #[inline(always)]
    pub fn take_plain(&mut self, now: Time, acknowledgement: u64) -> bool {
        let plain = self.calm & self.steady & (acknowledgement > self.flight.una);
        if plain {
            self.on_calm_ack(now, acknowledgement, None);
        }
        plain
    }

    #[inline(always)]
    fn on_calm_ack(&mut self, now: Time, acknowledgement: u64, echo: Option<Time>) {
        let acked = self.acknowledge(now, acknowledgement, echo);
        let flight = &mut self.flight;
        (flight.cwnd, flight.ssthresh) = self.congestion.grown(flight, acked);
        let expiry = self.expiry(now);
        self.deadline = if self.flight.max == self.flight.una {
            MaybeTime::NONE
        } else {
            expiry
        };
    }

    /// The same where more may follow than a larger window and another run of the timer.
    #[inline(never)]
    fn on_notable_ack(&mut self, now: Time, ack: &AckSegment) {
        if let Some(rare) = &mut self.rare {
            rare.on_ack(now, &mut self.flight);
        }
        if ack.acknowledgement < self.flight.una {
            return;
        }
        let counts = self.recovery.on_ack(ack);
        if ack.acknowledgement > self.flight.una {
            self.on_advance(now, ack);
        } else if self.flight.outstanding() > 0 {
            self.on_duplicate(now, counts);
        }
        self.look_whether_calm();
    }

    fn on_advance(&mut self, now: Time, ack: &AckSegment) {
        let acked = self.acknowledge(now, ack.acknowledgement, ack.echo);
        let advance = self.recovery.on_advance(&mut self.flight, &self.congestion, acked);
        if self.flight.max == self.flight.una {
            self.deadline = MaybeTime::NONE;
        } else if advance.restart_timer {
            self.deadline = self.expiry(now);
        }
        self.resend(advance.resend);
    }

    /// Moves SND.UNA; the number of bytes acknowledged.
    #[inline(always)]
    fn acknowledge(&mut self, now: Time, acknowledgement: u64, echo: Option<Time>) -> u64 {
        if let Some(echo) = echo {
            self.measure(echo, now);
        } else if acknowledgement > self.timed {
            self.measure(self.timed_since, now);
            self.timed = NOTHING;
        }
        let flight = &mut self.flight;
        let acked = acknowledgement - flight.una;
        flight.una = acknowledgement;
        flight.nxt = flight.nxt.max(flight.una);
        flight.duplicates = 0;
        self.congestion.on_ack(now, flight, acked);
        acked
    }

    fn look_whether_calm(&mut self) {
        self.calm = self.rare.is_none() && !self.resend_first && self.recovery.is_idle();
    }

    /// When the timer expires if it starts now.
    #[inline(always)]
    fn expiry(&mut self, now: Time) -> MaybeTime {
        match self.rto {
            Some(rto) => (now + Span(rto.get())).into(),
            None => self.rtt.deadline(now).into(),
        }
    }

    #[inline(never)]
    fn measure(&mut self, sent: Time, now: Time) {
        self.rtt.measure(sent, now);
        self.rto = self.rtt.steady_rto();
        self.measured = Some(now - sent);
    }

    #[inline(never)]
    fn on_duplicate(&mut self, now: Time, counts: bool) {
        self.counters.duplicate_acks += 1;
        if !counts {
            return;
        }
        self.flight.duplicates += 1;
        let resend = self
            .recovery
            .on_duplicate(&mut self.flight, &self.congestion, self.triggers.at(now));
        if resend != Resend::Nothing {
            self.triggers.on_fast_retransmit(now);
            self.counters.fast_retransmits += 1;
            self.timed = NOTHING;
            if self.fast_retransmit_restarts_timer {
                self.deadline = self.expiry(now);
            }
        }
        self.resend(resend);
    }

    fn resend(&mut self, resend: Resend) {
        match resend {
            Resend::Nothing => {}
            Resend::First => self.resend_first = true,
            Resend::FromUna => self.flight.nxt = self.flight.una,
        }
    }

    /// The caller's clock passed `next_timeout`.
    pub fn on_timeout(&mut self, now: Time) {
        if self.deadline > now.into() {
            return;
        }
        self.counters.timeouts += 1;
        self.recovery.on_timeout(&mut self.flight, &self.congestion);
        self.resend_first = false;
        self.timed = NOTHING;
        self.rtt.back_off();
        self.rto = self.rtt.steady_rto();
        self.deadline = self.expiry(now);
        self.look_whether_calm();
    }

    /// When `on_timeout` is due.
    #[inline(always)]
    pub fn next_timeout(&self) -> MaybeTime {
        self.deadline
    }

    /// Payload of a full segment [byte].
    #[inline(always)]
    pub fn mss_bytes(&self) -> u32 {
        self.flight.mss
    }

    /// Sequence space and window.
    pub fn flight(&self) -> &Flight {
        &self.flight
    }

    /// Round-trip estimate and RTO.
    pub fn timer(&self) -> &RttEstimator {
        &self.rtt
    }

    /// The latest round trip measured since this was last asked.
    pub fn take_measured(&mut self) -> Option<Span> {
        self.measured.take()
    }

    /// What has happened so far.
    pub fn counters(&self) -> SenderCounters {
        let counters = self.counters;
        let sent_bytes = self.flight.max + counters.retransmitted_bytes;
        let full = (sent_bytes - counters.sent_bytes) / u64::from(self.flight.mss);
        SenderCounters {
            sent_segments: counters.sent_segments + full,
            sent_bytes,
            ..counters
        }
    }

    /// Whether all that was written has been acknowledged.
    pub fn is_done(&self) -> bool {
        self.flight.una >= self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn what_most_acks_touch_fits_two_lines_of_cache_beside_16_bytes() {
        assert!(offset_of!(Sender, steady) < 112);
    }
}
