//! The sending end point.

mod acks;
mod cc_state;
mod echoes;
mod ecn;
mod handshake;
mod hoe;
mod in_order;
mod journal_entries;
pub(crate) mod opening;
mod optional_features;
pub mod pacer;
mod records;
pub mod retransmission_timer;
mod state;
mod timers;
mod transmit;
mod writes;

use crate::config::TcpConfig;
use crate::congestion::control::{Cause, Pacing};
use crate::congestion::flight::Flight;
use crate::congestion::flight::Limits;
use crate::congestion::{CarefulResume, Congestion, SavedPath};
use crate::journal::{EventCause, Journal};
use crate::receiver::autotuning::AckOrder;
use crate::receiver::Receiver;
use crate::recovery::recover::Recover;
use crate::recovery::trigger::Triggers;
use crate::recovery::window_handle::WindowHandle;
use crate::recovery::Recovery;
use crate::sender::cc_state::CcState;
use crate::sender::ecn::Marks;
use crate::sender::optional_features::OptionalFeatures;
use crate::sender::pacer::Pacer;
use crate::sender::retransmission_timer::RttEstimator;
use echoes::Echoes;
pub use echoes::Transmission;
use longpipe_events::{MaybeTime, Span, Stream, Time};
pub use state::{SendLimit, SenderState, TcpInfo};
use std::num::NonZeroU64;
use std::ops::AddAssign;
use timers::{Timer, Timers};
use writes::Writes;

/// Number of bytes written by a greedy application, whose data never end.
pub const GREEDY: u64 = u64::MAX;

/// Counters of one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SenderCounters {
    /// Segments sent, including retransmissions.
    pub sent_segments: u64,
    /// Payload bytes sent, including retransmissions.
    pub sent_bytes: u64,
    /// Payload bytes sent in segments shorter than the MSS, including retransmissions.
    pub short_bytes: u64,
    /// Retransmitted segments.
    pub retransmitted_segments: u64,
    /// Payload bytes of retransmissions.
    pub retransmitted_bytes: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmits; with RACK, the number of recoveries that started without a timeout.
    pub fast_retransmits: u64,
    /// Duplicate ACKs received.
    pub duplicate_acks: u64,
    /// Window reductions caused by ECN marks.
    pub mark_reductions: u64,
}

impl AddAssign for SenderCounters {
    fn add_assign(&mut self, other: SenderCounters) {
        self.sent_segments += other.sent_segments;
        self.sent_bytes += other.sent_bytes;
        self.short_bytes += other.short_bytes;
        self.retransmitted_segments += other.retransmitted_segments;
        self.retransmitted_bytes += other.retransmitted_bytes;
        self.timeouts += other.timeouts;
        self.fast_retransmits += other.fast_retransmits;
        self.duplicate_acks += other.duplicate_acks;
        self.mark_reductions += other.mark_reductions;
    }
}

/// Value of `timed` if no segment is timed: it is larger than any sequence number.
const NOTHING: u64 = u64::MAX;

