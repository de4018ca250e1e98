//! An output port of the reference engine: a FIFO queue whose first packet is in transmission, with its counters.

mod variation;

use crate::conditioners::jitter::LinkJitter;
use crate::conditioners::{Policers, TokenCredit};
use crate::impairments::bit_errors::BitErrors;
use crate::impairments::loss::Loss;
use crate::ip::port::capacity::{counts_bytes, Capacity};
use crate::ip::port::egress_queue::Removed;
use crate::packets::drops::{DropCause, Drops};
use crate::packets::Circuit;
use crate::packets::{Options, Packet};
use crate::policies::aqm::{Admission, Aqm};
use crate::policies::{Arrival, Occupancy, Policy, Verdict};
use crate::report::packets::PacketReport;
use crate::scenario::{LinkConfig, Scenario};
use crate::time_varying::{Service, TimeVaryingLink};
use longpipe_events::memory::Growing;
use longpipe_events::{Rate, Time, PS_PER_SECOND};
use std::collections::{BTreeMap, VecDeque};
pub(super) use variation::Variation;

/// A time, including a fraction of a picosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct ExactInstant {
    /// Time, rounded down [ps].
    whole: u64,
    /// Fraction [1/rate ps] that rounding removed.
    part: u64,
}

/// A packet at a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketAtPort {
    /// Arrival time.
    pub arrival: Time,
    /// Earliest start of its transmission.
    ready: Time,
    pub packet: Packet,
    pub options: Options,
}

/// An output port of a host or of a router.
#[derive(Clone, Debug)]
pub(super) struct ReferencePort {
    host: bool,
    /// End of the run.
    end: Time,
    rate: u64,
    delay: u64,
    /// The transmitter and wire, if they vary over time.
    pub motion: Option<Variation>,
    loss: Option<Box<Loss>>,
    policers: Policers,
    /// Whether the link has any conditioners.
    is_conditioned: bool,
    /// Bit errors of the link, whether this port or a `DiscPort` feeds it.
    pub errors: Option<Box<BitErrors>>,
    /// Packets and bytes lost at the end of the link because no route continued there.
    pub no_route: (u64, u64),
    policy: Policy,
    aqm: Option<Box<Aqm>>,
    capacity: Capacity,
    /// Whether the occupancies X and X_i and the buffer size K are in bytes instead of packets.
    by_bytes: bool,
    /// Packets held by the port; the first packet is in transmission.
    queue: VecDeque<PacketAtPort>,
    bytes_held: u64,
    /// Whether the policy depends on occupancies by circuit, which take a third of the time per packet.
    by_vc: bool,
    /// Occupancies X_i that are not zero, by circuit and pass through the port; empty unless `by_vc`.
    held_by_vc: BTreeMap<(Circuit, u32), u64>,
    /// End of the last packet's transmission.
    free: ExactInstant,
    /// Latest time at which a packet left or was dropped in an outage.
    emptied: Time,
    report: PacketReport,
    /// Integral [packet·ps] of the number of packets held, up to the last change.
    packet_time: u128,
    changed: Time,
    /// Packets lost at this port, until the engine collects them.
    pub drops: Drops,
    /// Packets dropped from the queue that have not been reported yet.
    removed: Vec<Removed>,
}

impl ReferencePort {
    /// Creates the empty port that feeds a link.
    pub fn new(scenario: &Scenario, index: usize, seed: u64) -> ReferencePort {
        let link: &LinkConfig = &scenario.links[index];
        let host = scenario.is_host(link.from);
        let buffer = link.buffer;
        let policy = link
            .policy
            .buffer_policy(buffer.map_or(u64::MAX, |buffer| buffer.limit));
        ReferencePort {
            host,
            end: Time(scenario.duration_ps),
            rate: link.rate_bps,
            delay: link.delay_ps,
            motion: TimeVaryingLink::new(link, LinkJitter::among(&link.conditioners, seed, index as u64))
                .map(Variation::new),
            loss: Loss::new(&link.loss, seed, index as u64),
            is_conditioned: !link.conditioners.is_empty(),
            policers: Policers::among(&link.conditioners, Circuit::of_flows(scenario.flows.len())),
            errors: BitErrors::new(&link.loss, seed, index as u64),
            no_route: (0, 0),
            by_vc: policy.needs_vc_occupancies(),
            policy,
            aqm: link.policy.aqm(link.rate_bps, seed, index as u64),
            capacity: Capacity::new(buffer),
            by_bytes: counts_bytes(buffer),
            queue: VecDeque::new(),
            bytes_held: 0,
            held_by_vc: BTreeMap::new(),
            free: ExactInstant::default(),
            emptied: Time::ZERO,
            report: PacketReport {
                host,
                ..PacketReport::default()
            },
            packet_time: 0,
            changed: Time::ZERO,
            drops: Drops::default(),
            removed: vec![],
        }
    }

