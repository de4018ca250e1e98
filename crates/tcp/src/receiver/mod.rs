//! The receiving end point: reassembly and acknowledgement.

mod answers;
pub(crate) mod autotuning;
mod blocks;
mod compression;
mod delays;
mod rledbat;

use crate::accurate_ecn::Counter;
use crate::config::{AckConfig, EcnConfig, ReceiverControlConfig, TcpConfig};
use crate::ranges::Ranges;
use crate::receiver::autotuning::{AckOrder, AutotunedWindow, OutOfOrderData};
use crate::segment::{DataSegment, Ecn, Opening, MAX_SACK_BLOCKS};
use compression::Compression;
use delays::Delays;
use longpipe_events::{MaybeTime, Span, Time};
use rledbat::Rledbat;
use std::hint::select_unpredictable;

/// The receiving side of one connection. The application reads data at once, so the window never closes. The most
/// frequently used fields come first, so that many connections fit in the cache.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    /// Next byte expected (RCV.NXT); all earlier bytes have been delivered.
    next: u64,
    /// RCV.NXT when the last ACK was sent (Last.ACK.sent of RFC 7323).
    acknowledged: u64,
    /// End of the highest data received, if it is above `next`.
    highest: u64,
    /// First byte of the latest segment.
    latest: u64,
    /// Segments received since the last ACK.
    unacknowledged: u32,
    /// Maximum number of SACK blocks in an ACK; 0 if SACK is off.
    sack_blocks: u8,
    pending: bool,
    /// Whether every segment is acknowledged at once, without a timestamp echo and byte counters.
    acks_immediately: bool,
    /// Whether `acks_immediately` holds, no data lie beyond a hole, and ACKs echo no mark.
    fast_path: bool,
    /// Whether the times of ACKs depend on more than the number of segments (quick ACKs, ECN, autotuning, handshake).
    slow_path_only: bool,
    /// Whether ACKs may report more or less than all received data: ECN marks, the receiver's clock, a growing window, a
    /// part of a handshake, or only the data before a segment.
    acks_carry_more: bool,
    /// Whether ACKs of in-order data report only received data, marks and possibly a timestamp echo, and no observer
    /// needs every segment.
    in_order_fast_path: bool,
    /// Data beyond a hole.
    out_of_order: Ranges,
    /// Time at which a delayed ACK is due.
    deadline: MaybeTime,
    /// Number of segments that one ACK acknowledges, and maximum delay of an ACK.
    ack_every: u32,
    timeout: Span,
    /// State of Linux's delayed ACKs, which determines the delay instead of `timeout`.
    delays: Option<Delays>,
    /// Timestamp to echo (RFC 7323 section 4).
    echo: MaybeTime,
    /// Whether ACKs carry the receiver's clock, for a sender that measures one-way delays.
    sends_clock: bool,
    /// Receive-window autotuning, which acknowledges at once while the window grows.
    window: Option<Box<AutotunedWindow>>,
    /// Congestion control by the receiver.
    rledbat: Option<Box<Rledbat>>,
    /// Window of flow control that is constant [byte].
    constant_window: u64,
    /// SACK compression.
    compression: Option<Box<Compression>>,
    /// Number of segments still to be acknowledged at once.
    quick: u32,
    ecn: EcnConfig,
    /// Whether ACKs echo an ECN mark.
    echoes_mark: bool,
    /// Counters of Accurate ECN.
    counter: Counter,
    /// RCV.NXT before the marking changed, up to which data are acknowledged first, and whether another ACK follows.
    before_mark: Option<(u64, bool)>,
    /// Whether ACKs carry D-SACK blocks, and the duplicate segment received since the last ACK.
    sends_dsack: bool,
    duplicate: Option<(u64, u64)>,
    /// The SYN that must be answered.
    opening: Opening,
    /// SACK blocks of the previous ACK, most recent first.
    reported: [(u64, u64); MAX_SACK_BLOCKS],
    /// The segment that was stored beyond a hole since the last ACK; 0 if there is none, `SEVERAL` if there are
    /// several.
    stored: u64,
    /// Bytes received beyond a hole, for window autotuning.
    out_of_order_bytes: u64,
    /// Number of segments that arrived after a segment that was sent later.
    late: u64,
}