/// The sending side of one connection, which combines a loss recovery, a congestion controller and a timer. The most
/// frequently used fields come first, so that many connections fit in the cache.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    flight: Flight,
    /// First byte that the application has not written yet.
    written: u64,
    timers: Timers,
    /// Duration of the retransmission timer if it is started now; None if the estimator must compute it.
    rto: Option<NonZeroU64>,
    /// First byte of the segment being timed, or `NOTHING`.
    timed: u64,
    congestion: Congestion,
    /// Whether the sender may use the ACK fast path now, that is, whether ACKs of new data affect only the window, the
    /// timer and the controller.
    fast_path: bool,
    /// Whether to retransmit the segment at SND.UNA before sending anything else.
    resend_first: bool,
    /// Whether a new segment and a retransmission, respectively, carry ECT.
    capable: [bool; 2],
    /// Whether each transmission must be reported, because the recovery or the controller needs records or the sender
    /// is paced.
    reports_transmissions: bool,
    /// Whether a segment shorter than the MSS is sent only at the end of the data: silly-window avoidance requires it
    /// while the receiver's window holds two segments.
    short_at_end_only: bool,
    timestamps: bool,
    /// Whether short segments are sent only at the end of the data, and timestamps are disabled.
    uniform_segments: bool,
    /// Whether the sender may take shortcuts: code paths that omit checks that cannot apply, with equal results.
    shortcuts: bool,
    /// Whether a sender with RACK may process in-order ACKs by a shortcut, which requires that it takes shortcuts, has no
    /// handshake or ssthresh estimation, and does not have to send CWR.
    may_take_in_order: bool,
    /// Whether ACKs carry counters of marks (Accurate ECN), which the sender must read.
    reads_counters: bool,
    /// Whether a pacer spaces the segments.
    is_paced: bool,
    optional: Option<Box<OptionalFeatures>>,
    /// Writes of the application, if the receiver acknowledges as Linux does.
    writes: Option<Box<Writes>>,
    /// Full segments that were never sent and end at this byte or earlier carry no PSH.
    plain_end: u64,
    /// Acknowledgement number at which the application continues a write that waits for space in the send buffer.
    refill_at: u64,
    /// The ACKs whose timestamps segments echo, if the receiver measures RTTs by these echoes.
    echoes: Option<Box<Echoes>>,
    /// Whether the last segment carries FIN, which does not need room in cwnd.
    sends_fin: bool,
    /// State for a congestion controller that needs more than the number of acknowledged bytes.
    cc_state: Option<Box<CcState>>,
    recovery: Recovery,
    triggers: Triggers,
    /// Counters. `sent_segments` counts only segments shorter than the MSS; `counters()` adds full segments and
    /// computes `sent_bytes`.
    counters: SenderCounters,
    /// Send time of the segment being timed.
    timed_since: Time,
    rtt: RttEstimator,
    /// Latest RTT sample since `take_measured` was last called.
    measured: Option<Span>,
    /// Whether the sender has no optional features, and the controller needs only the number of acknowledged bytes.
    is_plain: bool,
    /// Whether the sender can ever use the ACK fast path: it is plain, or its only feature is ECN without Accurate ECN.
    may_use_fast_path: bool,
    /// Whether ACKs may change the receiver's window.
    rwnd_varies: bool,
    fast_retransmit_restarts_timer: bool,
    silly_window_avoidance: bool,
    /// Cause of the next retransmission, unless this is part of go-back-N after a timeout or a fast retransmit.
    next_cause: Option<EventCause>,
    go_back_cause: EventCause,
    /// Window reductions by cause, and events for observers.
    journal: Journal,
}

