//! Controlled delay (CoDel): drops packets at the head while the sojourn time stays above a target, at shrinking
//! intervals (RFC 8289).

use super::{AnyDisc, Backlog, Discipline, NewPort, PassThroughEffect, PortState, QueueDisc, Queued};
use crate::packets::drops::DropCause;
use crate::policies::parameters::{Decides, Facts, Mahimahi, Marks, Parameters};
use longpipe_events::Time;
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// Controlled delay: drops at the head, increasingly often while the delay exceeds the target (RFC 8289).
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "CoDel")]
#[described(rule("interval", "interval < target", "{interval}; needs at least the target, {target}"))]
pub struct CodelConfig {
    /// Acceptable standing queue delay [time]; RFC 8289 TARGET.
    #[field(range = "[1 us, 1000 s]", default = "5 ms")]
    pub target_ps: u64,
    /// Time for which the delay must exceed the target before the first drop [time]; RFC 8289 INTERVAL.
    #[field(range = "[1 us, 1000 s]", default = "100 ms")]
    pub interval_ps: u64,
    /// CoDel does not drop while the backlog is at most this [bytes]; RFC 8289 section 4.2.
    #[field(range = "[0 B, 1 GB]", default = "1500 B")]
    pub least_backlog_bytes: u64,
    /// Interval between drops: exact inverse square root, or the Newton steps of Linux or ns-3 in units of 1024 ns.
    #[field(default = "exact")]
    pub arithmetic: CodelArithmetic,
    /// Mark ECN-capable packets instead of dropping them; RFC 3168 section 5.
    #[field(default = false)]
    pub ecn: bool,
    /// Sojourn time above which each ECN-capable packet is marked at the head, whether or not `ecn` is set [time]; Linux
    /// ce_threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[1 us, 1000 s]", later)]
    pub ce_threshold_ps: Option<u64>,
}

/// Arithmetic of CoDel.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum CodelArithmetic {
    /// Picoseconds and exact square roots (RFC 8289 section 5).
    Exact,
    /// Units of 1024 ns, and one Newton iteration per drop for the square root, as in Linux.
    Linux,
    /// Like Linux, except that the next mark is scheduled relative to the previous one (ns-3).
    #[serde(rename = "ns-3")]
    Ns3,
}

impl Parameters for CodelConfig {
    const FACTS: Facts = Facts::new(Decides::AtDequeue)
        .marking(Marks::WithEcn)
        // mahimahi drops nothing while at most one packet of 1504 bytes is queued.
        .in_mahimahi(Mahimahi {
            name: "codel",
            arguments: &[("target", "target"), ("interval", "interval")],
            constants: &[("least_backlog", "1504 B")],
        });

    /// If no packet waits behind a packet, the backlog is at most `least_backlog_bytes`, so the target has no effect.
    fn is_inert_without_queue(&self) -> bool {
        true
    }
}

impl Discipline for CodelConfig {
    fn disc<T: Queued>(&self, _port: &NewPort<'_>) -> AnyDisc<T> {
        AnyDisc::Codel(Codel::new(self))
    }
}

/// Number of intervals after the end of a dropping state within which the next dropping state resumes the drop rate of
/// the previous one (RFC 8289 section 4.2).
const RESUMED_INTERVALS: u64 = 16;

/// The control law of CoDel; times are in ticks of CoDel's clock.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    arithmetic: CodelArithmetic,
    target: u64,
    interval: u64,
    /// Backlog [byte] up to which no packet is dropped.
    least_backlog: u64,
    ecn: bool,
    /// Sojourn time above which each ECN-capable packet is marked.
    ce_threshold: Option<u64>,
}

impl Law {
    /// Creates the configured control law.
    pub fn new(config: &CodelConfig) -> Law {
        let ticks = |ps| ticks(config.arithmetic, Time(ps));
        Law {
            arithmetic: config.arithmetic,
            target: ticks(config.target_ps),
            interval: ticks(config.interval_ps),
            least_backlog: config.least_backlog_bytes,
            ecn: config.ecn,
            ce_threshold: config.ce_threshold_ps.map(ticks),
        }
    }

    /// Marks the packet that leaves the queue if it has waited for longer than `ce_threshold` (Linux: `codel_dequeue`).
    #[inline]
    pub fn mark_late<T: Queued>(&self, now: Time, packet: &mut Option<T>) {
        if let (Some(threshold), Some(packet)) = (self.ce_threshold, packet) {
            if self.sojourn(packet.arrival(), now) > threshold && !packet.is_marked() {
                packet.mark();
            }
        }
    }