    /// Returns whether the port belongs to a host.
    pub fn is_host(&self) -> bool {
        self.host
    }

    /// Returns the number of packets marked at this port so far.
    pub fn packets_marked(&self) -> u64 {
        self.report.packets_marked
    }

    /// Returns the nominal rate of the link.
    pub fn rate(&self) -> Rate {
        Rate(self.rate)
    }

    /// Returns the occupancy X in packets.
    pub fn held(&self) -> u64 {
        self.queue.len() as u64
    }

    /// Processes a packet that arrives now and whose transmission may start at `ready`. Returns whether the packet is
    /// admitted.
    pub fn arrive(&mut self, now: Time, ready: Time, mut packet: Packet, options: Options) -> bool {
        let bytes = u64::from(packet.bytes());
        self.report.packets_in += 1;
        self.report.bytes_in += bytes;
        let (packets, room) = self.waiting(ready);
        let out = self
            .motion
            .as_mut()
            .is_some_and(|variation| variation.link.refuses(ready));
        let forced = !out && self.loss.as_mut().is_some_and(|loss| loss.loses(ready));
        let mut policed = None;
        if !out && !forced {
            match self.policers.arrive(ready, packet) {
                Ok(passed) => {
                    self.report.packets_marked += u64::from(passed.is_marked() && !packet.is_marked());
                    packet = passed;
                }
                Err(cause) => policed = Some(cause),
            }
        }
        let arrival = self.arrival(now, &packet);
        let verdict = if out || forced || policed.is_some() {
            Verdict::Refuse
        } else {
            self.decide(&arrival, &packet)
        };
        let cause = if out {
            Some(DropCause::Outage)
        } else if forced {
            Some(DropCause::InjectedLoss)
        } else if policed.is_some() {
            policed
        } else if verdict == Verdict::Refuse {
            Some(DropCause::Aqm)
        } else if !self.capacity.has_room((packets, room), bytes) {
            if let Some(aqm) = &mut self.aqm {
                aqm.overflow(now);
            }
            Some(DropCause::Overflow)
        } else {
            None
        };
        if let Some(cause) = cause {
            match &mut self.motion {
                Some(variation) if out => {
                    variation.report.lost_outage += 1;
                    self.report.bytes_lost += bytes;
                }
                _ => self.report.lose(bytes, cause),
            }
            // A host's jitter may delay the packet beyond the end of the run.
            self.drops.note(ready.min(self.end), &packet, cause);
            return false;
        }
        if verdict == Verdict::Mark {
            packet = packet.marked();
            self.report.packets_marked += 1;
        }
        if let Some(aqm) = &mut self.aqm {
            aqm.enqueue(&arrival);
        }
        self.count_time(now);
        let waiting = PacketAtPort {
            arrival: now,
            ready,
            packet,
            options,
        };
        self.queue.put(waiting);
        self.bytes_held += bytes;
        if self.by_vc {
            *self.held_by_vc.entry(circuit(&packet)).or_default() += self.size(&packet);
        }
        self.report.peak_packets = self.report.peak_packets.max(self.held());
        self.report.peak_bytes = self.report.peak_bytes.max(self.bytes_held);
        true
    }

    /// Counts a packet that has reached the end of the wire. Returns whether bit errors corrupt it.
    pub fn corrupt(&mut self, now: Time, packet: &Packet) -> bool {
        let bits = 8 * u32::from(packet.bytes());
        let corrupted = self.errors.as_mut().is_some_and(|errors| errors.corrupt(bits));
        if corrupted {
            self.drops.note(now, packet, DropCause::BitError);
        }
        corrupted
    }