impl Sender {
    /// Creates a sender that has sent nothing. `phase` is the time of the first tick of a coarse clock.
    pub fn new(config: &TcpConfig, phase: Span) -> Sender {
        let mss = config.mss_bytes;
        let initial_window = f64::from(config.initial_window_segments) * f64::from(mss);
        let mut rtt = RttEstimator::new(&config.timer, phase);
        let initial_rtt = (config.initial_rtt_ps > 0).then_some(Span(config.initial_rtt_ps));
        if let Some(initial_rtt) = initial_rtt {
            rtt.measure(Time::ZERO, Time::ZERO + initial_rtt);
        }
        let optional = OptionalFeatures::new(config, initial_window);
        let short_at_end_only = config.silly_window_avoidance && u64::from(mss) <= config.first_window() / 2;
        let initial_ssthresh = config
            .initial_ssthresh_bytes
            .map_or(f64::INFINITY, |bytes| bytes as f64);
        let limits = Limits::new(initial_window, initial_ssthresh);
        let (mut recovery, mut congestion) = (Recovery::new(&config.recovery), Congestion::new(&config.congestion));
        if !config.rapid_start.is_off() {
            congestion = congestion.starting_rapidly(&config.rapid_start, config.pacing, initial_window);
        }
        if !config.rate_limited.is_by_control() {
            congestion = congestion.growing_by(&config.rate_limited, initial_window);
        }
        if !config.careful_resume.is_off() {
            congestion = congestion.resuming(&config.careful_resume, config.pacing, initial_window);
        }
        congestion.set_hz(config.hz);
        congestion.set_preconnect(Span(config.preconnect_ps));
        congestion.set_ecn(!config.ecn.is_off());
        if let Some(rack) = recovery.rack_mut() {
            rack.set_hz(config.hz);
        }
        let wants = congestion.wants().or(recovery.wants());
        let reports_transmissions = !wants.is_nothing() || config.pacing;
        let needs_cc_state = reports_transmissions || !congestion.needs_acked_bytes_only();
        let rwnd_varies = config.window_varies();
        let writes = Writes::new(config);
        let mut flight = Flight {
            most_rwnd: config.advertised_window() as u32,
            ..Flight::new(limits, config.first_window(), mss)
        };
        let mut cc_state = needs_cc_state.then(|| Box::new(CcState::new(wants, config)));
        if let Some(initial_rtt) = initial_rtt {
            opening::begin_with(
                cc_state.as_deref_mut(),
                &mut congestion,
                &mut flight,
                rtt.exact_srtt(),
                initial_rtt,
            );
        }
        // Since the handshake, the connection was idle for longer than the RTO (tcp_slow_start_after_idle_check).
        if config.idle_restart && Span(config.preconnect_ps) > rtt.rto() {
            flight.limits = Limits::new(flight.cwnd().min(initial_window), flight.ssthresh());
        }
        let mut sender = Sender {
            flight,
            recovery,
            congestion,
            written: 0,
            plain_end: 0,
            writes,
            refill_at: u64::MAX,
            echoes: None,
            sends_fin: false,
            timers: Timers::IDLE,
            rto: rtt.constant_rto(),
            rtt,
            timed: NOTHING,
            timed_since: Time::ZERO,
            measured: None,
            fast_path: false,
            may_use_fast_path: false,
            rwnd_varies,
            optional,
            cc_state,
            reports_transmissions,
            is_paced: config.pacing || wants.pacing,
            resend_first: false,
            capable: Marks::capable(config.ecn),
            is_plain: false,
            triggers: Triggers::new(config.duplicate_ack_threshold, Span(config.fast_retransmit_interval_ps)),
            fast_retransmit_restarts_timer: config.fast_retransmit_restarts_timer,
            silly_window_avoidance: config.silly_window_avoidance,
            short_at_end_only,
            timestamps: config.timestamps(),
            uniform_segments: short_at_end_only && !config.timestamps(),
            shortcuts: true,
            may_take_in_order: false,
            reads_counters: config.ecn.counts_marks(),
            counters: SenderCounters::default(),
            next_cause: None,
            go_back_cause: EventCause::Timeout,
            journal: Journal::default(),
        };
        sender.choose_paths(false);
        sender
    }

    /// Sets the random stream of the congestion controller.
    pub fn draw_from(&mut self, draws: Stream) {
        self.congestion.draw_from(draws);
    }

    /// Returns the state of Careful Resume, if it is used.
    pub fn careful_resume(&self) -> Option<&CarefulResume> {
        self.congestion.careful_resume()
    }

    /// Passes saved parameters to a sender that uses Careful Resume and has sent nothing yet.
    pub fn resume_from(&mut self, saved: SavedPath) {
        self.congestion.resume(saved);
    }

    /// Disables the ACK fast path because an observer needs every ACK.
    pub fn disable_fast_path(&mut self) {
        (self.fast_path, self.is_plain, self.may_use_fast_path) = (false, false, false);
        opening::use_slow_path(self);
    }

    /// Disables all shortcuts of the sender: each ACK and each transmission takes the slow path.
    pub fn disable_shortcuts(&mut self) {
        (self.shortcuts, self.fast_path, self.may_take_in_order) = (false, false, false);
    }

