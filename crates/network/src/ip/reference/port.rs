//! An output port in the open: a queue of packets, one of them in service, counted as they come and go.

mod moves;

use crate::conditioners::jitter::Jitter;
use crate::conditioners::Policers;
use crate::drops::{DropCause, Drops};
use crate::impairments::bit_errors::BitErrors;
use crate::impairments::loss::Loss;
use crate::ip::port::line::share_used;
use crate::ip::report::PacketReport;
use crate::motion::{Motion, Service};
use crate::packets::Circuit;
use crate::packets::{Options, Packet};
use crate::policies::acting::Acting;
use crate::policies::{Arrival, Occupancy, Policy, Verdict};
use crate::scenario::{BufferUnit, LinkConfig, NodeKind, Scenario};
use longpipe_events::memory::Growing;
use longpipe_events::{Rate, Time, PS_PER_SECOND};
pub(super) use moves::Moves;
use std::collections::{BTreeMap, VecDeque};

/// An instant and a fraction of a picosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Exact {
    /// Rounded down [ps].
    whole: u64,
    /// The rest [1/rate ps].
    part: u64,
}

/// A packet at a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// When it came.
    pub arrival: Time,
    /// When it may leave at the earliest.
    ready: Time,
    pub packet: Packet,
    pub options: Options,
}

/// An output port of a host or of a router.
#[derive(Clone, Debug)]
pub(super) struct Port {
    host: bool,
    /// Of the run.
    end: Time,
    rate: u64,
    delay: u64,
    /// The transmitter and wire, if they vary over time.
    pub motion: Option<Moves>,
    loss: Option<Box<Loss>>,
    policers: Policers,
    /// Whether the link has conditioners, of any kind.
    is_conditioned: bool,
    /// Of the link, whatever feeds it.
    pub errors: Option<Box<BitErrors>>,
    /// Packets and bytes that came to the end of the link, from which no route led on.
    pub strays: (u64, u64),
    policy: Policy,
    acting: Option<Box<Acting>>,
    most_packets: u64,
    most_bytes: u64,
    /// Whether X, X_i and K count bytes rather than packets.
    by_bytes: bool,
    /// The first one is in service.
    queue: VecDeque<Waiting>,
    bytes_held: u64,
    /// X_i of each circuit at each of its passes that has any.
    held_by_vc: BTreeMap<(Circuit, u32), u64>,
    /// When the last packet has left.
    free: Exact,
    /// When a packet last left or was dropped in an outage.
    emptied: Time,
    report: PacketReport,
    /// Packets held, summed over time until the last change [packet·ps].
    packet_time: u128,
    changed: Time,
    /// Packets lost here that the engine has yet to take.
    pub drops: Drops,
}

impl Port {
    /// An empty port at the beginning of a link.
    pub fn new(scenario: &Scenario, index: usize, seed: u64) -> Port {
        let link: &LinkConfig = &scenario.links[index];
        let host = scenario.nodes[link.from].kind == NodeKind::Host;
        let buffer = link.buffer;
        let most = |unit| {
            buffer
                .filter(|buffer| buffer.unit == unit)
                .map_or(u64::MAX, |buffer| buffer.limit)
        };
        Port {
            host,
            end: Time(scenario.duration_ps),
            rate: link.rate_bps,
            delay: link.delay_ps,
            motion: Motion::new(link, Jitter::among(&link.conditioners, seed, index as u64)).map(Moves::new),
            loss: Loss::new(&link.loss, seed, index as u64),
            is_conditioned: !link.conditioners.is_empty(),
            policers: Policers::among(&link.conditioners, Circuit::of_flows(scenario.flows.len())),
            errors: BitErrors::new(&link.loss, seed, index as u64),
            strays: (0, 0),
            policy: Policy::new(&link.policy, buffer.map_or(u64::MAX, |buffer| buffer.limit)),
            acting: Acting::new(&link.policy, link.rate_bps, seed, index as u64),
            most_packets: most(BufferUnit::Packets),
            most_bytes: most(BufferUnit::Bytes),
            by_bytes: buffer.is_some_and(|buffer| buffer.unit == BufferUnit::Bytes),
            queue: VecDeque::new(),
            bytes_held: 0,
            held_by_vc: BTreeMap::new(),
            free: Exact::default(),
            emptied: Time::ZERO,
            report: PacketReport {
                host,
                ..PacketReport::default()
            },
            packet_time: 0,
            changed: Time::ZERO,
            drops: Drops::default(),
        }
    }

