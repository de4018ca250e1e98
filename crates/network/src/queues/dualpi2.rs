//! DualPI2: a low-latency queue for scalable congestion controllers and a classic queue, coupled by one PI controller
//! (RFC 9332).

use super::nqb::marked_nqb;
use super::protection::{QueueProtection, QueueProtectionConfig};
use super::subqueues::SubqueueCounters;
use super::{AnyDisc, Backlog, Discipline, NewPort, PortState, QueueDisc, Queued};
use crate::packets::drops::DropCause;
use crate::policies::parameters::{Decides, Divides, Facts, Marks, Parameters};
use longpipe_events::{Time, PS_PER_SECOND};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// A low-latency queue coupled to a classic queue by one PI controller (RFC 9332).
///
/// The low-latency queue takes ECT(1) and CE packets, and with 'nqb' those marked NQB (RFC 9956), and marks them with probability max(own, k p'). The classic queue
/// drops or marks with probability p'^2. When k p' reaches 1, both queues drop with probability p'^2. Decisions are
/// derandomized: probabilities are accumulated, and a packet is marked when the sum reaches 1.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "DualPI2")]
pub struct DualPi2Config {
    /// Target delay of the classic queue [time]; RFC 9332.
    #[field(range = "[1 us, 1000 s]", default = "15 ms")]
    pub target_ps: u64,
    /// Update interval of the controller [time]; RFC 9332 Tupdate.
    #[field(range = "[10 us, 1000 s]", default = "16 ms")]
    pub update_ps: u64,
    /// Gain for the delay's deviation from the target [1/s]; RFC 9332.
    #[field(range = "(0, 1e9]", default = 0.16)]
    pub alpha: f64,
    /// Gain for the change in delay [1/s]; RFC 9332.
    #[field(range = "(0, 1e9]", default = 3.2)]
    pub beta: f64,
    /// Coupling factor k; RFC 9332 section 2.1.
    #[field(range = "[1, 100]", default = 2)]
    pub coupling: f64,
    /// Native marking of the low-latency queue: ramp (RFC 9332) or step (Linux).
    #[field(default = "ramp")]
    pub marking: LowLatencyMarking,
    /// Backlog of the low-latency queue up to which there is no native marking [packets]; RFC 9332 Th_len.
    #[field(range = "[0, 1_000_000_000]", default = 1)]
    pub least_packets: u64,
    /// Scheduler of the two queues: time-shifted or weighted; RFC 9332 appendix A.1.
    #[field(default = "time-shifted")]
    pub scheduler: TwoQueues,
    /// Mark ECN-capable packets of the classic queue instead of dropping them; RFC 9332.
    #[field(default = true)]
    pub ecn: bool,
    /// The low-latency queue also takes unmarked packets with DSCP 45, which is a flow's field 'class'; RFC 9956.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[field(default = false, later)]
    pub nqb: bool,
    /// Traffic protection, which moves packets of flows that build the low-latency queue to the classic queue: off or
    /// rfc9957; RFC 9956 section 5.2.
    #[serde(default, skip_serializing_if = "QueueProtectionConfig::is_off")]
    #[field(default = "off", later)]
    pub protection: QueueProtectionConfig,
}

/// Native marking based on the delay of the low-latency queue.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LowLatencyMarking {
    /// Marks with a probability that rises linearly with the delay.
    #[described(rule("max", "max <= min", "{max}; needs more than min, {min}"))]
    Ramp {
        /// Delay up to which no packet is marked [time]; RFC 9332 appendix A.1 minTh.
        #[field(range = "[0 s, 1000 s]", default = "800 us")]
        min_ps: u64,
        /// Delay [time] at and above which every packet is marked; RFC 9332 appendix A.1, minTh + range.
        #[field(range = "[0 s, 1000 s]", default = "1200 us")]
        max_ps: u64,
    },
    /// Marks every packet whose delay reaches the threshold.
    Step {
        /// Delay at and above which packets are marked [time]; Linux sch_dualpi2.
        #[field(range = "[0 s, 1000 s]", default = "1 ms")]
        threshold_ps: u64,
    },
}

