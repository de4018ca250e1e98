//! Receive-window autotuning as in Linux (tcp_input.c, tcp_output.c, 6.1): while the window grows, each segment is
//! acknowledged at once.
//!
//! The window (`rcv_ssthresh`) starts small and grows by two segments per segment received in order, up to a bound
//! (`window_clamp`) that follows the data that the application reads per RTT. ACKs advertise it if the scenario
//! requests it; otherwise the window that the scenario sets is advertised from the start.
//!
//! The methods of the window take simulation times. RTTs are counted on the kernel's clock, which starts when the
//! connection is established; `preconnect` converts from one clock to the other.

use crate::config::{first_window, INITIAL_BOUND, MAX_WINDOW_FIELD};
use crate::segment::TIMESTAMP_TICK as TICK;
use longpipe_events::{MaybeTime, Ring, Span, Time};

/// Data that were received beyond a hole and cannot be read yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutOfOrderData {
    /// Number of bytes.
    pub bytes: u64,
    /// Number of ranges.
    pub ranges: u64,
}

/// The receive window and its bound.
#[derive(Clone, Debug)]
pub struct AutotunedWindow {
    /// Window [byte] (`rcv_ssthresh`).
    window: u64,
    /// Bound on the window [byte] (`window_clamp`).
    bound: u64,
    /// Half of the buffer, which is the space for payload [byte] (`tcp_full_space`).
    space: u64,
    /// Payload of a full segment [byte].
    mss: u64,
    /// Maximum data that the application has read within one RTT [byte].
    max_read: u64,
    /// Start of the current RTT on the kernel's clock, initially the establishment of the connection.
    rtt_start: MaybeTime,
    /// Bytes read before the start of the current RTT.
    read_before: u64,
    /// Idle time between the establishment of the connection and its first segment.
    preconnect: Span,
    /// Time at which the latest SYN was answered, in a simulated handshake.
    answered: MaybeTime,
    /// One-way delay of the SYN-ACK, in a simulated handshake.
    ack_delay: Option<Span>,
    /// RTT of a handshake that is not simulated: the sum of the one-way delays of data and of ACKs.
    initial_rtt: Option<Span>,
    /// Minimum one-way delay of data, measured with timestamps.
    min_delay: Span,
    /// Minimum one-way delay of ACKs: `ack_delay`, or an estimate from `min_delay` and `initial_rtt`.
    min_ack_delay: Span,
    /// Smoothed RTT; None if each segment's own estimate is used.
    smoothed: Option<Smoothed>,
    /// The advertised window, if ACKs advertise the growing window.
    advertised: Option<Advertised>,
    /// Time at which the latest segment arrived in order while data waited beyond a hole, and the window space that the
    /// segment and these data occupied then. The application reads what has become in order after the segment's ACK.
    unread: (Time, u64),
}

/// The window that ACKs advertise.
#[derive(Clone, Copy, Debug)]
struct Advertised {
    /// Maximum window [byte]: half of the maximum buffer (tcp_rmem).
    max: u64,
    /// Unit of the window field [byte].
    unit: u64,
    /// Right edge of the window, which never moves back.
    edge: u64,
}

/// RTT estimate that adopts a shorter RTT at once, and moves towards a longer RTT by an eighth of the difference
/// (tcp_rcv_rtt_update, 6.1.176). Timestamps count milliseconds.
///
/// A segment echoes the tick of the latest ACK that the sender had received, initially the tick of the handshake. Only
/// the first of several segments with the same echo is measured (tcp_rcv_rtt_measure_ts): a paced sender sends several
/// for each ACK.
#[derive(Clone, Debug)]
struct Smoothed {
    /// Smoothed RTT.
    round_trip: Span,
    /// Echo of the latest segment measured; None before the first.
    echo: Option<Echo>,
    /// Queue of the first ACKs of each tick, oldest first, starting with the tick that a segment echoed most recently:
    /// `first`, `second`, then `later`. The first two are fields because each segment reads them; they are
    /// `SentAck::NEVER` if there is no such ACK.
    first: SentAck,
    second: SentAck,
    later: Ring<SentAck>,
    /// The latest ACK that the receiver sent.
    latest: AckOrder,
    /// The latest ACK that had arrived when the current segment was sent; `AckOrder::LAST` if it is unknown.
    echoed: AckOrder,
    /// End of the tick of the latest ACK [ps]; 0 before the first ACK. Further ACKs of the tick are not recorded.
    tick_end: u64,
}

