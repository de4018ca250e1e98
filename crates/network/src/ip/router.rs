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
    /// Packets that arrived.
    pub packets_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// Packets that left.
    pub packets_out: u64,
    /// Their bytes.
    pub bytes_out: u64,
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

/// Later than any departure.
const NEVER: Time = Time(u64::MAX);

/// The output port of a router.
#[derive(Clone, Debug)]
pub struct Router {
    line: Line,
    /// Most packets held.
    most_packets: u64,
    /// Most bytes held.
    most_bytes: u64,
    /// Whether X, X_i and K count bytes rather than packets.
    by_bytes: bool,
    policy: Policy,
    loss: Option<Box<Loss>>,
    /// Packets held, in order of departure.
    packets: Ring<Held>,
    bytes_held: u64,
    /// When the first one has left; `NEVER` if there is none.
    next_departure: Time,
    /// X_i of every circuit if the policy asks for it, in the buffer's unit.
    held_by_vc: Vec<u64>,
    /// N_a, likewise.
    active_vcs: u64,
    counters: RouterCounters,
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
        let accounts = !matches!(policy, Policy::TailDrop);
        Router {
            line,
            most_packets: most(BufferUnit::Packets),
            most_bytes: most(BufferUnit::Bytes),
            by_bytes: buffer.is_some_and(|buffer| buffer.unit == BufferUnit::Bytes),
            policy,
            loss,
            packets: Ring::default(),
            bytes_held: 0,
            next_departure: NEVER,
            held_by_vc: vec![0; if accounts { vcs } else { 0 }],
            active_vcs: 0,
            counters: RouterCounters::default(),
        }
    }

    /// Packets held at the last time the port was looked at.
    #[inline(always)]
    pub fn held(&self) -> u64 {
        self.packets.tail() - self.packets.head()
    }

    /// Bytes held, likewise.
    pub fn bytes_held(&self) -> u64 {
        self.bytes_held
    }

    /// Settles every departure up to `now`, which precedes whatever arrives at `now`.
    #[inline(always)]
    fn settle(&mut self, now: Time) {
        while self.next_departure <= now {
            let Some(packet) = self.packets.pop() else { break };
            self.bytes_held -= u64::from(packet.bytes);
            self.counters.bytes_out += u64::from(packet.bytes);
            if !self.held_by_vc.is_empty() {
                self.release(packet);
            }
            self.next_departure = self.packets.first().map_or(NEVER, |next| next.departure);
        }
    }

    fn release(&mut self, packet: Held) {
        let size = if self.by_bytes { u64::from(packet.bytes) } else { 1 };
        let held = &mut self.held_by_vc[packet.local as usize];
        *held -= size;
        self.active_vcs -= u64::from(*held == 0);
    }

    /// A packet of the port's circuit `local` arrives; if it enters, when it arrives downstream. `on_packet` is told
    /// how many packets it finds.
    #[inline(always)]
    pub fn on_packet(&mut self, now: Time, bytes: u32, local: u32, on_packet: impl FnOnce(u64)) -> Option<Time> {
        self.settle(now);
        let held = self.held();
        on_packet(held);
        let size = u64::from(bytes);
        self.counters.packets_in += 1;
        self.counters.bytes_in += size;
        if !self.admits(now, held, size, local) {
            return None;
        }
        self.bytes_held += size;
        self.counters.peak_packets = self.counters.peak_packets.max(held + 1);
        self.counters.peak_bytes = self.counters.peak_bytes.max(self.bytes_held);
        let departure = self.line.send(now, bytes);
        self.counters.packet_time += u128::from((departure - now).0);
        if held == 0 {
            self.next_departure = departure;
        }
        self.packets.push(Held {
            departure,
            bytes,
            local,
        });
        Some(departure + self.line.delay())
    }
    /// Whether a packet of `size` bytes enters; counts it if not.
    #[inline(always)]
    fn admits(&mut self, now: Time, held: u64, size: u64, local: u32) -> bool {
        let lost = if self.loss.as_mut().is_some_and(|loss| loss.loses(now)) {
            &mut self.counters.lost_forced
        } else if !self.held_by_vc.is_empty() && self.is_refused(local) {
            &mut self.counters.lost_refused
        } else if held >= self.most_packets || self.bytes_held + size > self.most_bytes {
            &mut self.counters.lost_overflow
        } else {
            if !self.held_by_vc.is_empty() {
                self.account(size, local);
            }
            return true;
        };
        *lost += 1;
        self.counters.bytes_lost += size;
        false
    }

    fn is_refused(&self, local: u32) -> bool {
        self.policy.refuses(Occupancy {
            held: if self.by_bytes { self.bytes_held } else { self.held() },
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

    /// Counters as of `now`, the end of the run; packets still held count their waiting until now.
    pub fn counters_at(&mut self, now: Time) -> RouterCounters {
        self.settle(now);
        let mut counters = self.counters;
        counters.packets_out = self.packets.head();
        for number in self.packets.head()..self.packets.tail() {
            counters.packet_time -= u128::from((self.packets.get(number).departure - now).0);
        }
        counters
    }

    /// Whether X_i of every circuit, and N_a, are what the packets held come to.
    pub fn accounts_agree(&self) -> bool {
        let mut by_vc = vec![0; self.held_by_vc.len()];
        let mut bytes = 0;
        for number in self.packets.head()..self.packets.tail() {
            let packet = self.packets.get(number);
            bytes += u64::from(packet.bytes);
            if let Some(held) = by_vc.get_mut(packet.local as usize) {
                *held += if self.by_bytes { u64::from(packet.bytes) } else { 1 };
            }
        }
        let active = by_vc.iter().filter(|&&held| held > 0).count() as u64;
        bytes == self.bytes_held && by_vc == self.held_by_vc && active == self.active_vcs
    }

    /// The transmitter.
    pub fn line(&self) -> &Line {
        &self.line
    }
}