    /// Whether a host owns it.
    pub fn is_host(&self) -> bool {
        self.host
    }

    /// Packets marked here so far.
    pub fn packets_marked(&self) -> u64 {
        self.report.packets_marked
    }

    /// Of its line.
    pub fn rate(&self) -> Rate {
        Rate(self.rate)
    }

    /// X in packets.
    pub fn held(&self) -> u64 {
        self.queue.len() as u64
    }

    /// A packet comes that may leave from `ready` on; whether it enters.
    pub fn arrive(&mut self, now: Time, ready: Time, mut packet: Packet, options: Options) -> bool {
        let bytes = u64::from(packet.bytes());
        self.report.packets_in += 1;
        self.report.bytes_in += bytes;
        let (packets, room) = self.waiting(ready);
        let out = self.motion.as_mut().is_some_and(|moves| moves.motion.refuses(ready));
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
            self.judge(&arrival, &packet)
        };
        let cause = if out {
            Some(DropCause::Outage)
        } else if forced {
            Some(DropCause::InjectedLoss)
        } else if policed.is_some() {
            policed
        } else if verdict == Verdict::Refuse {
            Some(DropCause::Aqm)
        } else if packets >= self.most_packets || room + bytes > self.most_bytes {
            if let Some(acting) = &mut self.acting {
                acting.overflow(now);
            }
            Some(DropCause::Overflow)
        } else {
            None
        };
        if let Some(cause) = cause {
            self.count_lost(cause);
            self.report.bytes_lost += bytes;
            // A host's jitter may go beyond the end of the run.
            self.drops.note(ready.min(self.end), &packet, cause);
            return false;
        }
        if verdict == Verdict::Mark {
            packet = packet.marked();
            self.report.packets_marked += 1;
        }
        if let Some(acting) = &mut self.acting {
            acting.enqueue(&arrival);
        }
        self.count_time(now);
        let waiting = Waiting {
            arrival: now,
            ready,
            packet,
            options,
        };
        self.queue.put(waiting);
        self.bytes_held += bytes;
        *self.held_by_vc.entry(circuit(&packet)).or_default() += self.size(&packet);
        self.report.peak_packets = self.report.peak_packets.max(self.held());
        self.report.peak_bytes = self.report.peak_bytes.max(self.bytes_held);
        true
    }

    fn count_lost(&mut self, cause: DropCause) {
        match cause {
            DropCause::Outage => {
                if let Some(moves) = &mut self.motion {
                    moves.report.lost_outage += 1;
                }
            }
            DropCause::InjectedLoss => self.report.lost_forced += 1,
            DropCause::Overflow => self.report.lost_overflow += 1,
            DropCause::Policer => self.report.lost_policer += 1,
            _ => self.report.lost_refused += 1,
        }
    }

    /// A packet that left has come to the end of the wire; true if bit errors spoil it.
    pub fn spoil(&mut self, now: Time, packet: &Packet) -> bool {
        let bits = 8 * u32::from(packet.bytes());
        let spoilt = self.errors.as_mut().is_some_and(|errors| errors.spoil(bits));
        if spoilt {
            self.drops.note(now, packet, DropCause::BitError);
        }
        spoilt
    }

    /// A packet that left has come to the end of the wire, from which no route of its flow leads on.
    pub fn lose_stray(&mut self, packet: &Packet) {
        self.strays.0 += 1;
        self.strays.1 += u64::from(packet.bytes());
    }

    /// When the packet in service will have left.
    pub fn next_departure(&mut self) -> Option<Time> {
        let first = self.queue.front()?;
        let service = match &mut self.motion {
            None => Service {
                begins: Time(self.free.whole).max(first.ready),
                ends: Time(self.departure(self.free, first).whole),
            },
            Some(moves) => *moves
                .service
                .insert(moves.motion.serve(first.ready, first.packet.bytes())),
        };
        if let Some(acting) = &mut self.acting {
            acting.begin_service(service.begins);
        }
        Some(service.ends)
    }

    /// The packet in service has left.
    pub fn depart(&mut self, now: Time) -> Option<Waiting> {
        if let Some(moves) = &mut self.motion {
            // An outage may have dropped it.
            moves.left = moves.service.take_if(|service| service.ends == now)?;
        }
        self.count_time(now);
        let first = self.queue.pop_front()?;
        if self.motion.is_none() {
            self.free = self.departure(self.free, &first);
        }
        self.emptied = now;
        self.let_go(&first);
        self.report.packets_out += 1;
        self.report.bytes_out += u64::from(first.packet.bytes());
        Some(first)
    }

    /// A packet is no longer held.
    fn let_go(&mut self, first: &Waiting) {
        let bytes = u64::from(first.packet.bytes());
        self.bytes_held -= bytes;
        let size = self.size(&first.packet);
        if let Some(held) = self.held_by_vc.get_mut(&circuit(&first.packet)) {
            *held -= size;
            if *held == 0 {
                self.held_by_vc.remove(&circuit(&first.packet));
            }
        }
    }

    /// When packets held at `end` of the run will have left, except for those that an outage will drop: all packets of a FIFO whose
    /// departures are certain at enqueue, and only the packet in transmission behind conditioners or where AQM is in front of a transmitter
    /// that may vary.
    pub fn departures(&self, end: Time) -> impl Iterator<Item = (Time, &Waiting)> {
        let behind = self.motion.is_some() || self.host;
        let certain = !self.is_conditioned && (self.acting.is_none() || !behind);
        let count = if certain {
            self.queue.len()
        } else {
            usize::from(self.has_begun(end))
        };
        let mut free = self.free;
        let mut moves = self.motion.clone();
        self.queue.iter().take(count).filter_map(move |waiting| {
            let leaves = match &mut moves {
                Some(moves) => moves.leaves(waiting),
                None => {
                    free = self.departure(free, waiting);
                    Some(Time(free.whole))
                }
            };
            leaves.map(|time| (time, waiting))
        })
    }

    /// Packets and bytes that take room at `now`.
    fn waiting(&self, now: Time) -> (u64, u64) {
        let first = self
            .queue
            .front()
            .filter(|_| self.motion.as_ref().is_some_and(|moves| moves.has_begun(now)));
        let bytes = first.map_or(0, |first| u64::from(first.packet.bytes()));
        (self.held() - u64::from(first.is_some()), self.bytes_held - bytes)
    }

    /// `max(free, ready) + 8·L/rate`, to the fraction.
    fn departure(&self, free: Exact, waiting: &Waiting) -> Exact {
        let begins = if waiting.ready.0 > free.whole {
            Exact {
                whole: waiting.ready.0,
                part: 0,
            }
        } else {
            free
        };
        let lasts = 8 * u128::from(waiting.packet.bytes()) * u128::from(PS_PER_SECOND) + u128::from(begins.part);
        let rate = u128::from(self.rate);
        Exact {
            whole: begins.whole + (lasts / rate) as u64,
            part: (lasts % rate) as u64,
        }
    }

    fn judge(&mut self, arrival: &Arrival, packet: &Packet) -> Verdict {
        if self.policy.refuses(self.occupancy(packet)) {
            return Verdict::Refuse;
        }
        match &mut self.acting {
            Some(acting) => acting.judge(arrival),
            None => Verdict::Admit,
        }
    }

    /// Whether the first packet is in transmission.
    fn has_begun(&self, now: Time) -> bool {
        match &self.motion {
            None => true,
            Some(moves) => moves.service.is_some_and(|service| service.begins <= now),
        }
    }

    /// The arrival of a packet as AQM sees it: a packet that is in transmission does not wait.
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

    /// What it counted, as of `now`, the end of the run; a host's packets are its own until they arrive, `on_wire` too.
    pub fn report(&mut self, now: Time, on_wire: (u64, u64)) -> PacketReport {
        self.count_time(now);
        let mut report = self.report;
        (report.packets_held, report.bytes_held) = (self.held(), self.bytes_held);
        if self.host {
            report.packets_held += on_wire.0;
            report.bytes_held += on_wire.1;
            report.packets_out -= on_wire.0;
            report.bytes_out -= on_wire.1;
            (report.peak_packets, report.peak_bytes) = (0, 0);
        } else {
            report.mean_packets = Some(self.packet_time as f64 / now.0 as f64);
        }
        report.utilization = share_used(self.rate(), report.bytes_out, now);
        if let Some(moves) = &mut self.motion {
            moves.tell(&mut report, now);
        }
        report
    }
}

/// A circuit at one of its passes through a port.
fn circuit(packet: &Packet) -> (Circuit, u32) {
    (packet.vc(), packet.step())
}