    /// Counts a packet lost at the end of the wire, because no route of its flow continues from there.
    pub fn count_no_route(&mut self, packet: &Packet) {
        self.no_route.0 += 1;
        self.no_route.1 += u64::from(packet.bytes());
    }

    /// Returns the departure time of the first packet.
    pub fn next_departure(&mut self) -> Option<Time> {
        let first = self.queue.front()?;
        let service = match &mut self.motion {
            None => Service {
                begins: Time(self.free.whole).max(first.ready),
                ends: Time(self.departure(self.free, first).whole),
            },
            Some(variation) => *variation
                .service
                .insert(variation.link.serve(first.ready, first.packet.bytes())),
        };
        if let Some(aqm) = &mut self.aqm {
            aqm.begin_service(service.begins);
        }
        Some(service.ends)
    }

    /// Removes and returns the first packet, whose transmission ends at `now`; None if an outage has dropped it.
    pub fn depart(&mut self, now: Time) -> Option<PacketAtPort> {
        if let Some(variation) = &mut self.motion {
            // An outage may have dropped the packet.
            variation.last_service = variation.service.take_if(|service| service.ends == now)?;
        }
        self.count_time(now);
        let first = self.queue.pop_front()?;
        if self.motion.is_none() {
            self.free = self.departure(self.free, &first);
        }
        self.emptied = now;
        self.release(&first);
        self.report.packets_out += 1;
        self.report.bytes_out += u64::from(first.packet.bytes());
        Some(first)
    }

    /// Frees the buffer space of a packet.
    fn release(&mut self, first: &PacketAtPort) {
        let bytes = u64::from(first.packet.bytes());
        self.bytes_held -= bytes;
        if !self.by_vc {
            return;
        }
        let size = self.size(&first.packet);
        if let Some(held) = self.held_by_vc.get_mut(&circuit(&first.packet)) {
            *held -= size;
            if *held == 0 {
                self.held_by_vc.remove(&circuit(&first.packet));
            }
        }
    }

    /// Returns whether the departure times of packets are known at enqueue. They are not after conditioners, or if AQM
    /// precedes a transmitter that may vary.
    fn knows_departures(&self) -> bool {
        let behind = self.motion.is_some() || self.host;
        !self.is_conditioned && (self.aqm.is_none() || !behind)
    }

    /// Returns the arrival times and circuits of the packets of a router's port that `departures` omits, because their
    /// departures are not known or an outage will drop them.
    pub fn waiting_packets(&self, end: Time) -> Vec<(Time, Circuit)> {
        if self.host {
            return vec![];
        }
        let waiting = self.departure_times(end).filter(|(departure, _)| departure.is_none());
        waiting
            .map(|(_, waiting_packet)| (waiting_packet.arrival, waiting_packet.packet.vc()))
            .collect()
    }

    /// Returns whether packets were lost or removed since they were last taken.
    pub fn has_losses(&self) -> bool {
        !self.drops.is_empty() || !self.removed.is_empty()
    }

    /// Removes and returns the packets that an outage has dropped from a router's queue.
    pub fn take_removed(&mut self) -> Vec<Removed> {
        std::mem::take(&mut self.removed)
    }

    /// Returns the departure times of the packets held at the `end` of the run, except for packets that an outage will
    /// drop. If departures are not known at enqueue, only the packet in transmission is included.
    pub fn departures(&self, end: Time) -> impl Iterator<Item = (Time, &PacketAtPort)> {
        self.departure_times(end)
            .filter_map(|(departure, waiting)| departure.map(|time| (time, waiting)))
    }

    /// Returns all packets held at the `end` of the run with their departure times; None if the departure is not known
    /// or an outage will drop the packet.
    fn departure_times(&self, end: Time) -> impl Iterator<Item = (Option<Time>, &PacketAtPort)> {
        let count = if self.knows_departures() {
            self.queue.len()
        } else {
            usize::from(self.has_begun(end))
        };
        let mut free = self.free;
        let mut variation = self.motion.clone();
        self.queue.iter().enumerate().map(move |(place, waiting)| {
            let leaves = match &mut variation {
                _ if place >= count => None,
                Some(variation) => variation.leaves(waiting),
                None => {
                    free = self.departure(free, waiting);
                    Some(Time(free.whole))
                }
            };
            (leaves, waiting)
        })
    }

