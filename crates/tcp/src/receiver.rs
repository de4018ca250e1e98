//! The receiving end point: reassembly and acknowledgement.

mod answers;
mod blocks;
mod compression;
mod delays;
mod writes;

use crate::accurate::Counter;
use crate::config::{AckConfig, EcnConfig, TcpConfig};
use crate::growing_window::GrowingWindow;
use crate::ranges::Ranges;
use crate::segment::{DataSegment, Opening, MAX_SACK_BLOCKS};
use compression::Compression;
use delays::Delays;
use longpipe_events::{MaybeTime, Span, Time};
use writes::Writes;

/// One connection's receiving side. The application reads at once, so the window never closes. What every segment
/// touches comes first, so that many connections fit the cache.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    /// Next byte expected (RCV.NXT) -- all before it was delivered.
    next: u64,
    /// RCV.NXT when the last ACK left (Last.ACK.sent of RFC 7323).
    acknowledged: u64,
    /// Highest byte received, plus one, unless that is `next`.
    highest: u64,
    /// First byte of the latest segment.
    latest: u64,
    /// Segments received since the last ACK.
    unacknowledged: u32,
    /// Most SACK blocks in an ACK; 0: no SACK.
    sack_blocks: u8,
    pending: bool,
    /// Whether every segment is acknowledged at once, and nothing is echoed.
    at_once: bool,
    /// Whether that is so and nothing is kept beyond a hole.
    plain: bool,
    /// Whether more than the number of segments decides: marks, the first segments, a window that grows, a handshake.
    attends: bool,
    /// Whether ACKs may say more than what has arrived: marks, the clock, a part in a handshake.
    says_more: bool,
    /// Whether ACKs of data in order say no more than that, with an echo at most, and nobody has to hear of them.
    simple: bool,
    /// Data beyond a hole.
    beyond: Ranges,
    /// When a delayed ACK is due.
    deadline: MaybeTime,
    /// An ACK waits for fewer segments than these, for so long at most.
    each: u32,
    timeout: Span,
    /// Linux's delays, instead of `timeout`.
    delays: Option<Delays>,
    /// Timestamp to echo (RFC 7323 section 4).
    echo: MaybeTime,
    /// Whether ACKs tell its clock, for a sender that measures one-way delays.
    tells_clock: bool,
    /// Of one that acknowledges at once while it grows.
    window: Option<Box<GrowingWindow>>,
    /// Of one whose ACKs of data beyond a hole wait for each other.
    compression: Option<Box<Compression>>,
    /// Of one that acknowledges at once what ends a write.
    writes: Option<Box<Writes>>,
    /// How many of the first segments are still to be acknowledged at once.
    quick: u32,
    ecn: EcnConfig,
    /// Whether ACKs echo a mark.
    echoes_mark: bool,
    /// Where they count marks.
    counter: Counter,
    /// What came before marks began or ended, of which an ACK leaves first; whether another one follows.
    before_mark: Option<(u64, bool)>,
    /// Whether ACKs tell what came twice, and what did since the last one.
    tells_duplicates: bool,
    duplicate: Option<(u64, u64)>,
    /// Of the SYN to answer.
    opening: Opening,
    /// Blocks last reported, the most recent first.
    reported: [(u64, u64); MAX_SACK_BLOCKS],
    /// The segment that was put beyond a hole since; 0: none, and `SEVERAL`: more than one.
    put: u64,
    /// Bytes beyond a hole, where a window that grows needs them.
    waiting: u64,
}

/// Stands for more than one segment.
const SEVERAL: u64 = u64::MAX;
/// Linux acknowledges at least every so many segments.
const EACH: u32 = 2;

/// How many segments an ACK waits for, for how long at most [ps], and how many of the first are acknowledged at once.
fn rule(ack: &AckConfig) -> (u32, u64, u32) {
    match *ack {
        AckConfig::Immediate {} => (1, 0, 0),
        AckConfig::Delayed {
            segments,
            timeout_ps,
            quick,
        } => (segments, timeout_ps, quick),
        AckConfig::Linux { timeout_ps, quick, .. } => (EACH, timeout_ps, quick),
    }
}