/// Position of an ACK among all ACKs of a connection: the acknowledgement number, and, in the low 32 bits, the number of
/// earlier ACKs with this acknowledgement number. One integer, because two would be compared with an unpredictable branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AckOrder(u128);

impl AckOrder {
    /// The last of all ACKs.
    pub const LAST: AckOrder = AckOrder(u128::MAX);

    /// Returns the position of an ACK with acknowledgement number `number` that follows `duplicates` equal ones.
    #[inline(always)]
    pub fn new(number: u64, duplicates: u32) -> AckOrder {
        AckOrder(u128::from(number) << 32 | u128::from(duplicates))
    }

    /// Returns the position of the next ACK, whose acknowledgement number is `number`.
    #[inline(always)]
    pub fn next(self, number: u64) -> AckOrder {
        match self.0 >> 32 == u128::from(number) {
            true => AckOrder(self.0 + 1),
            false => AckOrder::new(number, 0),
        }
    }
}

/// An ACK that the receiver sent.
#[derive(Clone, Copy, Debug)]
struct SentAck {
    sent: Time,
    /// Tick in which the ACK was sent.
    tick: u64,
    order: AckOrder,
}

impl Default for SentAck {
    /// Returns `NEVER`.
    fn default() -> SentAck {
        SentAck::NEVER
    }
}

impl SentAck {
    /// An ACK that is sent after every segment.
    const NEVER: SentAck = SentAck {
        sent: Time(u64::MAX),
        tick: u64::MAX,
        order: AckOrder::LAST,
    };

    #[inline(always)]
    fn is_never(&self) -> bool {
        self.tick == u64::MAX
    }
}

/// The ACK that a segment echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Echo {
    /// The packet that established the connection.
    Handshake,
    /// An ACK that was sent in this tick.
    Tick(u64),
}

/// A configured RTT may exceed the RTT of the path by this much, because most segments leave when the ACK that they
/// echo arrives.
const INEXACT: Span = Span::micros(10);

impl Smoothed {
    /// Returns the estimator without a measurement.
    fn new() -> Smoothed {
        Smoothed {
            round_trip: Span(u64::MAX),
            echo: None,
            first: SentAck::NEVER,
            second: SentAck::NEVER,
            later: Ring::default(),
            latest: AckOrder::default(),
            echoed: AckOrder::LAST,
            tick_end: 0,
        }
    }

    /// Records that an ACK of all bytes before `number` is sent.
    #[inline]
    fn on_ack(&mut self, now: Time, number: u64) {
        self.latest = self.latest.next(number);
        if now.0 >= self.tick_end {
            self.record(now);
        }
    }

    /// Records the latest ACK, which was sent at `sent` and is the first of a tick.
    #[inline(never)]
    fn record(&mut self, sent: Time) {
        let tick = sent.0 / TICK.0;
        self.tick_end = (tick + 1) * TICK.0;
        let order = self.latest;
        let ack = SentAck { sent, tick, order };
        if self.first.is_never() {
            self.first = ack;
        } else if self.second.is_never() {
            self.second = ack;
        } else {
            self.later.push(ack);
        }
    }