impl LowLatencyMarking {
    /// Returns the probability with which a packet is marked that has waited, or will wait, `delay_ps`.
    pub fn probability(&self, delay_ps: u64) -> f64 {
        match *self {
            LowLatencyMarking::Step { threshold_ps } => f64::from(u8::from(delay_ps >= threshold_ps)),
            LowLatencyMarking::Ramp { min_ps, max_ps } if delay_ps <= min_ps => f64::from(u8::from(delay_ps >= max_ps)),
            LowLatencyMarking::Ramp { min_ps, max_ps } => {
                ((delay_ps - min_ps) as f64 / (max_ps - min_ps) as f64).min(1.0)
            }
        }
    }
}

/// Methods by which two queues share a link.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TwoQueues {
    /// Serves in order of arrival; low-latency packets count as if they had arrived earlier by a shift.
    TimeShifted {
        /// The shift [time]; RFC 9332 appendix A.1 tshift.
        #[field(range = "[0 s, 1000 s]", default = "50 ms")]
        shift_ps: u64,
    },
    /// Guarantees the classic queue a share of the bytes while both queues are backlogged.
    #[described(name = "Shares")]
    Weighted {
        /// Share of the classic queue [fraction]; Linux (RFC 9332 suggests 1/16).
        #[field(range = "(0, 1)", default = 0.1)]
        classic: f64,
    },
}

impl DualPi2Config {
    /// Returns the native mark probability of the low-latency queue (RFC 9332 `laqm`) if its head packet has waited
    /// `delay_ps` and it holds `packets` packets, including the head.
    fn native_probability(&self, packets: u64, delay_ps: u64) -> f64 {
        if packets <= self.least_packets {
            0.0
        } else {
            self.marking.probability(delay_ps)
        }
    }
}

impl Parameters for DualPi2Config {
    const FACTS: Facts = Facts::new(Decides::AtDequeue)
        .marking(Marks::Scalable)
        .dividing(Divides::ByScalability);

    /// A packet that is alone in its queue and has no delay is not marked if the native marking of the low-latency queue
    /// does not mark it, because the base probability stays at 0.
    fn is_inert_without_queue(&self) -> bool {
        self.native_probability(1, 0) == 0.0
    }

    fn queue_names(&self) -> Vec<String> {
        vec!["low-latency".to_owned(), "classic".to_owned()]
    }

    fn update_ps(&self) -> Option<u64> {
        Some(self.update_ps)
    }
}

impl Discipline for DualPi2Config {
    fn disc<T: Queued>(&self, port: &NewPort<'_>) -> AnyDisc<T> {
        let mut disc = DualPi2::new(self);
        disc.marked_nqb = if self.nqb { marked_nqb(port) } else { Vec::new() };
        disc.protection = QueueProtection::new(&self.protection, port.rate_bps, port.circuits);
        disc.rate_bps = port.rate_bps;
        AnyDisc::DualPi2(Box::new(disc))
    }
}

/// One of the two queues, with its accumulated probability.
#[derive(Clone, Debug)]
struct SubQueue<T> {
    backlog: Backlog<T>,
    /// Accumulated probability: `count` of the RFC's function `recur`.
    count: f64,
    counters: SubqueueCounters,
}

impl<T: Queued> SubQueue<T> {
    /// Returns the sojourn time [ps] of the first packet, or zero if the queue is empty.
    fn delay(&self, now: Time) -> u64 {
        self.backlog.first().map_or(0, |first| (now - first.arrival()).0)
    }

    /// Returns true for a fraction `likelihood` of the calls, evenly spaced rather than random (RFC 9332 appendix A.1,
    /// `recur`).
    fn recurs(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let full = self.count > 1.0;
        if full {
            self.count -= 1.0;
        }
        full
    }
}