    /// Returns interval / √count. Linux's integer arithmetic uses `root`, the stored reciprocal square root.
    fn gap(&self, count: u64, root: u64) -> u64 {
        match self.arithmetic {
            CodelArithmetic::Exact => (self.interval as f64 / (count as f64).sqrt()) as u64,
            CodelArithmetic::Linux | CodelArithmetic::Ns3 => (self.interval * root) >> 16,
        }
    }

    /// Returns whether the sojourn time has been above the target for a full interval.
    #[inline]
    fn is_past(&self, now: u64, first_above: u64) -> bool {
        match self.arithmetic {
            CodelArithmetic::Exact => now >= first_above,
            CodelArithmetic::Linux | CodelArithmetic::Ns3 => now > first_above,
        }
    }

    /// Returns the sojourn time of a packet, in ticks. Linux converts the arrival and departure times to ticks and then
    /// subtracts (`codel_get_time`); ns-3 subtracts the times and converts the difference to ticks (`Time2CoDel`).
    #[inline]
    fn sojourn(&self, arrival: Time, now: Time) -> u64 {
        match self.arithmetic {
            CodelArithmetic::Exact | CodelArithmetic::Linux => {
                ticks(self.arithmetic, now) - ticks(self.arithmetic, arrival)
            }
            CodelArithmetic::Ns3 => ticks(self.arithmetic, Time((now - arrival).0)),
        }
    }

    /// Returns whether a new dropping state resumes the previous drop rate, because fewer than `RESUMED_INTERVALS`
    /// intervals have passed since the time of the next drop. If that time is still in the future, Linux's signed
    /// difference is small, but ns-3's unsigned difference is large.
    fn resumes(&self, now: u64, next: u64) -> bool {
        let recent = now.saturating_sub(next) < RESUMED_INTERVALS * self.interval;
        match self.arithmetic {
            CodelArithmetic::Exact | CodelArithmetic::Linux => recent,
            CodelArithmetic::Ns3 => recent && now >= next,
        }
    }
}

/// Converts a time to ticks, which are 1024 ns in Linux's arithmetic.
#[inline]
fn ticks(arithmetic: CodelArithmetic, time: Time) -> u64 {
    match arithmetic {
        CodelArithmetic::Exact => time.0,
        CodelArithmetic::Linux | CodelArithmetic::Ns3 => (time.0 / 1_000) >> 10,
    }
}

/// Returns the time at which a tick begins.
#[inline]
fn begin_of_tick(arithmetic: CodelArithmetic, tick: u64) -> Time {
    Time(match arithmetic {
        CodelArithmetic::Exact => tick,
        CodelArithmetic::Linux | CodelArithmetic::Ns3 => (tick << 10) * 1_000,
    })
}

/// The number 1 as a 16-bit fraction.
const ONE: u64 = 0xffff;

/// Performs a step of Newton's method towards 1/√count, root' = root (3 - count root²) / 2, with 16-bit fractions (Linux:
/// `codel_Newton_step`).
fn newton(root: u64, count: u64) -> u64 {
    let root = root << 16;
    let square = (root * root) >> 32;
    let quarter_factor = (3u64 << 32).wrapping_sub((count & 0xffff_ffff).wrapping_mul(square)) >> 2;
    (quarter_factor.wrapping_mul(root) >> 31) >> 16
}

/// A queue under CoDel.
#[derive(Clone, Debug)]
pub struct Codel<T> {
    law: Law,
    control: Control,
    backlog: Backlog<T>,
}

impl<T: Queued> Codel<T> {
    /// Creates an empty queue.
    pub fn new(config: &CodelConfig) -> Codel<T> {
        Codel {
            law: Law::new(config),
            control: Control::default(),
            backlog: Backlog::default(),
        }
    }
}

impl<T: Queued> QueueDisc<T> for Codel<T> {
    fn enqueue(&mut self, port: &PortState, packet: T, drop: impl FnMut(T, DropCause)) -> bool {
        self.backlog.push_unless_full(port, packet, drop);
        false
    }

    fn dequeue(&mut self, now: Time, mut drop: impl FnMut(T, DropCause)) -> Option<T> {
        let drop = |packet| drop(packet, DropCause::Aqm);
        let mut packet = self.control.dequeue(&self.law, now, &mut self.backlog, 0, drop);
        self.law.mark_late(now, &mut packet);
        packet
    }

    fn backlog(&self) -> (u64, u64) {
        self.backlog.size()
    }

    fn purge(&mut self, _now: Time, drop: impl FnMut(T)) {
        self.backlog.purge(drop);
    }

    fn pass_through(&mut self, _packet: &T) -> bool {
        self.control.leave_dropping();
        true
    }

    #[inline]
    fn find_empty(&mut self, _now: Time) {
        self.control.leave_dropping();
    }