/// Value that represents more than one segment.
const SEVERAL: u64 = u64::MAX;
/// Linux sends at least one ACK per this number of segments.
const ACK_EVERY: u32 = 2;

/// Returns the number of segments that one ACK acknowledges, the maximum delay of an ACK [ps], and the number of
/// initial segments that are acknowledged at once.
fn rule(ack: &AckConfig) -> (u32, u64, u32) {
    match *ack {
        AckConfig::Immediate {} => (1, 0, 0),
        AckConfig::Delayed {
            segments,
            timeout_ps,
            quick,
        } => (segments, timeout_ps, quick),
        AckConfig::Linux { timeout_ps, quick, .. } => (ACK_EVERY, timeout_ps, quick),
    }
}

/// Returns the autotuned window; ACKs advertise it if the scenario requests that.
fn window(config: &TcpConfig, least_round_trip: bool) -> AutotunedWindow {
    let initial_rtt = (config.initial_rtt_ps > 0).then_some(Span(config.initial_rtt_ps));
    let window =
        AutotunedWindow::new(config.mss_bytes, least_round_trip).established(initial_rtt, Span(config.preconnect_ps));
    if config.advertises_growth() {
        window.advertises(config.advertised_window(), config.window_scale)
    } else {
        window
    }
}

/// Returns the state of rLEDBAT, if it is used.
fn rledbat(config: &TcpConfig) -> Option<Rledbat> {
    let ReceiverControlConfig::Rledbat { target_ps } = config.receiver_control else {
        return None;
    };
    let (buffer, scale) = (config.advertised_window(), config.window_scale);
    Some(Rledbat::new(
        target_ps,
        config.first_window(),
        buffer,
        scale,
        config.mss_bytes,
    ))
}

impl Receiver {
    /// Creates a receiver that has received nothing.
    pub fn new(config: &TcpConfig) -> Receiver {
        let acks_immediately =
            config.ack == AckConfig::Immediate {} && !config.timestamps() && !config.ecn.counts_marks();
        let (ack_every, timeout_ps, quick) = rule(&config.ack);
        let (delays, window, compression) = match config.ack {
            AckConfig::Linux {
                least_round_trip,
                sack_delay_ps,
                ..
            } => (
                Some(Delays::new(Span(timeout_ps), config.hz, Span(config.preconnect_ps))),
                Some(window(config, least_round_trip)),
                Compression::new(sack_delay_ps).filter(|_| config.recovery.facts().sack_blocks > 0),
            ),
            _ => (None, None, None),
        };
        let sends_clock = config.congestion.facts().measures_delay;
        let acks_carry_more = !config.ecn.is_off() || sends_clock || config.window_varies();
        Receiver {
            next: 0,
            highest: 0,
            late: 0,
            out_of_order: Ranges::default(),
            ack_every,
            timeout: Span(timeout_ps),
            delays,
            slow_path_only: quick > 0
                || window.is_some()
                || !config.ecn.is_off()
                || config.handshake
                || config.window_varies(),
            acks_carry_more,
            in_order_fast_path: !(sends_clock || config.window_varies()),
            window: window.map(Box::new),
            rledbat: rledbat(config).map(Box::new),
            constant_window: config.advertised_window(),
            compression: compression.map(Box::new),
            quick,
            sends_clock,
            ecn: config.ecn,
            echoes_mark: false,
            counter: Counter::default(),
            before_mark: None,
            sack_blocks: config.recovery.facts().sack_blocks.min(config.room_for_blocks() as u32) as u8,
            latest: 0,
            sends_dsack: config.recovery.facts().sends_dsack,
            duplicate: None,
            opening: Opening::Over,
            reported: [(0, 0); MAX_SACK_BLOCKS],
            stored: 0,
            out_of_order_bytes: 0,
            unacknowledged: 0,
            deadline: MaybeTime::NONE,
            acknowledged: 0,
            echo: MaybeTime::NONE,
            pending: false,
            acks_immediately,
            fast_path: acks_immediately,
        }
    }