impl Receiver {
    /// A receiver that has received nothing.
    pub fn new(config: &TcpConfig) -> Receiver {
        let at_once = config.ack == AckConfig::Immediate {} && !config.timestamps() && config.ecn.is_off();
        let (each, timeout_ps, quick) = rule(&config.ack);
        let (delays, window, compression, writes) = match config.ack {
            AckConfig::Linux {
                least_round_trip,
                sack_delay_ps,
                write_every_ps,
                ..
            } => (
                Some(Delays::new(Span(timeout_ps), config.hz)),
                Some(GrowingWindow::new(config.mss_bytes, least_round_trip)),
                Compression::new(sack_delay_ps).filter(|_| config.recovery.sack_blocks() > 0),
                Writes::new(write_every_ps, config.mss_bytes),
            ),
            _ => (None, None, None, None),
        };
        Receiver {
            next: 0,
            highest: 0,
            beyond: Ranges::default(),
            each,
            timeout: Span(timeout_ps),
            delays,
            attends: quick > 0 || window.is_some() || !config.ecn.is_off() || config.handshake,
            says_more: !config.ecn.is_off() || config.congestion.measures_delay(),
            simple: config.ecn.is_off() && !config.congestion.measures_delay() && writes.is_none(),
            window: window.map(Box::new),
            compression: compression.map(Box::new),
            writes: writes.map(Box::new),
            quick,
            tells_clock: config.congestion.measures_delay(),
            ecn: config.ecn,
            echoes_mark: false,
            counter: Counter::new(config.ecn.counts_bytes()),
            before_mark: None,
            sack_blocks: config.recovery.sack_blocks().min(config.room_for_blocks() as u32) as u8,
            latest: 0,
            tells_duplicates: config.recovery.tells_duplicates(),
            duplicate: None,
            opening: Opening::Over,
            reported: [(0, 0); MAX_SACK_BLOCKS],
            put: 0,
            waiting: 0,
            unacknowledged: 0,
            deadline: MaybeTime::NONE,
            acknowledged: 0,
            echo: MaybeTime::NONE,
            pending: false,
            at_once,
            plain: at_once,
        }
    }

    /// Somebody has to hear of each segment, so that none is taken in passing.
    pub fn heed_each_segment(&mut self) {
        (self.at_once, self.plain, self.simple) = (false, false, false);
    }

    /// What it has received is to be told again, whether or not that is more than before.
    pub fn tell_again(&mut self) {
        self.pending = true;
    }

    /// Takes a segment without timestamp that needs no more than an ACK at once, which acknowledges all below what
    /// this returns; else `on_segment` has to take it.
    #[inline(always)]
    pub fn take_plain(&mut self, sequence: u64, length: u32) -> Option<u64> {
        let plain = self.plain & (sequence == self.acknowledged) & (length > 0);
        plain.then(|| {
            self.next = sequence + u64::from(length);
            self.acknowledged = self.next;
            self.next
        })
    }

    /// Takes a segment without marks that is expected, where nothing lies beyond it and no more than its number, its timestamp
    /// and the window decides when it is acknowledged; else `on_segment` has to take it. Whether `is_pending` tells of an ACK,
    /// of which `answer_in_order` then says all.
    #[inline]
    pub fn take_in_order(&mut self, now: Time, sequence: u64, length: u32, stamp: MaybeTime) -> bool {
        let expected = self.simple & (sequence == self.next) & (length > 0);
        if !(expected && self.beyond.is_empty() && self.duplicate.is_none()) {
            return false;
        }
        if sequence == self.acknowledged {
            self.echo = stamp;
        }
        self.latest = sequence;
        self.next = sequence + u64::from(length);
        let grew = self.window_grows(now, stamp.get(), 0);
        self.measure_gap(now);
        if self.use_quick_ack() | grew {
            self.pending = true;
        } else {
            self.acknowledge_or_wait(now);
        }
        true
    }