/// The two coupled queues.
#[derive(Clone, Debug)]
pub struct DualPi2<T> {
    config: DualPi2Config,
    low: SubQueue<T>,
    classic: SubQueue<T>,
    /// Base probability p'.
    base: f64,
    delay_before: u64,
    next_update: Time,
    /// Number of weighted bytes that the low-latency queue has sent beyond its share.
    credit: f64,
    /// Whether packets of each circuit are marked NQB; empty if these packets enter the classic queue.
    marked_nqb: Vec<bool>,
    protection: Option<QueueProtection>,
    rate_bps: u64,
}

impl<T: Queued> DualPi2<T> {
    /// Creates two empty queues.
    pub fn new(config: &DualPi2Config) -> DualPi2<T> {
        let side = || SubQueue {
            backlog: Backlog::default(),
            count: 0.0,
            counters: SubqueueCounters::default(),
        };
        DualPi2 {
            config: config.clone(),
            low: side(),
            classic: side(),
            base: 0.0,
            delay_before: 0,
            next_update: Time(config.update_ps),
            credit: 0.0,
            marked_nqb: Vec::new(),
            protection: None,
            rate_bps: 0,
        }
    }

    /// Returns whether a packet belongs to the low-latency queue by its codepoints.
    fn is_low_latency(&self, packet: &T) -> bool {
        packet.is_low_latency()
            || self
                .marked_nqb
                .get(packet.flow() as usize)
                .is_some_and(|&marked| marked)
    }

    /// Returns whether traffic protection moves a packet of the low-latency queue to the classic queue. The packet finds
    /// the delay that the waiting bytes need at the link's rate.
    fn moves(&mut self, now: Time, packet: &T) -> bool {
        let Some(protection) = &mut self.protection else {
            return false;
        };
        let bits = u128::from(self.low.backlog.bytes()) * 8 * u128::from(PS_PER_SECOND);
        let delay_ps = u64::try_from(bits / u128::from(self.rate_bps.max(1))).unwrap_or(u64::MAX);
        let likelihood = self.config.native_probability(self.low.backlog.len() + 1, delay_ps);
        protection.moves(now, packet.flow(), packet.bytes(), delay_ps, likelihood)
    }

    /// Returns the base probability p', the classic probability p'², and the coupled probability k p'.
    pub fn probabilities(&self) -> (f64, f64, f64) {
        (
            self.base,
            self.base * self.base,
            (self.config.coupling * self.base).min(1.0),
        )
    }

    /// Returns whether the low-latency queue is served next if both queues hold packets.
    fn low_is_first(&self, now: Time) -> bool {
        match self.config.scheduler {
            TwoQueues::TimeShifted { shift_ps } => self.low.delay(now) + shift_ps >= self.classic.delay(now),
            TwoQueues::Weighted { .. } => self.credit <= 0.0,
        }
    }

    /// Updates the scheduler's credit when a packet departs; if the other queue is empty, the credit is reset.
    fn count_turn(&mut self, low: bool, other_is_empty: bool, bytes: u64) {
        if let TwoQueues::Weighted { classic } = self.config.scheduler {
            self.credit = match (other_is_empty, low) {
                (true, _) => 0.0,
                (false, true) => self.credit + classic * bytes as f64,
                (false, false) => self.credit - (1.0 - classic) * bytes as f64,
            };
        }
    }

    /// Performs the controller's updates that are due before `now`.
    fn update_before(&mut self, now: Time) {
        while self.next_update < now {
            let due = self.next_update;
            self.next_update.0 += self.config.update_ps;
            let seconds = |ps: u64| ps as f64 / PS_PER_SECOND as f64;
            let delay = self.low.delay(due).max(self.classic.delay(due));
            let DualPi2Config { alpha, beta, .. } = self.config;
            let error = seconds(delay) - seconds(self.config.target_ps);
            let moved = self.base + alpha * error + beta * (seconds(delay) - seconds(self.delay_before));
            self.base = moved.clamp(0.0, 1.0);
            let rests = self.base == 0.0 && delay == 0 && self.delay_before == 0;
            self.delay_before = delay;
            if rests && self.low.backlog.is_empty() && self.classic.backlog.is_empty() && self.next_update < now {
                // The queues are empty and the probability is 0, so the remaining updates change nothing.
                let further_updates = (now.0 - self.next_update.0).div_ceil(self.config.update_ps);
                self.next_update.0 += further_updates * self.config.update_ps;
            }
        }
    }
}