    /// Configures the sender to wait for the other end to open the connection.
    pub fn open_passively(&mut self) {
        opening::end(self);
    }

    /// Records that the application has written all data up to byte `end`; this byte ends a write.
    pub fn write_up_to(&mut self, end: u64) {
        let before = self.written;
        self.written = before.max(end);
        if let Some(writes) = &mut self.writes {
            writes.on_write(&self.flight, self.written, before);
        }
        self.update_plain_end();
    }

    /// Makes data up to byte `end` available to the sender without ending a write.
    pub fn extend_up_to(&mut self, end: u64) {
        self.written = self.written.max(end);
        if let Some(writes) = &mut self.writes {
            writes.skip_to(self.written);
        }
        self.update_plain_end();
    }

    /// Records that the application closes the connection after the data written so far. The last segment then carries
    /// FIN, unless it was sent before; Linux sends it even if cwnd has no room (tcp_cwnd_test).
    pub fn close(&mut self) {
        self.sends_fin = self.writes.is_some();
    }

    /// Records that the application writes no data in addition to those that have been sent.
    pub fn stop_writing(&mut self) {
        self.written = self.written.min(self.flight.max);
        if let Some(writes) = &mut self.writes {
            writes.truncate(self.written);
        }
        self.update_plain_end();
    }

    /// Records which ACKs segments echo, if `receiver` measures RTTs by these echoes.
    pub fn record_echoes_for(&mut self, receiver: &Receiver) {
        let measures = self.timestamps && receiver.measures_by_echoes();
        self.echoes = measures.then(Box::default);
    }

    /// Returns the latest ACK that had arrived when a segment was sent, if it is recorded.
    #[inline]
    pub fn echoed(&mut self, sent: MaybeTime, sequence: u64) -> Option<AckOrder> {
        Some(self.echoes.as_mut()?.echoed(sent.get()?, sequence))
    }

    /// Removes and returns the oldest transmission from which `echoed` finds ACKs, to be added to a copy of the sender
    /// at the receiver's side.
    pub fn take_transmission(&mut self) -> Option<Transmission> {
        self.echoes.as_mut()?.take_first()
    }

    /// Adds a transmission from which `echoed` finds ACKs.
    pub fn add_transmission(&mut self, transmission: Transmission) {
        if let Some(echoes) = &mut self.echoes {
            echoes.add(transmission);
        }
    }

    /// Returns whether `echoed` finds ACKs.
    pub fn records_echoes(&self) -> bool {
        self.echoes.is_some()
    }

    /// Continues the application's writes when an ACK arrives.
    fn on_ack_of_writes(&mut self, now: Time, acknowledgement: u64) {
        if let Some(writes) = &mut self.writes {
            if writes.on_ack(now, &self.flight, acknowledgement, self.written) | !self.shortcuts {
                self.update_plain_end();
            }
        }
    }

    /// Updates what depends on the application's writes and on the data sent.
    fn update_plain_end(&mut self) {
        self.plain_end = self.written;
        if let Some(writes) = &self.writes {
            self.refill_at = writes.refill_at(self.written);
            if let Some(end) = writes.next_end(self.flight.max) {
                self.plain_end = self.written.min(end - 1);
            }
        }
    }

    /// Returns the congestion controller.
    #[cfg(test)]
    pub fn congestion(&self) -> &Congestion {
        &self.congestion
    }

    /// Decides which shortcuts the sender may ever take, from its features; `observed` means that an observer needs
    /// every ACK. Neither shortcut knows the writes of an application, except that in-order ACKs may be processed while
    /// each write waits for space.
    fn choose_paths(&mut self, observed: bool) {
        let has_only_window = self.cc_state.is_none() && !self.rwnd_varies && self.writes.is_none();
        self.is_plain = has_only_window && self.optional.is_none() && !observed;
        let optional = self.optional.as_deref();
        let marks_at_most = optional.is_none_or(OptionalFeatures::are_ecn_flags);
        self.may_use_fast_path = has_only_window && marks_at_most && !observed;
        self.update_in_order_path();
        self.update_fast_path();
    }

