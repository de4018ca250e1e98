//! A router's output port: a FIFO counted in packets or bytes, a buffer policy, a line.
//!
//! Store and forward: a packet arrives with its last bit and keeps its room until its last bit has left. A FIFO fixes
//! that instant when the packet is admitted, so departures need no events: they are settled, in order, before
//! anything else looks at the port.

use super::line::Line;
use crate::loss::Loss;
use crate::port::buffer::{Occupancy, Policy};
use crate::ring::Ring;
use crate::scenario::{BufferConfig, BufferUnit};
use longpipe_events::Time;

/// A packet held.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    /// When its last bit has left.
    departure: Time,
    bytes: u32,
    /// Its flow's number at this port.
    local: u32,
}

/// Counters of a router's port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouterCounters {
    /// Packets that entered.
    pub packets_admitted: u64,
    /// Their bytes.
    pub bytes_admitted: u64,
    /// Packets that left.
    pub packets_out: u64,
    /// Packets that found too little room.
    pub lost_overflow: u64,
    /// Packets that the policy refused.
    pub lost_refused: u64,
    /// Packets lost by force.
    pub lost_forced: u64,
    /// Bytes lost, in any way.
    pub bytes_lost: u64,
    /// Most packets ever held.
    pub peak_packets: u64,
    /// Most bytes ever held.
    pub peak_bytes: u64,
    /// Time spent by packets from arrival to departure [packet·ps].
    pub packet_time: u128,
}

/// The output port of a router.
#[derive(Clone, Debug)]
pub struct Router {
    line: Line,
    /// Packets held.
    held: u64,
    bytes_held: u64,
    /// Most packets held.
    most_packets: u64,
    /// Most bytes held.
    most_bytes: u64,
    /// The last packet held.
    last: Held,
    /// Those before it, in order of departure: a port without a queue never touches them.
    before: Ring<Held>,
    counters: RouterCounters,
    /// What it asks besides room.
    rules: Option<Box<Rules>>,
}

/// Forced losses, and a policy with the accounts it asks for.
#[derive(Clone, Debug)]
struct Rules {
    loss: Option<Box<Loss>>,
    policy: Policy,
    /// Whether X, X_i and K count bytes rather than packets.
    by_bytes: bool,
    /// X_i of every circuit.
    held_by_vc: Vec<u64>,
    /// N_a.
    active_vcs: u64,
}

impl Router {
    /// An empty port for `vcs` circuits.
    pub fn new(
        line: Line,
        buffer: Option<BufferConfig>,
        policy: Policy,
        loss: Option<Box<Loss>>,
        vcs: usize,
    ) -> Router {
        let most = |unit| match buffer {
            Some(buffer) if buffer.unit == unit => buffer.limit,
            _ => u64::MAX,
        };
        let plain = matches!(policy, Policy::TailDrop) && loss.is_none();
        let rules = Rules {
            loss,
            policy,
            by_bytes: buffer.is_some_and(|buffer| buffer.unit == BufferUnit::Bytes),
            held_by_vc: vec![0; vcs],
            active_vcs: 0,
        };
        Router {
            line,
            held: 0,
            bytes_held: 0,
            most_packets: most(BufferUnit::Packets),
            most_bytes: most(BufferUnit::Bytes),
            last: Held::default(),
            before: Ring::default(),
            counters: RouterCounters::default(),
            rules: (!plain).then(|| Box::new(rules)),
        }
    }

    /// Packets held at the last time the port was looked at.
    #[inline(always)]
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Bytes held, likewise.
    pub fn bytes_held(&self) -> u64 {
        self.bytes_held
    }

    /// Settles every departure up to `now`, which precedes whatever arrives at `now`.
    #[inline(always)]
    pub fn settle(&mut self, now: Time) {
        if self.line.free() <= now && self.rules.is_none() {
            if self.held > 1 {
                self.before.drop_before(self.before.tail());
            }
            (self.held, self.bytes_held) = (0, 0);
            return;
        }
        while let Some(&packet) = self.before.first().filter(|packet| packet.departure <= now) {
            self.before.pop();
            self.leaves(packet);
        }
        if self.held == 1 && self.last.departure <= now {
            self.leaves(self.last);
        }
    }

