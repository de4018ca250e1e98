//! The sending end point.

mod acks;
mod in_order;
mod journal_entries;
pub(crate) mod opening;
mod records;
mod standing;
mod timers;
mod transmit;

use crate::config::TcpConfig;
use crate::congestion::control::{Cause, Pacing};
use crate::congestion::limits::Limits;
use crate::congestion::reins::Reins;
use crate::congestion::Congestion;
use crate::flight::Flight;
use crate::journal::{EventCause, Journal};
use crate::pacer::Pacer;
use crate::rare::Rare;
use crate::recovery::recover::Recover;
use crate::recovery::trigger::Triggers;
use crate::recovery::Recovery;
use crate::timer::RttEstimator;
use crate::told::Told;
use longpipe_events::{MaybeTime, Span, Stream, Time};
pub use standing::{Standing, Watched};
use std::num::NonZeroU64;
use timers::{Timer, Timers};

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
    /// Payload bytes sent in segments shorter than the MSS, retransmissions included.
    pub short_bytes: u64,
    /// Segments sent again.
    pub retransmitted_segments: u64,
    /// Payload bytes sent again.
    pub retransmitted_bytes: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmits; of a recovery by records, how often it began without a timeout.
    pub fast_retransmits: u64,
    /// Duplicate ACKs received.
    pub duplicate_acks: u64,
    /// Reductions of the window for marks.
    pub mark_reductions: u64,
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
    timers: Timers,
    /// How long the retransmission timer runs if it starts now; none: the estimator has to be asked.
    rto: Option<NonZeroU64>,
    /// First byte of the one segment being timed, or `NOTHING`.
    timed: u64,
    congestion: Congestion,
    /// Whether new data and their ACKs concern nothing but the window, the timer and the congestion control.
    calm: bool,
    /// Resend the segment at SND.UNA before anything else.
    resend_first: bool,
    /// Whether the recovery or the congestion control asks for more than ACKs, or segments leave at a rate.
    follows: bool,
    /// Whether a segment shorter than the MSS leaves only at the end of the data.
    short_at_end_only: bool,
    timestamps: bool,
    /// Whether both hold: short segments at the end only, and no timestamps.
    steady: bool,
    rare: Option<Box<Rare>>,
    /// Of a congestion control that asks for more of an ACK than how much it acknowledged.
    told: Option<Box<Told>>,
    recovery: Recovery,
    triggers: Triggers,
    /// Counters, in which `sent_segments` counts segments shorter than the MSS only; `counters()` adds the full ones and `sent_bytes`.
    counters: SenderCounters,
    /// When the segment being timed left.
    timed_since: Time,
    rtt: RttEstimator,
    /// The latest round trip measured, until somebody asks.
    measured: Option<Span>,
    /// Whether a sender can ever be calm: nothing about it is rare, and nobody asks for more than how much is acknowledged.
    may_be_calm: bool,
    fast_retransmit_restarts_timer: bool,
    silly_window_avoidance: bool,
    /// Cause of the next retransmission, where it is not that of going back after a timeout or a fast retransmit.
    next_cause: Option<EventCause>,
    go_back_cause: EventCause,
    /// Reductions of the window by cause, and events for observers.
    journal: Journal,
    /// What happens in order goes the long way, too.
    #[cfg(test)]
    without_shortcuts: bool,
}