    /// Disables the fast path because an observer needs every segment.
    pub fn disable_fast_path(&mut self) {
        (self.acks_immediately, self.fast_path, self.in_order_fast_path) = (false, false, false);
    }

    /// Disables all shortcuts of the receiver: each segment takes the slow path.
    pub fn disable_shortcuts(&mut self) {
        self.disable_fast_path();
        self.slow_path_only = true;
        if let Some(compression) = &mut self.compression {
            compression.disable_shortcuts();
        }
    }

    /// Returns whether the receiver measures RTTs by the timestamps that segments echo.
    pub(crate) fn measures_by_echoes(&self) -> bool {
        self.rledbat.is_some() || self.window.as_ref().is_some_and(|window| window.measures_by_echoes())
    }

    /// Sets the latest ACK that had arrived when the next segment was sent. The caller must call this function before it
    /// passes the segment to the receiver.
    #[inline]
    pub fn set_echoed(&mut self, echoed: AckOrder) {
        if let Some(window) = &mut self.window {
            window.set_echoed(echoed);
        }
        if let Some(rledbat) = &mut self.rledbat {
            rledbat.set_echoed(echoed);
        }
    }

    /// Requests a repetition of the latest ACK, even if nothing new has arrived.
    pub fn repeat_ack(&mut self) {
        self.pending = true;
    }

    /// Fast path: processes an unmarked segment without CWR and timestamp that needs only an immediate ACK. Returns the
    /// acknowledgement number. If it returns None, nothing has changed, and the caller must call `on_segment`.
    #[inline(always)]
    pub fn try_fast_path(&mut self, sequence: u64, length: u32) -> Option<u64> {
        let fast_path = self.fast_path & (sequence == self.acknowledged) & (length > 0);
        fast_path.then(|| {
            self.next = sequence + u64::from(length);
            self.acknowledged = self.next;
            self.next
        })
    }

    /// Fast path: processes an expected segment without marks and CWR if no data lie beyond a hole and its ACK is
    /// determined only by the number of segments, the timestamp and the window; `capable` segments carry ECT. Returns
    /// whether an ACK is due, which `answer_in_order` returns, or `poll_transmit` if `counts_marks` holds. If this
    /// function returns None, nothing has changed, and the caller must call `on_segment`.
    #[inline(always)]
    pub fn take_in_order(
        &mut self,
        now: Time,
        (sequence, length): (u64, u32),
        stamp: MaybeTime,
        capable: bool,
    ) -> Option<bool> {
        let fast_path = self.in_order_fast_path & !self.echoes_mark & !self.pending;
        let expected = fast_path & (sequence == self.next) & (length > 0);
        // On a connection with ECN, a segment without ECT is a retransmission, which may start immediate ACKs.
        if capable == self.ecn.is_off() {
            return None;
        }
        if !(expected & self.out_of_order.is_empty() & self.duplicate.is_none()) {
            return None;
        }
        if capable {
            let unmarked = Ecn {
                capable,
                ..Ecn::default()
            };
            self.take_mark(unmarked, length);
        }
        // Every other segment is the first after an ACK, so a branch would be unpredictable.
        self.echo = select_unpredictable(sequence == self.acknowledged, stamp, self.echo);
        self.latest = sequence;
        self.next = sequence + u64::from(length);
        let grew = self.grow_window(now, stamp.get(), self.next, OutOfOrderData::default());
        self.measure_gap(now);
        let immediate = self.use_quick_ack() | grew;
        self.unacknowledged += u32::from(!immediate);
        if !immediate & (self.unacknowledged < self.ack_every) {
            self.delay_ack(now);
            return Some(false);
        }
        self.pending = true;
        self.stamp_ack(now);
        Some(true)
    }