    /// A segment arrived whole.
    #[inline(always)]
    pub fn on_segment(&mut self, now: Time, segment: &DataSegment) {
        if !self.attends & (segment.sequence == self.next) & (segment.length > 0) && self.beyond.is_empty() {
            self.take_next(now, segment);
        } else {
            self.take_any(now, segment);
        }
    }

    /// The same of one that is expected, where only the number of segments decides.
    #[inline(always)]
    fn take_next(&mut self, now: Time, segment: &DataSegment) {
        if segment.sequence == self.acknowledged {
            self.echo = segment.timestamp;
        }
        self.latest = segment.sequence;
        self.next = segment.end();
        self.acknowledge_or_wait(now);
    }

    /// A segment more is to be acknowledged: at once, or with those that follow.
    #[inline(always)]
    fn acknowledge_or_wait(&mut self, now: Time) {
        self.unacknowledged += 1;
        if self.unacknowledged < self.each {
            let due = match &self.delays {
                Some(delays) => delays.deadline(now, self.round_trip()),
                None => now + self.timeout,
            };
            self.deadline = self.deadline.min(due.into());
        } else {
            self.pending = true;
        }
    }

    #[inline(always)]
    fn take_any(&mut self, now: Time, segment: &DataSegment) {
        if self.attends {
            return self.take_in_full(now, *segment);
        }
        let (in_order, filled) = self.place(segment);
        if in_order && !filled && self.beyond.is_empty() {
            self.acknowledge_or_wait(now);
        } else {
            self.unacknowledged += 1;
            self.pending = true;
        }
        self.plain = self.at_once && self.beyond.is_empty();
    }

    /// The same where more than the number of segments decides.
    #[inline(never)]
    fn take_in_full(&mut self, now: Time, segment: DataSegment) {
        if segment.opening != Opening::Over {
            return self.open(&segment);
        }
        let marks = self.echoes_mark;
        self.take_mark(segment.ecn, segment.length);
        let fresh = self.beyond.is_empty();
        let (in_order, filled) = self.place(&segment);
        let range = match &mut self.compression {
            Some(compression) if !in_order => compression.take(self.next, (segment.sequence, segment.end())),
            _ => 0,
        };
        if self.delays.is_some() {
            self.start_quick_acks(now, &segment, (in_order, marks));
        }
        let at_once = self.answers_at_once(now, &segment, in_order);
        if in_order && !filled && !at_once && self.beyond.is_empty() {
            self.acknowledge_or_wait(now);
        } else {
            self.unacknowledged += 1;
            let waits = !at_once && self.compression.is_some();
            let wait = if waits { self.compressed(range, fresh) } else { None };
            match wait {
                Some(wait) => self.deadline = self.deadline.min((now + wait).into()),
                None => self.pending = true,
            }
        }
        self.wait_for_mark();
        self.plain = self.at_once && self.beyond.is_empty();
    }

    /// Puts a segment where it belongs; whether it is expected, and whether it filled a hole.
    #[inline(always)]
    fn place(&mut self, segment: &DataSegment) -> (bool, bool) {
        self.highest = self.highest.max(segment.end());
        if segment.sequence <= self.acknowledged {
            self.echo = segment.timestamp;
        }
        self.latest = segment.sequence;
        let in_order = segment.sequence <= self.next && segment.end() > self.next;
        let filled = in_order && self.advance(segment.end());
        if !in_order {
            if self.window.is_some() && segment.sequence > self.next {
                let known = self.beyond.covered(segment.sequence, segment.end());
                self.waiting += u64::from(segment.length) - known;
            }
            let news = segment.sequence > self.next && self.beyond.insert(segment.sequence, segment.end());
            if news {
                self.put = if self.put == 0 { segment.sequence } else { SEVERAL };
            } else if self.tells_duplicates {
                self.duplicate = Some((segment.sequence, segment.end()));
            }
        }
        (in_order, filled)
    }