impl<T: Queued> QueueDisc<T> for DualPi2<T> {
    /// Enqueues a packet in the low-latency queue if it carries ECT(1), CE or the NQB codepoint and is not moved, otherwise
    /// in the classic queue.
    fn enqueue(&mut self, port: &PortState, packet: T, mut drop: impl FnMut(T, DropCause)) -> bool {
        let full = port.is_full(self.backlog(), packet.bytes());
        if !full {
            self.update_before(port.now);
        }
        let low = self.is_low_latency(&packet) && !self.moves(port.now, &packet);
        let queue = if low { &mut self.low } else { &mut self.classic };
        if full {
            queue.counters.refuse(packet.bytes());
            drop(packet, DropCause::Overflow);
        } else {
            queue.counters.enter(port.now, packet.bytes());
            queue.backlog.push(packet);
        }
        false
    }

    fn dequeue(&mut self, now: Time, mut drop: impl FnMut(T, DropCause)) -> Option<T> {
        self.update_before(now);
        loop {
            let low = match (self.low.backlog.is_empty(), self.classic.backlog.is_empty()) {
                (true, true) => return None,
                (low, classic) => !low && (classic || self.low_is_first(now)),
            };
            let (_, classic, coupled) = self.probabilities();
            let overload = self.config.coupling * self.base >= 1.0;
            let native = match low {
                true => self
                    .config
                    .native_probability(self.low.backlog.len(), self.low.delay(now)),
                false => 0.0,
            };
            let (side, other) = match low {
                true => (&mut self.low, &self.classic),
                false => (&mut self.classic, &self.low),
            };
            let alone = other.backlog.is_empty();
            let mut packet = side.backlog.pop()?;
            self.count_turn(low, alone, packet.bytes());
            let side = if low { &mut self.low } else { &mut self.classic };
            let keeps = match (low, overload) {
                (true, false) => {
                    if side.recurs(native.max(coupled)) {
                        packet.mark();
                    }
                    true
                }
                // Marking is saturated: both queues drop with equal probability (appendix A.2).
                (true, true) => {
                    let signals = side.recurs(classic);
                    if !signals {
                        packet.mark();
                    }
                    !signals
                }
                (false, overload) => !side.recurs(classic) || (self.config.ecn && !overload && packet.mark()),
            };
            if keeps {
                side.counters.leave(now, &packet);
                return Some(packet);
            }
            side.counters.lose(now, &packet, DropCause::Aqm);
            drop(packet, DropCause::Aqm);
        }
    }

    fn backlog(&self) -> (u64, u64) {
        let (low, classic) = (&self.low.backlog, &self.classic.backlog);
        (low.len() + classic.len(), low.bytes() + classic.bytes())
    }

    fn purge(&mut self, now: Time, mut drop: impl FnMut(T)) {
        // Updates that are due precede the purge, so they still count the packets that it drops.
        self.update_before(now);
        for SubQueue { backlog, counters, .. } in [&mut self.low, &mut self.classic] {
            backlog.purge(|packet| {
                counters.lose(now, &packet, DropCause::Outage);
                drop(packet);
            });
        }
    }