    /// Records an RTT sample of a segment that was sent at `sent` and arrived at `now`. `ack_delay` is the minimum
    /// one-way delay of ACKs; `since_handshake` is the time since the SYN-ACK was sent.
    #[inline]
    fn measure(&mut self, now: Time, sent: Time, ack_delay: Span, since_handshake: Span) {
        let echoed = self.echoed;
        let arrived = |ack: &SentAck| (ack.order <= echoed) & (ack.sent.0.saturating_add(ack_delay.0) <= sent.0);
        while arrived(&self.second) {
            self.first = self.second;
            self.second = self.later.pop().unwrap_or_default();
        }
        let echo = match arrived(&self.first) {
            true => Echo::Tick(self.first.tick),
            false => Echo::Handshake,
        };
        if self.echo == Some(echo) {
            return;
        }
        let ticks = match echo {
            Echo::Tick(tick) => now.0 / TICK.0 - tick,
            Echo::Handshake => since_handshake.0 / TICK.0,
        };
        self.update(echo, Span(ticks.max(1) * TICK.0));
    }

    /// Updates the smoothed RTT from a sample.
    #[inline(never)]
    fn update(&mut self, echo: Echo, round_trip: Span) {
        self.echo = Some(echo);
        if round_trip <= self.round_trip {
            self.round_trip = round_trip;
        } else {
            self.round_trip = Span(self.round_trip.0 + (round_trip.0 - self.round_trip.0) / 8);
        }
    }
}

/// Data that are assumed to be read in the first RTT [segment]: one initial window.
const INITIAL_READ: u64 = 10;
/// Window space that a segment occupies, in 1/16 of its payload. This is half of the packet's memory (truesize, 2727
/// bytes for 1448 bytes of payload; tcp_win_from_space), because the window is half of the buffer.
const OCCUPIED_16THS: u64 = 15;
/// Window space, in 1/16 of its payload, of a segment that is merged with the segment before it and thus occupies only
/// the memory of its payload (tcp_try_coalesce).
const MERGED_16THS: u64 = 8;
/// Maximum number of segments that are merged (MAX_SKB_FRAGS).
const MAX_MERGED: u64 = 17;
/// The bound leaves room for READ_FACTOR times the data read plus SPARE_SEGMENTS segments; if the data read grow, it is
/// increased by READ_FACTOR times their relative growth.
const READ_FACTOR: u64 = 2;
const SPARE_SEGMENTS: u64 = 16;
/// Memory of a packet in addition to its payload [byte], and the step by which the kernel increases its estimate of the
/// total until half of it is enough for the payload (tcp_rcv_space_adjust).
const HEADERS: u64 = 832;
const STEP: u64 = 128;

/// Free space below half of the bound is rounded down; if it is below 1/MIN_FREE_SHARE of the bound, a window of 0 is
/// advertised (__tcp_select_window).
const MIN_FREE_SHARE: u64 = 16;

impl AutotunedWindow {
    /// Creates the window for segments of `mss` bytes. The RTT is smoothed if `least_round_trip` is true; otherwise each
    /// segment's own estimate is used.
    pub fn new(mss: u32, least_round_trip: bool) -> AutotunedWindow {
        let mss = u64::from(mss);
        AutotunedWindow {
            window: INITIAL_BOUND.saturating_sub(mss),
            bound: INITIAL_BOUND.saturating_sub(mss),
            space: INITIAL_BOUND,
            mss,
            advertised: None,
            max_read: INITIAL_READ * mss,
            rtt_start: MaybeTime::NONE,
            read_before: 0,
            preconnect: Span(0),
            answered: MaybeTime::NONE,
            ack_delay: None,
            initial_rtt: None,
            min_delay: Span(u64::MAX),
            min_ack_delay: Span(u64::MAX),
            smoothed: least_round_trip.then(Smoothed::new),
            unread: (Time::ZERO, 0),
        }
    }

    /// Makes ACKs advertise the window: at most `max` bytes, in units of 2^scale bytes.
    pub fn advertises(self, max: u64, scale: u32) -> AutotunedWindow {
        let advertised = Advertised {
            max,
            unit: 1 << scale,
            edge: first_window(max, self.mss as u32),
        };
        AutotunedWindow {
            window: self.window.min(max),
            bound: self.bound.min(max),
            space: INITIAL_BOUND.min(max),
            advertised: Some(advertised),
            ..self
        }
    }