    fn drops_none_before(&self, now: Time) -> Time {
        self.control.drops_none_before(&self.law, now)
    }

    fn pass_through_effect(&self) -> PassThroughEffect {
        PassThroughEffect::Nothing
    }
}

/// State of CoDel for one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Control {
    /// Tick at which the sojourn time will have been above the target for an interval (RFC 8289: `first_above_time`).
    first_above: Option<u64>,
    /// Whether the queue is in the dropping state (RFC 8289: `dropping`).
    dropping: bool,
    /// Time of the next drop [tick] (RFC 8289: `drop_next`).
    next: u64,
    /// Number of drops in the current dropping state (RFC 8289: `count`).
    count: u64,
    /// Value of `count` at the start of the current dropping state (RFC 8289: `lastcount`).
    last_count: u64,
    /// Approximation of 1/√count, in units of 2⁻¹⁶.
    root: u64,
}

impl Control {
    /// Removes and returns the next packet to transmit, if any. Packets dropped before it are passed to `dropped`.
    /// `other_bytes` is the backlog of other queues, which counts towards the minimum backlog.
    #[inline]
    pub fn dequeue<T: Queued>(
        &mut self,
        law: &Law,
        now: Time,
        backlog: &mut Backlog<T>,
        other_bytes: u64,
        dropped: impl FnMut(T),
    ) -> Option<T> {
        // Shortcut: the first packet leaves if the sojourn time has not been above the target for an interval, or if
        // the next drop is not due.
        if let Some(first) = backlog.first() {
            let bytes_behind = backlog.bytes() - first.bytes() + other_bytes;
            let too_long = self.is_too_long(law, now, first, bytes_behind);
            if !too_long || (self.dropping && ticks(law.arithmetic, now) < self.next) {
                self.dropping &= too_long;
                return backlog.pop();
            }
        }
        self.dequeue_or_drop(law, now, backlog, other_bytes, dropped)
    }

    /// Like `dequeue`, but without the shortcut.
    #[inline(never)]
    fn dequeue_or_drop<T: Queued>(
        &mut self,
        law: &Law,
        now: Time,
        backlog: &mut Backlog<T>,
        other_bytes: u64,
        mut dropped: impl FnMut(T),
    ) -> Option<T> {
        let now_tick = ticks(law.arithmetic, now);
        let (mut packet, mut too_long) = self.take(law, now, backlog, other_bytes);
        if self.dropping {
            self.dropping = too_long;
            while self.dropping && now_tick >= self.next {
                self.count += 1;
                self.root = newton(self.root, self.count);
                if law.ecn && packet.as_mut().is_some_and(Queued::mark) {
                    let previous = match law.arithmetic {
                        CodelArithmetic::Exact | CodelArithmetic::Linux => self.next,
                        CodelArithmetic::Ns3 => now_tick,
                    };
                    self.next = previous + law.gap(self.count, self.root);
                    break;
                }
                packet.map(&mut dropped);
                (packet, too_long) = self.take(law, now, backlog, other_bytes);
                self.dropping = too_long;
                if too_long {
                    self.next += law.gap(self.count, self.root);
                }
            }
        } else if too_long {
            if !(law.ecn && packet.as_mut().is_some_and(Queued::mark)) {
                packet.map(&mut dropped);
                (packet, _) = self.take(law, now, backlog, other_bytes);
            }
            self.enter_dropping(law, now_tick);
        }
        packet
    }

    /// Returns a time before which no call to `dequeue` at or after `now` drops a packet: in the dropping state, the
    /// time of the next drop; otherwise, the earliest time at which the sojourn time can have been above the target for
    /// an interval.
    #[inline]
    pub fn drops_none_before(&self, law: &Law, now: Time) -> Time {
        Control::all_drop_none_before(std::iter::once(self), law, now)
    }