    /// A packet of a handshake arrived, of which a SYN is answered.
    #[cold]
    fn open(&mut self, segment: &DataSegment) {
        self.echo = segment.timestamp;
        if segment.opening.is_syn() {
            (self.opening, self.pending, self.says_more) = (segment.opening, true, true);
        }
    }

    /// Whether a segment is among the first, made the window grow, ends a write, or brought marks that an ACK has to count.
    fn answers_at_once(&mut self, now: Time, segment: &DataSegment, in_order: bool) -> bool {
        let beyond = self.waiting;
        let grew = if in_order {
            self.window_grows(now, segment.timestamp.get(), beyond)
        } else {
            let new = segment.sequence > self.next && self.duplicate.is_none();
            new && self.window.as_mut().is_some_and(|window| window.grow(beyond))
        };
        let first = self.use_quick_ack();
        let place = (segment.sequence, segment.end());
        let ends = |writes: &mut Box<Writes>| writes.on_segment(now, self.acknowledged, place);
        // Only data in order is read, and its PSH seen (tcp_event_data_recv).
        let pushed = self.writes.as_mut().is_some_and(ends) && in_order;
        first || grew || pushed || self.counter.is_due()
    }

    /// How long the ACK of a segment may wait while data lie beyond a hole.
    fn compressed(&mut self, range: usize, fresh: bool) -> Option<Span> {
        // The last hole was filled.
        if self.beyond.is_empty() {
            return None;
        }
        let round_trip = self.round_trip();
        let compression = self.compression.as_mut()?;
        if self.unacknowledged == 1 {
            compression.on_ack();
        }
        compression.on_segment(self.next, range, fresh, round_trip)
    }

    /// The ACK of what came before marks began or ended leaves first.
    fn wait_for_mark(&mut self) {
        if let Some((_, due)) = &mut self.before_mark {
            *due = std::mem::replace(&mut self.pending, true);
        }
    }

    /// Whether a window that grows did so by a segment in order, while `beyond` bytes wait beyond a hole.
    #[inline]
    fn window_grows(&mut self, now: Time, sent: Option<Time>, beyond: u64) -> bool {
        match (&mut self.window, sent) {
            (Some(window), Some(sent)) => window.on_segment(now, sent, self.next, beyond),
            _ => false,
        }
    }

    /// Moves RCV.NXT to `end` and over what was kept; true if a hole was filled.
    fn advance(&mut self, end: u64) -> bool {
        let filled = self.beyond.absorb(end);
        self.next = filled.map_or(end, |reached| reached.max(end));
        self.waiting = if self.beyond.is_empty() {
            0
        } else {
            self.waiting.saturating_sub(self.next - end)
        };
        filled.is_some()
    }

    /// The caller's clock passed `next_timeout`.
    pub fn on_timeout(&mut self, now: Time) {
        if self.deadline <= now.into() {
            self.pending = true;
            let round_trip = self.round_trip();
            if let (true, Some(delays)) = (self.beyond.is_empty(), &mut self.delays) {
                delays.on_timeout(round_trip);
            }
        }
    }

    /// When a delayed ACK is due.
    #[inline(always)]
    pub fn next_timeout(&self) -> MaybeTime {
        self.deadline
    }

    /// Whether there is an ACK to send now.
    #[inline(always)]
    pub fn is_pending(&self) -> bool {
        self.pending
    }

    /// Whether ACKs may say more than what has arrived: marks, the clock, a part in a handshake.
    #[inline(always)]
    pub fn says_more(&self) -> bool {
        self.says_more
    }

    /// Bytes delivered in order to the application.
    pub fn delivered(&self) -> u64 {
        self.next
    }

    /// Highest byte received, plus one.
    pub fn highest(&self) -> u64 {
        self.highest.max(self.next)
    }
}

#[cfg(test)]
mod tests;