    #[inline(always)]
    fn leaves(&mut self, packet: Held) {
        self.held -= 1;
        self.bytes_held -= u64::from(packet.bytes);
        if let Some(rules) = &mut self.rules {
            rules.release(packet);
        }
    }

    /// A packet of the port's circuit `local` arrives after `settle`; if it enters, when it arrives downstream.
    #[inline(always)]
    pub fn on_packet(&mut self, now: Time, bytes: u32, local: u32) -> Option<Time> {
        let size = u64::from(bytes);
        if self.rules.is_some() && self.breaks_a_rule(now, size, local) {
            return None;
        }
        if self.held >= self.most_packets || self.bytes_held + size > self.most_bytes {
            self.counters.lost_overflow += 1;
            self.counters.bytes_lost += size;
            return None;
        }
        if let Some(rules) = &mut self.rules {
            rules.account(size, local);
        }
        let departure = self.line.send(now, bytes);
        if self.held > 0 {
            self.before.push(self.last);
        }
        self.last = Held {
            departure,
            bytes,
            local,
        };
        self.held += 1;
        self.bytes_held += size;
        let counters = &mut self.counters;
        counters.packets_admitted += 1;
        counters.bytes_admitted += size;
        counters.peak_packets = counters.peak_packets.max(self.held);
        counters.peak_bytes = counters.peak_bytes.max(self.bytes_held);
        counters.packet_time += u128::from((departure - now).0);
        Some(departure + self.line.delay())
    }

    #[inline(never)]
    fn breaks_a_rule(&mut self, now: Time, size: u64, local: u32) -> bool {
        let held = self.held;
        let Some(rules) = &mut self.rules else { return false };
        let lost = if rules.loss.as_mut().is_some_and(|loss| loss.loses(now)) {
            &mut self.counters.lost_forced
        } else if rules.refuses(if rules.by_bytes { self.bytes_held } else { held }, local) {
            &mut self.counters.lost_refused
        } else {
            return false;
        };
        *lost += 1;
        self.counters.bytes_lost += size;
        true
    }

    /// Counters as of `now`, the end of the run; packets still held count their waiting until now.
    pub fn counters_at(&mut self, now: Time) -> RouterCounters {
        self.settle(now);
        let mut counters = self.counters;
        counters.packets_out = counters.packets_admitted - self.held;
        for packet in self.packets() {
            counters.packet_time -= u128::from((packet.departure - now).0);
        }
        counters
    }

    /// Packets held, in order of departure.
    fn packets(&self) -> impl Iterator<Item = &Held> {
        self.before.iter().chain((self.held > 0).then_some(&self.last))
    }

    /// Whether X, X_i of every circuit, and N_a are what the packets held come to.
    pub fn accounts_agree(&self) -> bool {
        let bytes: u64 = self.packets().map(|packet| u64::from(packet.bytes)).sum();
        let by_vc = self.rules.as_ref().is_none_or(|rules| {
            let mut counted = Rules {
                held_by_vc: vec![0; rules.held_by_vc.len()],
                active_vcs: 0,
                ..(**rules).clone()
            };
            self.packets()
                .for_each(|packet| counted.account(u64::from(packet.bytes), packet.local));
            counted.held_by_vc == rules.held_by_vc && counted.active_vcs == rules.active_vcs
        });
        bytes == self.bytes_held && self.packets().count() as u64 == self.held && by_vc
    }

    /// The transmitter.
    pub fn line(&self) -> &Line {
        &self.line
    }
}

impl Rules {
    fn refuses(&self, held: u64, local: u32) -> bool {
        self.policy.refuses(Occupancy {
            held,
            vc_held: self.held_by_vc[local as usize],
            active_vcs: self.active_vcs,
        })
    }

    fn account(&mut self, bytes: u64, local: u32) {
        let size = if self.by_bytes { bytes } else { 1 };
        let held = &mut self.held_by_vc[local as usize];
        self.active_vcs += u64::from(*held == 0);
        *held += size;
    }

    fn release(&mut self, packet: Held) {
        let size = if self.by_bytes { u64::from(packet.bytes) } else { 1 };
        let held = &mut self.held_by_vc[packet.local as usize];
        *held -= size;
        self.active_vcs -= u64::from(*held == 0);
    }
}