    /// Processes an intact segment.
    #[inline(always)]
    pub fn on_segment(&mut self, now: Time, segment: &DataSegment) {
        if !self.slow_path_only & (segment.sequence == self.next) & (segment.length > 0) && self.out_of_order.is_empty()
        {
            self.on_expected_segment(now, segment);
        } else {
            self.on_other_segment(now, segment);
        }
    }

    /// Processes an expected segment if its ACK depends only on the number of segments.
    #[inline(always)]
    fn on_expected_segment(&mut self, now: Time, segment: &DataSegment) {
        if segment.sequence == self.acknowledged {
            self.echo = segment.timestamp;
        }
        self.latest = segment.sequence;
        self.next = segment.end();
        self.acknowledge_or_wait(now);
    }

    /// Counts a segment that must be acknowledged, at once or together with later segments.
    #[inline(always)]
    fn acknowledge_or_wait(&mut self, now: Time) {
        self.unacknowledged += 1;
        if self.unacknowledged < self.ack_every {
            self.delay_ack(now);
        } else {
            self.pending = true;
        }
    }

    /// Sets the time at which the ACK of a segment is sent if no second segment arrives.
    #[inline(always)]
    fn delay_ack(&mut self, now: Time) {
        let due = match &self.delays {
            Some(delays) => delays.deadline(now, || self.round_trip()),
            None => now + self.timeout,
        };
        self.deadline = self.deadline.min(due.into());
    }

    #[inline(always)]
    fn on_other_segment(&mut self, now: Time, segment: &DataSegment) {
        if self.slow_path_only {
            return self.on_slow_path_segment(now, *segment);
        }
        let (in_order, filled) = self.store(segment);
        if in_order && !filled && self.out_of_order.is_empty() {
            self.acknowledge_or_wait(now);
        } else {
            self.unacknowledged += 1;
            self.pending = true;
        }
        self.fast_path = self.acks_immediately && self.out_of_order.is_empty();
    }

    /// Processes a segment whose ACK depends on more than the number of segments received.
    #[inline(never)]
    fn on_slow_path_segment(&mut self, now: Time, segment: DataSegment) {
        if segment.opening != Opening::Over {
            return self.open(now, &segment);
        }
        if let Some(rledbat) = &mut self.rledbat {
            rledbat.on_segment(now, &segment, self.next);
        }
        let marks = self.echoes_mark;
        self.take_mark(segment.ecn, segment.length);
        let fresh = self.out_of_order.is_empty();
        let triggers = self.triggers_waiting_ack(&segment);
        if triggers {
            self.ack_before_segment(now);
        }
        let before = self.beyond();
        let (in_order, filled) = self.store(&segment);
        if let (false, Some(compression)) = (in_order, &mut self.compression) {
            compression.take(self.next, (segment.sequence, segment.end()), fresh);
        }
        if self.delays.is_some() {
            self.start_quick_acks(now, &segment, (in_order, marks));
        }
        // Only in-order segments are delivered to the application, and only their PSH flag is examined
        // (tcp_event_data_recv); the application reads them at once, and thereby sends the ACK (tcp_cleanup_rbuf).
        let pushed = segment.push && in_order;
        let acks_immediately = self.must_ack_immediately(now, &segment, in_order.then_some(before));
        if triggers {
            // The ACK that the growing window requests is that of the next segment (tcp_grow_window).
            self.quick = self.quick.max(u32::from(acks_immediately));
            self.pending = true;
        } else if in_order && !filled && !acks_immediately && !pushed && self.out_of_order.is_empty() {
            self.acknowledge_or_wait(now);
        } else {
            self.unacknowledged += 1;
            let waits = !acks_immediately && self.compression.is_some();
            let wait = if waits { self.compressed(fresh) } else { None };
            match wait {
                Some(wait) if !pushed => self.deadline = self.deadline.min((now + wait).into()),
                _ => self.pending = true,
            }
        }
        self.stamp_ack(now);
        self.schedule_ack_before_mark();
        self.fast_path = self.acks_immediately && self.out_of_order.is_empty() && !self.echoes_mark;
    }