    /// Re-evaluates whether the sender may process in-order ACKs by a shortcut.
    fn update_in_order_path(&mut self) {
        let are_regular = self.writes.as_ref().is_some_and(|writes| writes.are_regular());
        let permits = |optional: &OptionalFeatures| optional.permit_in_order() && !optional.sends_cwr();
        self.may_take_in_order = self.shortcuts && self.optional.as_deref().is_none_or(permits) && !are_regular;
    }

    /// Re-evaluates whether the sender may use the ACK fast path.
    fn update_fast_path(&mut self) {
        let may_be = self.shortcuts & self.may_use_fast_path & !self.resend_first;
        let sends_cwr = || self.optional.as_deref().is_some_and(OptionalFeatures::sends_cwr);
        self.fast_path = may_be && self.recovery.is_idle() && !sends_cwr();
    }

    /// Returns the expiration time of the retransmission timer if it is started now.
    #[inline(always)]
    fn expiry(&mut self, now: Time) -> MaybeTime {
        expiry(self.rto, &mut self.rtt, now)
    }

    /// Returns the timestamp of a segment that is sent now.
    #[inline(always)]
    pub fn stamp(&self, now: Time) -> MaybeTime {
        if self.timestamps {
            now.into()
        } else {
            MaybeTime::NONE
        }
    }

    fn handle(&mut self, now: Time) -> WindowHandle<'_> {
        WindowHandle::new(
            &mut self.flight,
            &mut self.congestion,
            self.cc_state.as_deref_mut().map(CcState::pacing),
            &mut self.journal,
            now,
        )
    }

    /// Processes the timers that are due at `now`.
    pub fn on_timeout(&mut self, now: Time) {
        for timer in Timer::ALL {
            if self.timers.is_due(timer, now) {
                match timer {
                    Timer::Retransmission if opening::is_on(self) => opening::on_timeout(self, now),
                    Timer::Retransmission if self.uses_rack() => records::on_timeout(self, now),
                    Timer::Retransmission => self.on_retransmission_timeout(now),
                }
            }
        }
        if let Some(pacer) = self.cc_state.as_mut().and_then(|cc_state| cc_state.pacer.as_mut()) {
            pacer.on_timeout(now);
        }
    }

    fn on_retransmission_timeout(&mut self, now: Time) {
        self.on_expiry(now);
        let mut handle = WindowHandle::new(
            &mut self.flight,
            &mut self.congestion,
            self.cc_state.as_deref_mut().map(CcState::pacing),
            &mut self.journal,
            now,
        );
        self.recovery.on_timeout(&mut handle);
        handle.reduce(Cause::Timeout);
        self.flight.nxt = self.flight.una;
        self.flight.duplicates = 0;
        self.resend_first = false;
        self.timed = NOTHING;
        self.rtt.back_off();
        self.rto = self.rtt.constant_rto();
        let expiry = self.expiry(now);
        self.timers.set(Timer::Retransmission, expiry);
        self.update_fast_path();
    }

    /// Returns the time at which `on_timeout` is due.
    #[inline(always)]
    pub fn next_timeout(&self) -> MaybeTime {
        let next = self.timers.next();
        if self.is_paced {
            return next.min(self.resume());
        }
        next
    }

    /// Returns the next timeout of a sender that processed its latest ACK on the fast path.
    #[inline(always)]
    pub fn next_fast_path_timeout(&self) -> MaybeTime {
        debug_assert!(self.fast_path && !self.reports_transmissions);
        self.timers.next()
    }

    /// Returns the time at which the pacer releases a waiting segment.
    #[cold]
    fn resume(&self) -> MaybeTime {
        let pacer = self.cc_state.as_ref().and_then(|cc_state| cc_state.pacer.as_ref());
        pacer.map_or(MaybeTime::NONE, Pacer::resume)
    }

    /// Returns the pacing rate of the congestion controller, if it has one.
    pub fn pacing(&self) -> Option<Pacing> {
        self.cc_state.as_ref().and_then(|cc_state| cc_state.pacing)
    }

    /// Returns whether a new segment, or a retransmission, carries ECT.
    #[inline(always)]
    pub fn is_capable(&self, retransmission: bool) -> bool {
        self.capable[usize::from(retransmission)]
    }

    /// Returns the payload of a full segment [byte].
    #[inline(always)]
    pub fn mss_bytes(&self) -> u32 {
        self.flight.mss
    }

    /// Returns the sequence space and the window.
    pub fn flight(&self) -> &Flight {
        &self.flight
    }

    /// Returns the RTT estimator.
    pub fn timer(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Returns the latest RTT sample taken since the last call.
    pub fn take_measured(&mut self) -> Option<Span> {
        self.measured.take()
    }

    /// Returns the counters.
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

    /// Returns the state as in Linux's TCP_INFO.
    pub fn tcp_info(&mut self) -> TcpInfo {
        let state = self.recovery.rack_mut().map(|rack| rack.state());
        let rtx_queue = self
            .cc_state
            .as_deref()
            .and_then(|cc_state| cc_state.rtx_queue.as_ref());
        TcpInfo {
            cwnd: self.flight.cwnd(),
            ssthresh: self.flight.ssthresh(),
            written: self.written,
            max: self.flight.max,
            una: self.flight.una,
            records: state.zip(rtx_queue.map(|rtx_queue| rtx_queue.count())),
        }
    }

    /// Sets the receiver's advertised window [byte].
    pub fn advertise(&mut self, window: u64) {
        self.set_window(u32::try_from(window).unwrap_or(u32::MAX));
    }

    /// Sets the receiver's window [byte].
    fn set_window(&mut self, window: u32) {
        self.flight.rwnd = window;
        self.short_at_end_only = self.silly_window_avoidance && self.flight.mss <= window / 2;
    }

    /// Returns whether all written data have been acknowledged.
    pub fn is_done(&self) -> bool {
        self.flight.una >= self.written
    }
}