    /// Sets the RTT of a handshake that is not simulated, if it is known, and the idle time between the establishment
    /// of the connection and its first segment.
    pub fn established(self, initial_rtt: Option<Span>, preconnect: Span) -> AutotunedWindow {
        AutotunedWindow {
            initial_rtt,
            preconnect,
            ..self
        }
    }

    /// Records that a SYN is answered.
    pub fn on_syn(&mut self, now: Time) {
        self.answered = now.into();
    }

    /// Records that the ACK of the SYN-ACK, which was sent at `sent`, establishes the connection.
    pub fn on_established(&mut self, now: Time, sent: Option<Time>) {
        if let (MaybeTime::NONE, Some(answered), Some(sent)) = (self.rtt_start, self.answered.get(), sent) {
            self.rtt_start = now.into();
            self.ack_delay = Some(sent.since(answered));
            self.update_min_ack_delay();
        }
    }

    /// Returns the window space that data beyond a hole occupy [byte]. Segments of a range are merged with the segments
    /// before them.
    #[inline(always)]
    fn occupied(&self, beyond: OutOfOrderData) -> u64 {
        if beyond.bytes == 0 {
            return 0;
        }
        let merged = (beyond.bytes / self.mss).saturating_sub(beyond.ranges);
        let unmerged = (beyond.ranges + merged / MAX_MERGED) * self.mss;
        (beyond.bytes * MERGED_16THS + unmerged.min(beyond.bytes) * (OCCUPIED_16THS - MERGED_16THS)) / 16
    }

    /// Returns the window of an ACK of all bytes before `next` [byte], while data wait beyond a hole (tcp_select_window);
    /// 0 if ACKs do not advertise the growing window.
    pub fn advertise(&mut self, now: Time, next: u64, beyond: OutOfOrderData) -> u32 {
        let unread = if self.unread.0 == now { self.unread.1 } else { 0 };
        let occupied = self.occupied(beyond).max(unread);
        let Some(Advertised { unit, edge, .. }) = &mut self.advertised else {
            return 0;
        };
        let mut free = self.space.saturating_sub(occupied);
        if free < self.space / 2 {
            free = free / *unit * *unit;
            if free < self.space / MIN_FREE_SHARE || free < self.mss {
                free = 0;
            }
        }
        let window = free.min(self.window).max(edge.saturating_sub(next));
        let field = window.div_ceil(*unit).min(MAX_WINDOW_FIELD);
        *edge = next + field * *unit;
        (field * *unit) as u32
    }

    /// Returns whether the window is below its bound, so that it grows if data beyond a hole leave room in the buffer.
    #[inline]
    pub fn may_grow(&self) -> bool {
        self.bound > self.window
    }

    /// Increases the window by two segments for a segment beyond a hole, if there is room in addition to the data that
    /// wait there. Returns whether it grew.
    pub fn grow_beyond(&mut self, beyond: OutOfOrderData) -> bool {
        let occupied = self.occupied(beyond);
        self.grow(occupied)
    }

    /// Increases the window by two segments, if there is room in addition to the space that waiting data occupy [byte].
    /// Returns whether it grew (`tcp_grow_window`).
    #[inline]
    fn grow(&mut self, occupied: u64) -> bool {
        if !self.may_grow() {
            return false;
        }
        let space = self.space.saturating_sub(occupied);
        let room = self.bound.min(space).saturating_sub(self.window);
        self.window += room.min(2 * self.mss);
        room > 0
    }

