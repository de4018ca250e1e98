//! An egress queue followed by a constant-rate transmitter. A packet's departure time is known when its transmission
//! starts, so the packet is forwarded at that time.
//!
//! Only a backlog needs an event, for the start of the next transmission. Without a backlog, departures are processed
//! at the next arrival. Arrivals must be passed in order, and may be passed ahead of time.
//!
//! Shortcut: the port may process the start of a transmission late, at the next arrival or at an event up to `slack`
//! later, if
//!
//! 1. the packet arrives downstream no earlier than that event, because `slack` is at most the propagation delay;
//! 2. the queue discipline is certain to drop no packet until then, because a drop must be reported before a window
//!    reduction is attributed to it;
//! 3. nothing observes the port during this time: there are no probes and no external packets.

use super::egress_queue::{EgressQueue, QueuedPacket};
use super::line::Line;
use crate::packets::{Carried, Packet};
use crate::queues::PassThroughEffect;
use crate::report::packets::PacketReport;
use longpipe_events::{MaybeTime, Span, Time};

/// A packet whose transmission starts.
pub(crate) struct StartedTransmission {
    pub queued: QueuedPacket,
    /// Departure time of its last bit.
    pub departure: Time,
    /// Arrival time at the end of the wire, unless the packet is lost on the wire in an outage.
    pub arrival: MaybeTime,
}

/// The port.
#[derive(Clone, Debug)]
pub(crate) struct ConstantRatePort {
    queue: EgressQueue,
    /// End of the current transmission, not counting packets that the line has transmitted with `repeat` since then.
    ends: Time,
    /// Maximum time by which the start of a transmission may be processed late.
    slack: Span,
    /// Effect, on later packets, of packets that find the port empty and idle.
    pass_through_effect: PassThroughEffect,
    /// Length [byte] of packets that may pass the idle port without a call to the discipline, if the latest of them is
    /// stored in `passed`; 0 if no packet may.
    passing_bytes: u16,
    /// The latest packet that passed the idle port without a call to the discipline.
    passed: Packet,
}

impl ConstantRatePort {
    /// Creates an idle port.
    pub fn new(queue: EgressQueue, slack: Span) -> ConstantRatePort {
        ConstantRatePort {
            pass_through_effect: queue.pass_through_effect(),
            queue,
            ends: Time::ZERO,
            slack,
            passing_bytes: 0,
            passed: Packet::default(),
        }
    }

    /// Returns whether the port may process starts of transmissions late.
    #[inline]
    pub fn may_act_late(&self) -> bool {
        self.slack.0 > 0
    }

    /// Returns the queue.
    #[inline]
    pub fn queue(&self) -> &EgressQueue {
        &self.queue
    }

    /// Returns the queue, so that its drops and marks can be collected.
    #[inline]
    pub fn queue_mut(&mut self) -> &mut EgressQueue {
        &mut self.queue
    }

    /// If the transmitter becomes free by `now`, returns the time at which it does. Departures precede simultaneous
    /// arrivals.
    #[inline]
    pub fn due(&mut self, line: &mut Line, now: Time) -> Option<Time> {
        self.count_repeated(line);
        let free = line.free();
        (self.queue.is_busy() && free <= now).then_some(free)
    }

    /// Completes the transmission that ended at `now`. Returns the packet whose transmission starts.
    #[inline]
    pub fn act(&mut self, line: &mut Line, now: Time) -> Option<StartedTransmission> {
        let queued = self.queue.depart(now)?;
        Some(self.begin(line, now, queued))
    }

    /// Processes an arrival at `now`, after all earlier departures. Returns the packet if its transmission starts at
    /// once.
    #[inline]
    pub fn arrive(
        &mut self,
        line: &mut Line,
        now: Time,
        packet: Packet,
        options: impl Carried,
    ) -> Option<StartedTransmission> {
        match self.queue.arrive(now, packet, options) {
            Some(queued) => {
                self.restart(line, now);
                Some(self.begin(line, now, queued))
            }
            None => {
                self.allow_passing(line, false);
                None
            }
        }
    }