    /// Stores a segment. Returns whether the segment was expected, and whether it filled a hole.
    #[inline(always)]
    fn store(&mut self, segment: &DataSegment) -> (bool, bool) {
        if segment.end() <= self.highest() {
            self.count_late(segment);
        }
        self.highest = self.highest.max(segment.end());
        if segment.sequence <= self.acknowledged {
            self.echo = segment.timestamp;
        }
        self.latest = segment.sequence;
        let in_order = segment.sequence <= self.next && segment.end() > self.next;
        let filled = in_order && self.advance(segment.end());
        if !in_order {
            if self.window.is_some() && segment.sequence > self.next {
                let covered_bytes = self.out_of_order.covered(segment.sequence, segment.end());
                self.out_of_order_bytes += u64::from(segment.length) - covered_bytes;
            }
            let is_new = segment.sequence > self.next && self.out_of_order.insert(segment.sequence, segment.end());
            if is_new {
                self.stored = if self.stored == 0 { segment.sequence } else { SEVERAL };
            } else if self.sends_dsack {
                self.duplicate = Some((segment.sequence, segment.end()));
            }
        }
        (in_order, filled)
    }

    /// Counts a segment that ends at or below the highest data received, if it is late: it was sent once, before those
    /// data, and is no duplicate.
    #[cold]
    fn count_late(&mut self, segment: &DataSegment) {
        let is_duplicate = segment.end() <= self.next
            || self.out_of_order.covered(segment.sequence, segment.end()) == u64::from(segment.length);
        if !segment.retransmission && segment.length > 0 && !is_duplicate {
            self.late += 1;
        }
    }

    /// Processes a packet of the handshake. If it is a SYN, the receiver answers it.
    #[cold]
    fn open(&mut self, now: Time, segment: &DataSegment) {
        self.echo = segment.timestamp;
        if segment.opening.is_syn() {
            (self.opening, self.pending, self.acks_carry_more) = (segment.opening, true, true);
        }
        if let Some(window) = &mut self.window {
            match segment.opening {
                Opening::Syn(_) => window.on_syn(now),
                _ => window.on_established(now, segment.timestamp.get()),
            }
        }
    }

    /// Returns whether a segment is acknowledged at once: it is one of the first segments, the window grew, or it is
    /// marked. `before` is the data that lay beyond a hole before the segment arrived; None if the segment is not in
    /// order.
    fn must_ack_immediately(&mut self, now: Time, segment: &DataSegment, before: Option<OutOfOrderData>) -> bool {
        let grew = if let Some(before) = before {
            // The window grows before the data beyond a hole that the segment fills are read (tcp_data_queue).
            self.grow_window(now, segment.timestamp.get(), segment.end(), before)
        } else {
            if let (Some(window), Some(sent)) = (&mut self.window, segment.timestamp.get()) {
                window.measure(now, sent);
            }
            segment.sequence > self.next && self.duplicate.is_none() && self.grow_window_beyond(segment)
        };
        let first = self.use_quick_ack();
        first || grew || self.counter.is_due()
    }

    /// Returns whether the waiting ACK is sent before a segment is processed (see `Compression::is_due`).
    fn triggers_waiting_ack(&self, segment: &DataSegment) -> bool {
        let range = (segment.sequence, segment.end());
        let beyond = segment.sequence > self.next && self.unacknowledged > 0;
        let new = || self.out_of_order.covered(range.0, range.1) == 0;
        let compression = self.compression.as_ref();
        beyond && compression.is_some_and(|compression| compression.is_due(self.next, range)) && new()
    }

    /// Returns the delay of the ACK for a segment that arrives while data lie beyond a hole.
    fn compressed(&mut self, fresh: bool) -> Option<Span> {
        // The last remaining hole was filled.
        if self.out_of_order.is_empty() {
            return None;
        }
        let round_trip = self.round_trip();
        let compression = self.compression.as_mut()?;
        if self.unacknowledged == 1 {
            compression.on_ack();
        }
        compression.on_segment(self.next, fresh, round_trip)
    }