    /// Processes a segment that was sent at `sent`, arrived in order and ends at byte `end`, while data wait beyond a
    /// hole. The application reads the segment at once. Returns whether the window grew.
    #[inline(always)]
    pub fn on_segment(&mut self, now: Time, sent: Time, end: u64, beyond: OutOfOrderData) -> bool {
        // The application reads the segment after the window has grown.
        let occupied = self.occupied(beyond) + self.mss * OCCUPIED_16THS / 16;
        let grows = self.grow(occupied);
        if beyond.bytes > 0 {
            self.unread = (now, occupied);
        }
        let round_trip = self.measure(now, sent);
        // On the kernel's clock, the connection was established `preconnect` before its first segment arrives.
        let rtt_start = self.rtt_start.get().unwrap_or(now);
        self.rtt_start = rtt_start.into();
        let now = now + self.preconnect;
        if now.since(rtt_start) >= round_trip {
            let read = end - self.read_before;
            if read > self.max_read {
                self.raise(read);
                self.max_read = read;
            }
            (self.rtt_start, self.read_before) = (now.into(), end);
        }
        grows
    }

    /// Measures the RTT by means of a segment that was sent at `sent`. Returns the estimate.
    #[inline]
    pub fn measure(&mut self, now: Time, sent: Time) -> Span {
        // The RTT is this segment's one-way delay plus the minimum one-way delay. Of several formulas, this one agreed
        // best with two captures of Linux hosts on one path.
        let one_way_delay = now - sent;
        if one_way_delay < self.min_delay {
            self.min_delay = one_way_delay;
            self.update_min_ack_delay();
        }
        let (idle, ack_delay) = (self.preconnect, self.min_ack_delay);
        let Some(smoothed) = &mut self.smoothed else {
            return one_way_delay + self.min_delay;
        };
        smoothed.measure(now + idle, sent + idle, ack_delay, one_way_delay + ack_delay + idle);
        smoothed.round_trip
    }

    /// Sets the minimum one-way delay of ACKs: that of the SYN-ACK, or else the initial RTT minus the minimum delay of data,
    /// but at most the minimum delay of data, which is also used without an initial RTT.
    #[cold]
    fn update_min_ack_delay(&mut self) {
        self.min_ack_delay = self.ack_delay.unwrap_or_else(|| {
            let data_delay = self.min_delay.0.saturating_add(INEXACT.0);
            let remainder = self.initial_rtt.map(|rtt| Span(rtt.0.saturating_sub(data_delay)));
            remainder
                .filter(|remainder| remainder.0 > 0)
                .map_or(self.min_delay, |remainder| remainder.min(self.min_delay))
        });
    }

    /// Returns whether RTTs are measured by the ACKs that segments echo.
    pub fn measures_by_echoes(&self) -> bool {
        self.smoothed.is_some()
    }

    /// Sets the latest ACK that had arrived when the next segment was sent.
    #[inline]
    pub fn set_echoed(&mut self, echoed: AckOrder) {
        if let Some(smoothed) = &mut self.smoothed {
            smoothed.echoed = echoed;
        }
    }

    /// Records that an ACK of all bytes before `number` is sent; later segments echo its time. If timestamps are off, no
    /// segment is measured, and nothing is recorded, because only measurements remove records.
    #[inline]
    pub fn on_ack(&mut self, now: Time, number: u64) {
        let measures = self.min_delay.0 < u64::MAX;
        if let (Some(smoothed), true) = (&mut self.smoothed, measures) {
            smoothed.on_ack(now + self.preconnect, number);
        }
    }

    /// Returns the RTT of the handshake, the only sample of a host that sends no data (`srtt_us`): twice the minimum
    /// one-way delay; None before the first segment with a timestamp.
    pub fn round_trip(&self) -> Option<Span> {
        let round_trip = self.min_delay.0.saturating_mul(2);
        (round_trip < u64::MAX).then_some(Span(round_trip))
    }

    /// Enlarges the buffer for a new maximum `read` of the data read per RTT (`tcp_rcv_space_adjust`): it holds
    /// room + 2 room (read - max_read) / max_read bytes of payload, where room = 2 read + 16 segments.
    fn raise(&mut self, read: u64) {
        let room = u128::from(READ_FACTOR * read + SPARE_SEGMENTS * self.mss);
        let growth = room * u128::from(read - self.max_read) / u128::from(self.max_read);
        let segments =
            u64::try_from((room + u128::from(READ_FACTOR) * growth) / u128::from(self.mss)).unwrap_or(u64::MAX);
        let max = self.advertised.map_or(u64::MAX, |advertised| advertised.max);
        let space = (segments.saturating_mul(self.segment_memory()) / 2).min(max);
        if space > self.space {
            (self.space, self.bound) = (space, space);
        }
    }