    /// Shortcut of `pass_idle` for a packet that passes without a call to the discipline. Returns None, without any
    /// effect, for other packets.
    #[inline(always)]
    pub fn pass_again(&mut self, line: &mut Line, now: Time, packet: Packet) -> Option<Time> {
        let passes = (line.free() < now) & (self.passing_bytes == packet.bytes());
        passes.then(|| {
            self.passed = packet;
            line.repeat(now) + line.delay()
        })
    }

    /// Shortcut for a packet that finds the port empty and idle, after `pass_again`: returns its arrival time
    /// downstream. The state is then the same as if all due actions and then `arrive` had been called. Returns None if
    /// the caller must call these; some of the due actions may already have been performed. The caller keeps the
    /// packet's options, which no discipline reads.
    #[inline(always)]
    pub fn pass_idle(&mut self, line: &mut Line, now: Time, packet: Packet) -> Option<Time> {
        let free = line.free();
        if (free > now) | !self.queue.is_empty() {
            return None;
        }
        self.pass_alone(line, now, packet)
    }

    /// Part of `pass_idle` that calls the discipline.
    #[inline(never)]
    fn pass_alone(&mut self, line: &mut Line, now: Time, packet: Packet) -> Option<Time> {
        self.count_repeated(line);
        if !self.queue.pass_idle(line.free(), now, packet) {
            return None;
        }
        self.restart(line, now);
        self.ends = line.send(now, packet.bytes(), self.queue.rate());
        self.allow_passing(line, true);
        Some(self.ends + line.delay())
    }

    /// Prepares the idle line for a packet that arrives at `now`. If its last departure was at the same time, a router,
    /// but no host, discards the rounding error of that departure.
    #[inline]
    fn restart(&self, line: &mut Line, now: Time) {
        if !self.queue.is_host() {
            line.restart(now);
        }
    }

    #[inline]
    fn begin(&mut self, line: &mut Line, at: Time, queued: QueuedPacket) -> StartedTransmission {
        self.ends = line.send(at, queued.packet.bytes(), self.queue.rate());
        self.allow_passing(line, self.queue.is_empty());
        StartedTransmission {
            queued,
            departure: self.ends,
            arrival: (self.ends + line.delay()).into(),
        }
    }

    /// Determines whether the next packets may pass the port without a call to the discipline if they find the port
    /// idle and are as long as the packet in transmission. No packet may do so while others wait.
    #[inline]
    fn allow_passing(&mut self, line: &mut Line, is_empty: bool) {
        let effect = self.pass_through_effect;
        line.allow_repeat(is_empty & (effect == PassThroughEffect::Nothing));
        self.passing_bytes = if is_empty & (effect == PassThroughEffect::LatestPacket) {
            line.bytes()
        } else {
            0
        };
    }

    /// Counts the packets that the line transmitted with `repeat`, if any; each found the port empty.
    #[inline]
    fn count_repeated(&mut self, line: &mut Line) {
        if line.has_repeated() {
            self.count_some_repeated(line);
        }
    }

    #[inline(never)]
    fn count_some_repeated(&mut self, line: &mut Line) {
        self.queue.find_empty(self.ends);
        let repeated = line.take_repeated();
        self.ends = line.free();
        let latest = Time(self.ends.0 - repeated.duration);
        self.queue.count_passed(repeated, latest);
        if self.passing_bytes > 0 {
            self.queue.pass_latest(latest, self.passed);
        }
    }

    /// Returns the time of the next event: the start of a waiting packet's transmission, or later if it may be
    /// processed late.
    #[inline]
    pub fn next_event(&self, line: &Line) -> Option<Time> {
        if self.queue.is_empty() {
            return None;
        }
        let free = line.free();
        if !self.may_act_late() {
            return Some(free);
        }
        let latest = Time(free.0.saturating_add(self.slack.0));
        Some(self.queue.drops_none_before(free).clamp(free, latest))
    }

    /// Returns the counters at `now`, the end of the run. `on_wire` is the number of packets and bytes whose transmission
    /// has started but that have not arrived; a host's packets count as held until they arrive.
    pub fn report(&mut self, line: &mut Line, now: Time, on_wire: (u64, u64)) -> PacketReport {
        if let Some(at) = self.due(line, now) {
            let begun = self.act(line, at);
            debug_assert!(begun.is_none(), "an event was due");
        }
        self.queue.report_at_host(now, self.queue.backlog(), on_wire)
    }
}