/// Returns the expiration time of a retransmission timer that is started now with duration `rto`; if `rto` is None, the
/// estimator computes the duration.
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
    use crate::config::{tests, AckConfig, RackConfig, RecoveryConfig, TimerConfig};
    use crate::congestion::{CongestionConfig, HyblaConfig};
    use crate::AckSegment;
    use std::mem::offset_of;

    #[test]
    fn fields_of_the_ack_fast_path_fit_into_two_cache_lines() {
        assert!(offset_of!(Sender, uniform_segments) < 112);
    }

    /// Returns a sender with an initial window of 100 segments, whose receiver sends ACKs as Linux does and advertises
    /// a growing window.
    fn limited(growing_window: bool) -> (TcpConfig, Sender) {
        let ack = AckConfig::Linux {
            timeout_ps: Span::millis(40).0,
            quick: 16,
            sack_delay_ps: 0,
            least_round_trip: true,
            write_every_ps: 0,
            growing_window,
        };
        let timer = TimerConfig::Fine {
            granularity_ps: Span::millis(200).0,
            min_rto_ps: Span::millis(200).0,
            max_rto_ps: Span::seconds(120).0,
            initial_rto_ps: Span::seconds(1).0,
            timestamps: true,
        };
        let config = TcpConfig {
            mss_bytes: 1448,
            receiver_window_bytes: 32 << 20,
            window_scale: 11,
            initial_window_segments: 100,
            ack,
            timer,
            ..tests::config()
        };
        let mut sender = Sender::new(&config, Span(0));
        sender.write_up_to(GREEDY);
        (config, sender)
    }

    /// Linux's SYN-ACK offers 65 160 bytes of the initial receive buffer (tcp_select_initial_window), and every ACK
    /// offers 65 536 bytes while the buffer has that size.
    #[test]
    fn a_growing_window_limits_the_sender_to_the_first_buffer() {
        let sent = |sender: &mut Sender| std::iter::from_fn(|| sender.poll_transmit(Time(0))).count();
        let (_, mut sender) = limited(false);
        assert_eq!(sent(&mut sender), 100);
        let (config, mut sender) = limited(true);
        let mut receiver = Receiver::new(&config);
        let flight: Vec<_> = std::iter::from_fn(|| sender.poll_transmit(Time(0))).collect();
        assert_eq!(flight.len(), 45);
        let now = Time(Span::millis(50).0);
        receiver.on_segment(now, &flight[0]);
        let ack = receiver
            .poll_transmit(now)
            .expect("the first segments are acknowledged at once");
        assert_eq!(ack.window, 65_536);
        sender.on_ack(now, &ack);
        assert_eq!(sender.flight().rwnd, 65_536);
        assert_eq!(sent(&mut sender), 1);
        // A duplicate ACK can only enlarge the window.
        let smaller = AckSegment { window: 4096, ..ack };
        sender.on_ack(now, &smaller);
        assert_eq!(sender.flight().rwnd, 65_536);
    }

    /// Silly-window avoidance permits a short segment that fills half of the window (RFC 1122 section 4.2.3.4), which
    /// happens after the receiver's window has become smaller than two segments.
    #[test]
    fn a_window_below_two_segments_permits_a_short_segment() {
        for shortcuts in [true, false] {
            let (config, mut sender) = limited(true);
            if !shortcuts {
                sender.disable_shortcuts();
            }
            let flight = std::iter::from_fn(|| sender.poll_transmit(Time(0))).count();
            let acknowledgement = flight as u64 * u64::from(config.mss_bytes);
            let ack = AckSegment {
                acknowledgement,
                window: 2000,
                ..AckSegment::default()
            };
            sender.on_ack(Time(Span::millis(50).0), &ack);
            let lengths = std::iter::from_fn(|| sender.poll_transmit(Time(Span::millis(50).0)));
            assert_eq!(lengths.map(|segment| segment.length).collect::<Vec<_>>(), [1448]);
            let ack = AckSegment {
                acknowledgement,
                window: 2900,
                ..AckSegment::default()
            };
            sender.on_ack(Time(Span::millis(51).0), &ack);
            let ack = AckSegment {
                acknowledgement: acknowledgement + 1448,
                window: 1000,
                ..ack
            };
            sender.on_ack(Time(Span::millis(52).0), &ack);
            let lengths = std::iter::from_fn(|| sender.poll_transmit(Time(Span::millis(52).0)));
            assert_eq!(
                lengths.map(|segment| segment.length).collect::<Vec<_>>(),
                [1000],
                "shortcuts: {shortcuts}"
            );
        }
    }

    /// If a connection was idle for an RTO after its handshake, Linux restarts it with 10 segments (tcp_cwnd_restart);
    /// Hybla's initial window with an RTT of 351 ms is 14 segments.
    #[test]
    fn a_connection_that_is_idle_after_its_handshake_restarts() {
        let first = |preconnect_ps, idle_restart| {
            let config = TcpConfig {
                congestion: CongestionConfig::Hybla(HyblaConfig {
                    reference_ps: Span::millis(25).0,
                }),
                recovery: RecoveryConfig::Rack(RackConfig {
                    blocks: 3,
                    probe: true,
                    undo: true,
                    dsack: true,
                    frto: true,
                    successive: true,
                }),
                initial_rtt_ps: Span::millis(351).0,
                preconnect_ps,
                idle_restart,
                ..limited(true).0
            };
            let mut sender = Sender::new(
                &TcpConfig {
                    initial_window_segments: 10,
                    ..config
                },
                Span(0),
            );
            sender.write_up_to(GREEDY);
            std::iter::from_fn(|| sender.poll_transmit(Time(0))).count()
        };
        let long = Span::millis(1702).0;
        assert_eq!([first(0, true), first(long, true), first(long, false)], [14, 10, 14]);
    }
}