    /// Like `drops_none_before`, but for one or more queues, none of which drops a packet. Returns `now` with
    /// `ce_threshold`, by which any packet may be marked.
    #[inline(always)]
    pub fn all_drop_none_before<'a>(controls: impl Iterator<Item = &'a Control>, law: &Law, now: Time) -> Time {
        if law.ce_threshold.is_some() {
            return now;
        }
        let now = ticks(law.arithmetic, now);
        let earliest = now + law.interval;
        let next_drop = |control: &Control| match control.first_above {
            None => earliest,
            Some(first_above) if control.dropping && law.is_past(now, first_above) => control.next.min(earliest),
            // A dropping state ends at the next packet.
            Some(first_above) => first_above,
        };
        // `fold` is used because a loop over chained rings takes three times as many instructions.
        let first = controls.fold(u64::MAX, |first, control| first.min(next_drop(control)));
        begin_of_tick(law.arithmetic, first)
    }

    /// Leaves the dropping state, because a packet passed without waiting or the queue is empty.
    #[inline]
    pub fn leave_dropping(&mut self) {
        (self.first_above, self.dropping) = (None, false);
    }

    /// Adds `dropped`, the number of packets that were dropped because the whole queue was full, to the drop count, so
    /// that the drop rate rises (Linux: `fq_codel_drop`).
    pub fn strengthen(&mut self, dropped: u64) {
        self.count += dropped;
    }

    /// Enters the dropping state. Resumes the previous drop rate if the last dropping state ended recently.
    fn enter_dropping(&mut self, law: &Law, now_tick: u64) {
        self.dropping = true;
        let drops_in_last_state = self.count - self.last_count;
        if drops_in_last_state > 1 && law.resumes(now_tick, self.next) {
            self.count = drops_in_last_state;
            self.root = newton(self.root, self.count);
        } else {
            (self.count, self.root) = (1, ONE);
        }
        self.last_count = self.count;
        self.next = now_tick + law.gap(self.count, self.root);
    }

    /// Removes the first packet. Also returns whether the sojourn time has been above the target for an interval (RFC
    /// 8289: `dodequeue`).
    #[inline]
    fn take<T: Queued>(
        &mut self,
        law: &Law,
        now: Time,
        backlog: &mut Backlog<T>,
        other_bytes: u64,
    ) -> (Option<T>, bool) {
        let Some(packet) = backlog.pop() else {
            self.first_above = None;
            return (None, false);
        };
        let too_long = self.is_too_long(law, now, &packet, backlog.bytes() + other_bytes);
        (Some(packet), too_long)
    }

    /// Returns whether the sojourn time has been above the target for an interval when a packet is dequeued that has
    /// `bytes_behind` bytes behind it.
    #[inline]
    fn is_too_long<T: Queued>(&mut self, law: &Law, now: Time, packet: &T, bytes_behind: u64) -> bool {
        if law.sojourn(packet.arrival(), now) < law.target || bytes_behind <= law.least_backlog {
            self.first_above = None;
            return false;
        }
        let now_tick = ticks(law.arithmetic, now);
        let first_above = *self.first_above.get_or_insert(now_tick + law.interval);
        law.is_past(now_tick, first_above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Packet(Time, u64);

    impl Queued for Packet {
        fn arrival(&self) -> Time {
            self.0
        }

        fn bytes(&self) -> u64 {
            self.1
        }

        fn is_capable(&self) -> bool {
            self.1.is_multiple_of(3)
        }

        fn mark(&mut self) -> bool {
            self.is_capable()
        }

        fn is_marked(&self) -> bool {
            false
        }
    }

    const MS: u64 = 1_000_000_000;

    proptest! {
        /// Compares packets, drops, the state and the time of the next drop with the results of `dequeue_or_drop`,
        /// which has no shortcut.
        #[test]
        fn the_shortcut_of_dequeue_changes_no_result(
            arithmetic in prop::sample::select(vec![CodelArithmetic::Exact, CodelArithmetic::Linux, CodelArithmetic::Ns3]),
            ecn: bool,
            steps in prop::collection::vec((0u64..6 * MS, 0usize..4, 0u64..1500, 0usize..3), 1..400),
        ) {
            let config = CodelConfig {
                target_ps: 5 * MS,
                interval_ps: 40 * MS,
                least_backlog_bytes: 1500,
                arithmetic,
                ecn,
                ce_threshold_ps: None,
            };
            let law = Law::new(&config);
            let (mut short, mut plain) = (Control::default(), Control::default());
            let (mut queue, mut reference) = (Backlog::default(), Backlog::default());
            let (mut now, mut none_before) = (0, Time::ZERO);
            for (gap, arrivals, bytes, departures) in steps {
                now += gap;
                for _ in 0..arrivals {
                    queue.push(Packet(Time(now), bytes));
                    reference.push(Packet(Time(now), bytes));
                }
                for _ in 0..departures {
                    let (mut drops, mut expected) = (vec![], vec![]);
                    let next = short.dequeue(&law, Time(now), &mut queue, 0, |packet| drops.push(packet));
                    let other = plain.dequeue_or_drop(&law, Time(now), &mut reference, 0, |packet| expected.push(packet));
                    prop_assert_eq!((next, &drops), (other, &expected));
                    prop_assert_eq!(format!("{short:?}"), format!("{plain:?}"));
                    prop_assert!(drops.is_empty() || Time(now) >= none_before, "{now} {none_before:?}");
                    none_before = none_before.max(short.drops_none_before(&law, Time(now)));
                }
            }
        }
    }
}