    fn pass_through(&mut self, packet: &T) -> bool {
        let now = packet.arrival();
        self.update_before(now);
        let (_, classic, coupled) = self.probabilities();
        let (low, native) = (self.is_low_latency(packet), self.config.native_probability(1, 0));
        // The packet adds to its flow's score.
        if low && native > 0.0 && self.protection.is_some() {
            return false;
        }
        let (side, likelihood) = match low {
            true => (&mut self.low, native.max(coupled)),
            false => (&mut self.classic, classic),
        };
        // The packet would be marked or dropped, or all packets may be.
        if self.config.coupling * self.base >= 1.0 || side.count + likelihood > 1.0 {
            return false;
        }
        side.count += likelihood;
        side.counters.enter(now, packet.bytes());
        side.counters.leave(now, packet);
        self.count_turn(low, true, packet.bytes());
        true
    }

    fn subqueues(&self) -> Vec<&SubqueueCounters> {
        vec![&self.low.counters, &self.classic.counters]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    struct Packet {
        arrival: Time,
        scalable: bool,
        marked: bool,
    }

    impl Queued for Packet {
        fn arrival(&self) -> Time {
            self.arrival
        }

        fn bytes(&self) -> u64 {
            1500
        }

        fn is_low_latency(&self) -> bool {
            self.scalable
        }

        fn is_capable(&self) -> bool {
            self.scalable
        }

        fn mark(&mut self) -> bool {
            self.marked = self.scalable;
            self.scalable
        }

        fn is_marked(&self) -> bool {
            self.marked
        }
    }

    const MS: u64 = 1_000_000_000;

    /// Returns all of the state except unused slots of the queues.
    fn state(disc: &DualPi2<Packet>) -> String {
        let side = |queue: &SubQueue<Packet>| format!("{} {} {:?}", queue.backlog.len(), queue.count, queue.counters);
        let controller = (disc.base, disc.delay_before, disc.next_update, disc.credit);
        format!("{controller:?} {} {}", side(&disc.low), side(&disc.classic))
    }

    proptest! {
        /// Compares the state with that after `enqueue` and `dequeue`, for single packets between queues that raise the
        /// base probability.
        #[test]
        fn pass_through_equals_enqueue_and_dequeue(
            weighted: bool,
            steps in prop::collection::vec((0u64..40 * MS, prop_oneof![Just(1usize), 2usize..40], any::<bool>()), 1..200),
        ) {
            let scheduler = match weighted {
                true => TwoQueues::Weighted { classic: 0.1 },
                false => TwoQueues::TimeShifted { shift_ps: 50 * MS },
            };
            let config = DualPi2Config {
                target_ps: 15 * MS,
                update_ps: 16 * MS,
                alpha: 0.16,
                beta: 3.2,
                coupling: 2.0,
                marking: LowLatencyMarking::Ramp { min_ps: MS, max_ps: 2 * MS },
                least_packets: 2,
                scheduler,
                ecn: false,
                nqb: false,
                protection: QueueProtectionConfig::Off,
            };
            let (mut short, mut plain) = (DualPi2::new(&config), DualPi2::new(&config));
            let mut now = Time::ZERO;
            for (gap, packets, scalable) in steps {
                now.0 += gap;
                let port = PortState { now, room_packets: 100, room_bytes: u64::MAX, in_service: false, idle_since: None };
                let packet = Packet { arrival: now, scalable, marked: false };
                let mut lost = 0;
                if packets == 1 && short.pass_through(&packet) {
                    plain.enqueue(&port, packet, |_, _| lost += 1);
                    let sent = plain.dequeue(now, |_, _| lost += 1);
                    prop_assert!(sent.is_some_and(|sent| !sent.marked));
                } else {
                    for disc in [&mut short, &mut plain] {
                        for _ in 0..packets {
                            disc.enqueue(&port, packet, |_, _| {});
                        }
                        let mut at = now;
                        while disc.dequeue(at, |_, _| {}).is_some() {
                            at.0 += MS;
                        }
                    }
                    now.0 += packets as u64 * MS;
                }
                prop_assert_eq!(lost, 0);
                prop_assert_eq!(state(&short), state(&plain));
            }
        }
    }
}