    /// Schedules an ACK of the data received before the marking changed; it is sent before any other ACK.
    fn schedule_ack_before_mark(&mut self) {
        if let Some((_, due)) = &mut self.before_mark {
            *due = std::mem::replace(&mut self.pending, true);
        }
    }

    /// Returns the data that lie beyond a hole.
    #[inline]
    fn beyond(&self) -> OutOfOrderData {
        OutOfOrderData {
            bytes: self.out_of_order_bytes,
            ranges: self.out_of_order.count(),
        }
    }

    /// Lets autotuning enlarge the window for a segment that was stored beyond a hole. Returns whether the window grew.
    fn grow_window_beyond(&mut self, segment: &DataSegment) -> bool {
        let mut beyond = self.beyond();
        let window = self.window.as_mut().filter(|window| window.may_grow());
        let (Some(window), Some(range)) = (window, self.out_of_order.containing(segment.sequence)) else {
            return false;
        };
        // A segment that is not merged with the one before it counts only afterwards (tcp_data_queue_ofo).
        if range.0 == segment.sequence {
            beyond.bytes -= u64::from(segment.length).min(beyond.bytes);
            beyond.ranges -= u64::from(range.1 == segment.end());
        }
        window.grow_beyond(beyond)
    }

    /// Lets autotuning enlarge the window for an in-order segment that ends at byte `end`, while data lie beyond a hole.
    /// Returns whether the window grew. If the segment filled a hole, the application reads the data beyond the hole
    /// afterwards (tcp_rcv_space_adjust is called for each packet).
    #[inline]
    fn grow_window(&mut self, now: Time, sent: Option<Time>, end: u64, beyond: OutOfOrderData) -> bool {
        match (&mut self.window, sent) {
            (Some(window), Some(sent)) => window.on_segment(now, sent, end, beyond),
            _ => false,
        }
    }

    /// Records the time if an ACK is sent now.
    #[inline]
    fn stamp_ack(&mut self, now: Time) {
        if let (true, Some(window)) = (self.pending, &mut self.window) {
            window.on_ack(now, self.next);
        }
    }

    /// Advances RCV.NXT to `end` and over stored data. Returns whether a hole was filled.
    fn advance(&mut self, end: u64) -> bool {
        let filled = self.out_of_order.absorb(end);
        self.next = filled.map_or(end, |reached| reached.max(end));
        self.out_of_order_bytes = if self.out_of_order.is_empty() {
            0
        } else {
            self.out_of_order_bytes.saturating_sub(self.next - end)
        };
        filled.is_some()
    }

    /// Processes the timers that are due at `now`.
    pub fn on_timeout(&mut self, now: Time) {
        if self.deadline <= now.into() {
            self.pending = true;
            self.stamp_ack(now);
            let round_trip = self.round_trip();
            if let (true, Some(delays)) = (self.out_of_order.is_empty(), &mut self.delays) {
                delays.on_timeout(round_trip);
            }
        }
    }

    /// Returns the time at which a delayed ACK is due.
    #[inline(always)]
    pub fn next_timeout(&self) -> MaybeTime {
        self.deadline
    }

    /// Returns whether an ACK must be sent now.
    #[inline(always)]
    pub fn is_pending(&self) -> bool {
        self.pending
    }

    /// Returns whether ACKs carry counters of marks (Accurate ECN).
    #[inline(always)]
    pub fn counts_marks(&self) -> bool {
        self.ecn.counts_marks()
    }

    /// Returns whether ACKs may report more than received data: ECN marks, the receiver's clock, a growing window, or a
    /// part of a handshake.
    #[inline(always)]
    pub fn acks_carry_more(&self) -> bool {
        self.acks_carry_more
    }

    /// Returns the number of bytes delivered in order to the application.
    pub fn delivered(&self) -> u64 {
        self.next
    }

    /// Returns the number of segments that arrived after a segment that was sent later (RFC 4737), without
    /// retransmissions and duplicates.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Returns the end of the highest data received.
    pub fn highest(&self) -> u64 {
        self.highest.max(self.next)
    }
}

#[cfg(test)]
mod tests;