    /// Returns the memory [byte] that the kernel estimates for a full segment: its payload and headers, increased in steps
    /// until half of the memory is enough for the payload.
    fn segment_memory(&self) -> u64 {
        let min_memory = self.mss + HEADERS;
        min_memory + (2 * self.mss).saturating_sub(min_memory).next_multiple_of(STEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;
    const NOTHING: OutOfOrderData = OutOfOrderData { bytes: 0, ranges: 0 };

    /// Returns segments beyond a hole that are not adjacent.
    fn apart(ranges: u64) -> OutOfOrderData {
        OutOfOrderData {
            bytes: ranges * MSS,
            ranges,
        }
    }

    /// Simulates RTTs of 100 ms with the given numbers of segments, sent at intervals of 1.2 ms. Returns which segments
    /// are acknowledged at once, and the bound after each RTT [segment].
    fn rounds(segments: &[u64]) -> (Vec<bool>, Vec<u64>) {
        let mut window = AutotunedWindow::new(MSS as u32, false);
        let (mut end, mut at_once, mut bounds) = (0, vec![], vec![]);
        for (round, &segments) in (1..).zip(segments) {
            for segment in 0..segments {
                let now = Time(Span::millis(100 * round).0 + Span::micros(1200 * segment).0);
                end += MSS;
                at_once.push(window.on_segment(now, Time(now.0 - Span::millis(50).0), end, NOTHING));
            }
            bounds.push(window.space * 2 / window.segment_memory());
        }
        (at_once, bounds)
    }

    /// Follows tcp_rcv_space_adjust: 11, 20, 40 and 80 segments are read per RTT. Compares with Linux 6.1 over a 10
    /// Mbit/s path with an RTT of 100 ms, on which ACKs are immediate from the 32nd segment until 291 segments have
    /// arrived.
    #[test]
    fn the_bound_follows_the_data_read_per_rtt() {
        let (at_once, bounds) = rounds(&[10, 20, 40, 80, 83, 83, 83]);
        assert_eq!(bounds[..5], [44, 45, 147, 288, 528]);
        // The first RTT enlarges the buffer slightly, at the 12th segment.
        let first = at_once[12..]
            .iter()
            .position(|&at_once| at_once)
            .map(|place| place + 12);
        let last = at_once.iter().rposition(|&at_once| at_once);
        assert!((30..=32).contains(&first.unwrap()), "{first:?}");
        assert!((260..=300).contains(&last.unwrap()), "{last:?}");
    }

    /// Returns the number of segments beyond a hole, which form `ranges(segments)` ranges, that make the window grow
    /// (tcp_grow_window).
    fn growing_beyond(ranges: impl Fn(u64) -> u64) -> usize {
        let mut window = AutotunedWindow::new(MSS as u32, false);
        (window.window, window.bound, window.space) =
            (INITIAL_BOUND, INITIAL_BOUND + 20 * MSS, INITIAL_BOUND + 20 * MSS);
        let grown = (1..21).map(|segments| OutOfOrderData {
            bytes: segments * MSS,
            ranges: ranges(segments),
        });
        let count = grown.take_while(|&beyond| window.grow_beyond(beyond)).count();
        assert!(window.grow_beyond(NOTHING));
        count
    }

    /// Segments that cannot be merged occupy 15/16 of a segment each, and a segment adds two segments to the window:
    /// after these segments, the sum is 6 · 2 + 7 · 15/16 = 18.6 of 20 segments.
    #[test]
    fn segments_beyond_holes_grow_the_window_up_to_the_buffer() {
        assert_eq!(growing_beyond(|segments| segments), 7);
    }

    /// tcp_try_coalesce: merged segments occupy half of their payload, and only the first one of a range occupies 15/16:
    /// 7 · 2 + 15/16 + 7 · 1/2 = 18.4 of 20 segments.
    #[test]
    fn merged_segments_leave_room_for_the_window_to_grow() {
        assert_eq!(growing_beyond(|_| 1), 8);
    }

    /// Advertised windows follow tcp_select_window with a window scale of 11: the SYN-ACK offers 65 160 bytes, later
    /// ACKs offer multiples of 2048 bytes, and the right edge never moves back.
    #[test]
    fn advertised_window_edge_never_moves_back() {
        assert_eq!(
            (
                first_window(32 << 20, 1448),
                first_window(10_000, 1448),
                first_window(1000, 1448)
            ),
            (65_160, 8688, 1448)
        );
        let mut window = AutotunedWindow::new(MSS as u32, false).advertises(32 << 20, 11);
        assert_eq!(window.advertise(Time::ZERO, 0, NOTHING), 32 * 2048);
        // With 20 segments beyond a hole, 38 386 bytes are left, but 65 536 bytes were offered.
        assert_eq!(window.advertise(Time::ZERO, 0, apart(20)), 32 * 2048);
        assert_eq!(window.advertise(Time::ZERO, 20 * MSS, NOTHING), 32 * 2048);
        // Almost no memory is free: the right edge stays 3000 bytes ahead, rounded up to two units of the window field.
        assert_eq!(
            window.advertise(Time::ZERO, 20 * MSS + 32 * 2048 - 3000, apart(60)),
            2 * 2048
        );
        (window.bound, window.space) = (100 * MSS, 100 * MSS);
        while window.grow(0) {}
        assert_eq!(
            window.advertise(Time::ZERO, 100 * MSS, NOTHING),
            (100 * MSS).div_ceil(2048) as u32 * 2048
        );
        // Without a growing window, ACKs advertise none.
        assert_eq!(
            AutotunedWindow::new(MSS as u32, false).advertise(Time::ZERO, 0, NOTHING),
            0
        );
    }

    /// Only the first of the segments that echo one ACK is measured (tcp_rcv_rtt_measure_ts).
    #[test]
    fn segments_that_echo_one_ack_are_measured_once() {
        let mut window = AutotunedWindow::new(MSS as u32, true);
        let at = |micros: u64| Time(Span::micros(micros).0);
        window.measure(at(100_000), at(50_000));
        window.on_ack(at(100_000), 1);
        window.on_ack(at(100_900), 2);
        // The ACK reaches the sender at 150 ms, and the next one at 151.2 ms.
        window.on_ack(at(101_200), 3);
        let sent = [150_100, 150_500, 151_100, 151_300].map(at);
        let found = sent.map(|sent| window.measure(Time(sent.0 + Span::millis(60).0), sent));
        let first = Span::micros(100_000 + 10_000 / 8);
        assert_eq!(found[..3], [first; 3]);
        assert_eq!(found[3], Span(first.0 + (Span::millis(110).0 - first.0) / 8));
        // Until a later ACK reaches the sender, no other segment is measured.
        assert_eq!(window.measure(at(310_000), at(250_000)), found[3]);
    }

    /// The recorded times of ACKs do not accumulate; otherwise, they would take 8 bytes of memory per millisecond of
    /// the run.
    #[test]
    fn acks_are_recorded_only_once_a_segment_has_a_timestamp() {
        let mut window = AutotunedWindow::new(MSS as u32, true);
        let recorded = |window: &AutotunedWindow| {
            let smoothed = window.smoothed.as_ref()?;
            let recorded = [smoothed.first, smoothed.second]
                .iter()
                .filter(|ack| !ack.is_never())
                .count();
            Some(recorded + smoothed.later.len() as usize)
        };
        (0..100).for_each(|tick| window.on_ack(Time(tick * TICK.0), tick));
        assert_eq!(recorded(&window), Some(0));
        window.measure(Time(100 * TICK.0), Time(50 * TICK.0));
        window.on_ack(Time(100 * TICK.0), 100);
        assert_eq!(recorded(&window), Some(1));
    }

    #[test]
    fn the_bound_is_at_most_half_of_the_largest_buffer() {
        let mut window = AutotunedWindow::new(MSS as u32, false).advertises(100_000, 11);
        window.raise(1 << 30);
        assert_eq!((window.bound, window.space), (100_000, 100_000));
        assert_eq!(
            AutotunedWindow::new(MSS as u32, false).advertises(20_000, 0).bound,
            20_000
        );
    }

    /// Plays the segments that Linux 6.1.176 sent and received over a 9.3 Mbit/s path with an RTT of 24 ms, 1.05 s
    /// after the connection was established, and compares the first window that grows in its ACKs: that of the 33rd
    /// segment, because the second RTT of 26 ticks is not over when the 31st segment arrives 25.97 ms after the 11th.
    #[test]
    fn linux_measures_rtts_in_ticks_since_connection_start() {
        let mut window = AutotunedWindow::new(MSS as u32, true).established(None, Span::micros(1_052_440));
        let packet = 1302.4;
        let mut grown = vec![];
        for segment in 1..=40u64 {
            // Each ACK releases two segments; from the 17th segment on, each ACK acknowledges two segments.
            let (sent, arrived) = match segment {
                1..=10 => (0.0, 12_000.0 + (segment - 1) as f64 * packet),
                11..=30 => (
                    24_000.0 + ((segment - 11) / 2) as f64 * packet,
                    36_003.0 + (segment - 11) as f64 * packet,
                ),
                _ => (
                    48_007.0 + ((segment - 31) / 2) as f64 * packet,
                    61_977.0 + (segment - 31) as f64 * packet,
                ),
            };
            let [sent, arrived] = [sent, arrived].map(|micros| Time((micros * 1e6) as u64));
            if window.on_segment(arrived, sent, segment * MSS, NOTHING) {
                grown.push(segment);
            }
            if segment <= 16 || segment % 2 == 0 {
                window.on_ack(arrived, segment * MSS);
            }
        }
        // The first RTT enlarges the buffer slightly.
        assert_eq!(grown, [12, 33, 34, 35, 36, 37, 38, 39, 40]);
        assert_eq!(window.window, 64_343 + 8 * 2 * MSS);
    }

    /// Compares with Linux 6.1.176 over an 11.2 Mbit/s path with an RTT of 507 ms, where each flight is twice as large
    /// as the previous one and ends with a queue. The bound rises when a flight begins, so that segments 33 to 275, 313
    /// to 553 and 633 to 1115 are acknowledged one by one.
    #[test]
    fn a_shorter_rtt_is_adopted_at_once() {
        let mut window = AutotunedWindow::new(MSS as u32, true);
        let (packet, half) = (1081.43e-6, 0.2535);
        let (mut segment, mut at_once) = (0, vec![]);
        for flight in 0..7 {
            for place in 0..10 << flight {
                segment += 1;
                let now = Time(
                    ((f64::from(flight) * (2.0 * half + packet) + half + f64::from(place) * packet) * 1e12) as u64,
                );
                // Segments are sent at twice the rate at which they arrive.
                let sent = Time(now.0 - ((half + f64::from(place) / 2.0 * packet) * 1e12) as u64);
                if window.on_segment(now, sent, segment * MSS, NOTHING) {
                    at_once.push(segment);
                }
            }
        }
        for (first, last) in [(33, 275), (313, 553), (633, 1115)] {
            let of_flight = at_once
                .iter()
                .filter(|&&segment| first - 5 <= segment && segment <= last + 30);
            let (min, max) = (of_flight.clone().min().unwrap(), of_flight.max().unwrap());
            assert!(min.abs_diff(first) <= 2 && max.abs_diff(last) <= 5, "{min} {max}");
        }
    }
}