    /// Returns the packets and bytes that occupy the buffer at `now`.
    fn waiting(&self, now: Time) -> (u64, u64) {
        let first = self
            .queue
            .front()
            .filter(|_| self.motion.as_ref().is_some_and(|variation| variation.has_begun(now)));
        let bytes = first.map_or(0, |first| u64::from(first.packet.bytes()));
        (self.held() - u64::from(first.is_some()), self.bytes_held - bytes)
    }

    /// Returns `max(free, ready) + 8·L/rate`, including its fraction of a picosecond.
    fn departure(&self, free: ExactInstant, waiting: &PacketAtPort) -> ExactInstant {
        let begins = if waiting.ready.0 > free.whole {
            ExactInstant {
                whole: waiting.ready.0,
                part: 0,
            }
        } else {
            free
        };
        let lasts = 8 * u128::from(waiting.packet.bytes()) * u128::from(PS_PER_SECOND) + u128::from(begins.part);
        let rate = u128::from(self.rate);
        ExactInstant {
            whole: begins.whole + (lasts / rate) as u64,
            part: (lasts % rate) as u64,
        }
    }

    fn decide(&mut self, arrival: &Arrival, packet: &Packet) -> Verdict {
        if self.policy.refuses(self.occupancy(packet)) {
            return Verdict::Refuse;
        }
        match &mut self.aqm {
            Some(aqm) => aqm.decide(arrival),
            None => Verdict::Admit,
        }
    }

    /// Returns whether the first packet is in transmission.
    fn has_begun(&self, now: Time) -> bool {
        match &self.motion {
            None => true,
            Some(variation) => variation.service.is_some_and(|service| service.begins <= now),
        }
    }

    /// Returns the AQM's input for an arriving packet; a packet in transmission does not count as waiting.
    fn arrival(&self, now: Time, packet: &Packet) -> Arrival {
        let in_service = self.queue.front().filter(|_| self.has_begun(now));
        Arrival {
            now,
            bytes: u64::from(packet.bytes()),
            capable: packet.is_capable(),
            packets_waiting: self.held() - u64::from(in_service.is_some()),
            bytes_waiting: self.bytes_held - in_service.map_or(0, |first| u64::from(first.packet.bytes())),
            idle_since: self.queue.is_empty().then_some(self.emptied),
        }
    }

    fn occupancy(&self, packet: &Packet) -> Occupancy {
        Occupancy {
            held: if self.by_bytes { self.bytes_held } else { self.held() },
            vc_held: self.held_by_vc.get(&circuit(packet)).copied().unwrap_or(0),
            active_vcs: self.held_by_vc.len() as u64,
        }
    }

    fn size(&self, packet: &Packet) -> u64 {
        if self.by_bytes {
            u64::from(packet.bytes())
        } else {
            1
        }
    }

    fn count_time(&mut self, now: Time) {
        self.packet_time += u128::from(self.held()) * u128::from((now - self.changed).0);
        self.changed = now;
    }

    /// Returns the credits of the policers at `now`, the end of the run.
    pub fn token_credits(&self, now: Time) -> Vec<TokenCredit> {
        self.policers.credits(now, self.bytes_held).collect()
    }

    /// Returns the counters at `now`, the end of the run. A host's port also counts its packets on the wire (`on_wire`)
    /// as held.
    pub fn report(&mut self, now: Time, on_wire: (u64, u64)) -> PacketReport {
        self.count_time(now);
        let mut report = self.report;
        (report.packets_held, report.bytes_held) = (self.held(), self.bytes_held);
        if self.host {
            report.hold_on_wire(on_wire);
        } else {
            report.mean_packets = Some(self.packet_time as f64 / now.0 as f64);
        }
        report.utilization = self.rate().share_used(report.bytes_out, now);
        if let Some(variation) = &mut self.motion {
            variation.add_to_report(&mut report, now);
        }
        report
    }
}

/// Returns a packet's circuit, and the number of its pass through the port.
fn circuit(packet: &Packet) -> (Circuit, u32) {
    (packet.vc(), packet.step())
}
