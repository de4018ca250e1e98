//! The sending end point.

use crate::config::TcpConfig;
use crate::congestion::Congestion;
use crate::flight::Flight;
use crate::rare::Rare;
use crate::recovery::{Next, Recovery, Resend, Triggers};
use crate::segment::{AckSegment, DataSegment};
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

/// The one segment being timed: its first byte, beyond all bytes if there is none, and when it left.
#[derive(Clone, Copy, Debug)]
struct Timed {
    sequence: u64,
    sent: Time,
}

impl Timed {
    const NONE: Timed = Timed {
        sequence: u64::MAX,
        sent: Time::ZERO,
    };
}

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
    timed: Timed,
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
    counters: SenderCounters,
    triggers: Triggers,
    rare: Option<Box<Rare>>,
    recovery: Recovery,
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
            timed: Timed::NONE,
            measured: None,
            calm: rare.is_none(),
            rare,
            resend_first: false,
            triggers: Triggers::new(config),
            fast_retransmit_restarts_timer: config.fast_retransmit_restarts_timer,
            silly_window_avoidance: config.silly_window_avoidance,
            short_at_end_only: config.silly_window_avoidance && u64::from(mss) <= config.advertised_window() / 2,
            timestamps: config.timestamps(),
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
        let acked = self.acknowledge(now, ack);
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
        let acked = self.acknowledge(now, ack);
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
    fn acknowledge(&mut self, now: Time, ack: &AckSegment) -> u64 {
        if let Some(echo) = ack.echo {
            self.measure(echo, now);
        } else if ack.acknowledgement > self.timed.sequence {
            self.measure(self.timed.sent, now);
            self.timed = Timed::NONE;
        }
        let flight = &mut self.flight;
        let acked = ack.acknowledgement - flight.una;
        flight.una = ack.acknowledgement;
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
            self.timed = Timed::NONE;
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
        self.timed = Timed::NONE;
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

    /// The next segment to send now, if any.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Time) -> Option<DataSegment> {
        if self.calm {
            self.poll_calm(now)
        } else {
            self.poll_notable(now)
        }
    }

    /// What the window allows.
    #[inline(always)]
    fn poll_calm(&mut self, now: Time) -> Option<DataSegment> {
        let flight = &self.flight;
        let (sequence, mss) = (flight.nxt, flight.mss);
        let end = sequence + u64::from(mss);
        let needed = end - flight.una;
        // The same as `needed <= flight.window()`, for less.
        let full = (needed <= flight.rwnd) & (needed as i64 as f64 <= flight.cwnd) & (end <= self.written);
        if full {
            self.flight.nxt = end;
            return Some(self.emit(now, sequence, mss));
        }
        if self.short_at_end_only && flight.una + flight.rwnd < self.written {
            return None;
        }
        self.poll_short(now, flight.window())
    }

    /// Less than the MSS, if the window allows that much and silly-window avoidance does.
    #[inline(never)]
    fn poll_short(&mut self, now: Time, window: u64) -> Option<DataSegment> {
        let (sequence, length) = (self.flight.nxt, self.room(window));
        if length == 0 || (length < self.flight.mss && !self.may_send_short(length)) {
            return None;
        }
        self.flight.nxt += u64::from(length);
        Some(self.emit(now, sequence, length))
    }

    /// The same where a recovery may decide, or the time since the latest segment.
    #[inline(never)]
    fn poll_notable(&mut self, now: Time) -> Option<DataSegment> {
        if let Some(rare) = &self.rare {
            rare.before_sending(now, &mut self.flight, |latest| self.rtt.deadline(latest));
        } else if !self.resend_first & !self.recovery.is_on() {
            return self.poll_calm(now);
        }
        if self.resend_first {
            self.resend_first = false;
            let length = self.flight.outstanding().min(u64::from(self.flight.mss)) as u32;
            let sequence = self.flight.una;
            self.flight.nxt = self.flight.nxt.max(sequence + u64::from(length));
            return Some(self.emit(now, sequence, length));
        }
        let flight = &self.flight;
        match self.recovery.next(flight) {
            Next::Window => self.poll_short(now, flight.window()),
            Next::Beyond => {
                let segment = self.poll_short(now, flight.rwnd)?;
                self.recovery.on_sent(&self.flight, None);
                Some(segment)
            }
            Next::Hole { sequence, length } => {
                let end = sequence + u64::from(length);
                self.recovery.on_sent(flight, Some(end));
                self.flight.nxt = self.flight.nxt.max(end);
                Some(self.emit(now, sequence, length))
            }
            Next::Nothing => None,
        }
    }

    /// How long the next segment may be at SND.NXT.
    fn room(&self, window: u64) -> u32 {
        let flight = &self.flight;
        let room = (flight.una + window).min(self.written).saturating_sub(flight.nxt);
        room.min(u64::from(flight.mss)) as u32
    }

    /// Sender-side silly-window avoidance (RFC 1122 4.2.3.4, without Nagle's rule).
    fn may_send_short(&self, length: u32) -> bool {
        let flight = &self.flight;
        !self.silly_window_avoidance
            || flight.nxt + u64::from(length) == self.written
            || u64::from(length) >= flight.rwnd / 2
    }

    #[inline(always)]
    fn emit(&mut self, now: Time, sequence: u64, length: u32) -> DataSegment {
        let end = sequence + u64::from(length);
        let retransmission = sequence < self.flight.max;
        if let Some(rare) = &mut self.rare {
            rare.on_sent(now);
        }
        self.counters.sent_segments += 1;
        self.counters.sent_bytes += u64::from(length);
        if retransmission {
            self.counters.retransmitted_segments += 1;
            self.counters.retransmitted_bytes += end.min(self.flight.max) - sequence;
        } else if self.timed.sequence == Timed::NONE.sequence {
            self.timed = Timed { sequence, sent: now };
        }
        self.flight.max = self.flight.max.max(end);
        self.congestion.on_sent(now, sequence, end);
        if self.deadline == MaybeTime::NONE {
            self.deadline = self.expiry(now);
        }
        DataSegment {
            sequence,
            length,
            retransmission,
            timestamp: self.timestamps.then_some(now),
        }
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
        self.counters
    }

    /// Whether all that was written has been acknowledged.
    pub fn is_done(&self) -> bool {
        self.flight.una >= self.written
    }
}