impl Sender {
    /// A sender that has sent nothing. `phase` is the first tick of a coarse clock.
    pub fn new(config: &TcpConfig, phase: Span) -> Sender {
        let mss = config.mss_bytes;
        let initial_window = f64::from(config.initial_window_segments) * f64::from(mss);
        let mut rtt = RttEstimator::new(&config.timer, phase);
        let known = (config.initial_rtt_ps > 0).then_some(Span(config.initial_rtt_ps));
        if let Some(known) = known {
            rtt.measure(Time::ZERO, Time::ZERO + known);
        }
        let rare = Rare::new(config, initial_window);
        let short_at_end_only = config.silly_window_avoidance && u64::from(mss) <= config.advertised_window() / 2;
        let initial_ssthresh = config
            .initial_ssthresh_bytes
            .map_or(f64::INFINITY, |bytes| bytes as f64);
        let limits = Limits::new(initial_window, initial_ssthresh);
        let (mut recovery, mut congestion) = (Recovery::new(&config.recovery), Congestion::new(&config.congestion));
        congestion.set_hz(config.hz);
        congestion.set_ecn(!config.ecn.is_off());
        if let Some(rack) = recovery.by_records() {
            rack.set_hz(config.hz);
        }
        let wants = congestion.wants().or(recovery.wants());
        let follows = !wants.is_nothing() || config.pacing;
        let tells = follows || !congestion.asks_little();
        let may_be_calm = rare.is_none() && !tells;
        let mut flight = Flight::new(limits, config.advertised_window(), mss);
        let mut told = tells.then(|| Box::new(Told::new(wants, config)));
        if let Some(known) = known {
            opening::begin_with(told.as_deref_mut(), &mut congestion, &mut flight, rtt.srtt(), known);
        }
        Sender {
            flight,
            recovery,
            congestion,
            written: 0,
            timers: Timers::IDLE,
            rto: rtt.steady_rto(),
            rtt,
            timed: NOTHING,
            timed_since: Time::ZERO,
            measured: None,
            calm: may_be_calm,
            may_be_calm,
            rare,
            told,
            follows,
            resend_first: false,
            triggers: Triggers::new(config.duplicate_ack_threshold, Span(config.fast_retransmit_interval_ps)),
            fast_retransmit_restarts_timer: config.fast_retransmit_restarts_timer,
            silly_window_avoidance: config.silly_window_avoidance,
            short_at_end_only,
            timestamps: config.timestamps(),
            steady: short_at_end_only && !config.timestamps(),
            counters: SenderCounters::default(),
            next_cause: None,
            go_back_cause: EventCause::Timeout,
            journal: Journal::default(),
            #[cfg(test)]
            without_shortcuts: false,
        }
    }

    /// What the congestion control draws at random comes from there.
    pub fn draw_from(&mut self, draws: Stream) {
        self.congestion.draw_from(draws);
    }

    /// Somebody has to hear of each of its ACKs, so that none is taken in passing.
    pub fn heed_each_ack(&mut self) {
        (self.calm, self.may_be_calm) = (false, false);
        opening::heed(self);
    }

    /// The other end opens the connection.
    pub fn let_other_open(&mut self) {
        opening::end(self);
    }

    /// The application has written up to byte `end` in all.
    pub fn write_up_to(&mut self, end: u64) {
        self.written = self.written.max(end);
    }

    /// Its congestion control.
    #[cfg(test)]
    pub fn congestion(&self) -> &Congestion {
        &self.congestion
    }

    /// Whether what comes next is but a larger window, and another run of the timer.
    fn look_whether_calm(&mut self) {
        let idle = self.recovery.is_idle();
        self.calm = self.may_be_calm && !self.resend_first && idle;
    }

    /// When the retransmission timer expires if it starts now.
    #[inline(always)]
    fn expiry(&mut self, now: Time) -> MaybeTime {
        expiry(self.rto, &mut self.rtt, now)
    }

    /// What a segment that leaves now says of its sender's clock.
    #[inline(always)]
    fn stamp(&self, now: Time) -> MaybeTime {
        if self.timestamps {
            now.into()
        } else {
            MaybeTime::NONE
        }
    }

    fn reins(&mut self, now: Time) -> Reins<'_> {
        Reins::new(
            &mut self.flight,
            &mut self.congestion,
            self.told.as_deref_mut().map(Told::pacing),
            &mut self.journal,
            now,
        )
    }

    /// The caller's clock passed `next_timeout`.
    pub fn on_timeout(&mut self, now: Time) {
        for timer in Timer::ALL {
            if self.timers.is_due(timer, now) {
                match timer {
                    Timer::Retransmission if opening::is_on(self) => opening::on_timeout(self, now),
                    Timer::Retransmission if self.goes_by_records() => records::on_timeout(self, now),
                    Timer::Retransmission => self.on_retransmission_timeout(now),
                }
            }
        }
        if let Some(pacer) = self.told.as_mut().and_then(|told| told.pacer.as_mut()) {
            pacer.on_timeout(now);
        }
    }

    fn on_retransmission_timeout(&mut self, now: Time) {
        self.on_expiry(now);
        let mut reins = Reins::new(
            &mut self.flight,
            &mut self.congestion,
            self.told.as_deref_mut().map(Told::pacing),
            &mut self.journal,
            now,
        );
        self.recovery.on_timeout(&mut reins);
        reins.reduce(Cause::Timeout);
        self.flight.nxt = self.flight.una;
        self.flight.duplicates = 0;
        self.resend_first = false;
        self.timed = NOTHING;
        self.rtt.back_off();
        self.rto = self.rtt.steady_rto();
        let expiry = self.expiry(now);
        self.timers.set(Timer::Retransmission, expiry);
        self.look_whether_calm();
    }

    /// When `on_timeout` is due.
    #[inline(always)]
    pub fn next_timeout(&self) -> MaybeTime {
        let next = self.timers.next();
        if self.follows {
            return next.min(self.resume());
        }
        next
    }

    /// The same of a sender that just took a plain ACK.
    #[inline(always)]
    pub fn next_calm_timeout(&self) -> MaybeTime {
        debug_assert!(self.calm && !self.follows);
        self.timers.next()
    }

    /// When a segment that waits for its time may leave.
    #[cold]
    fn resume(&self) -> MaybeTime {
        let pacer = self.told.as_ref().and_then(|told| told.pacer.as_ref());
        pacer.map_or(MaybeTime::NONE, Pacer::resume)
    }

    /// At which rate the congestion control would have segments leave, if it has one.
    pub fn pacing(&self) -> Option<Pacing> {
        self.told.as_ref().and_then(|told| told.pacing)
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
        let full = (sent_bytes - counters.short_bytes) / u64::from(self.flight.mss);
        SenderCounters {
            sent_segments: counters.sent_segments + full,
            sent_bytes,
            ..counters
        }
    }

    /// What it is about.
    pub fn watched(&self) -> Watched {
        Watched {
            model: self.congestion.model(),
            pacing_bps: self.pacing().map(|pacing| pacing.rate_bps),
            state: self.recovery.state(),
        }
    }

    /// How it stands.
    pub fn standing(&mut self) -> Standing {
        let state = self.recovery.by_records().map(|rack| rack.state());
        let ledger = self.told.as_deref().and_then(|told| told.ledger.as_ref());
        Standing {
            cwnd: self.flight.cwnd(),
            ssthresh: self.flight.ssthresh(),
            written: self.written,
            max: self.flight.max,
            una: self.flight.una,
            records: state.zip(ledger.map(|ledger| ledger.count())),
        }
    }

    /// The receiver advertises another window [byte].
    pub fn advertise(&mut self, window: u64) {
        self.flight.rwnd = window;
    }

    /// Whether all that was written has been acknowledged.
    pub fn is_done(&self) -> bool {
        self.flight.una >= self.written
    }
}

/// When a retransmission timer expires that starts now, and runs for so long; where it is not known for how long, the estimator
/// is asked.
#[inline(always)]
fn expiry(rto: Option<NonZeroU64>, rtt: &mut RttEstimator, now: Time) -> MaybeTime {
    match rto {
        Some(rto) => (now + Span(rto.get())).into(),
        None => rtt.deadline(now).into(),
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
