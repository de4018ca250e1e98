//! Rules of a router's FIFO other than its capacity: injected losses, and a buffer policy with its per-circuit
//! occupancies.

use super::occupancies::VcOccupancies;
use crate::impairments::loss::Loss;
use crate::policies::aqm::{Admission, Aqm};
use crate::policies::{Arrival, Occupancy, Policy, Verdict};
use longpipe_events::{Ring, Time};

/// A queued packet.
#[derive(Clone, Copy, Debug, Default)]
struct ChargedPacket {
    /// Departure time of its last bit.
    departure: Time,
    bytes: u32,
    /// Index of the circuit at this port.
    local: u32,
}

/// Rules that decide on an arriving packet: injected losses, then active queue management or a policy.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub loss: Option<Box<Loss>>,
    pub aqm: Option<Box<Aqm>>,
    /// Policy that applies if there is no active queue management.
    pub policy: OccupancyRule,
    /// Departure time of the latest packet if it was admitted and marked, until the caller takes it.
    pub marked: Option<Time>,
}

/// A policy that depends on occupancies.
#[derive(Clone, Debug)]
pub(super) struct OccupancyRule {
    policy: Policy,
    /// Whether the occupancies X and X_i and the buffer size K are in bytes instead of packets.
    by_bytes: bool,
    /// Occupancy of each circuit, if the policy needs it.
    by_vc: Option<Box<QueuedByVc>>,
}

/// Queued packets, with the occupancy of each circuit.
#[derive(Clone, Debug)]
struct QueuedByVc {
    occupancies: VcOccupancies,
    /// Packets that may still be queued, in order.
    packets: Ring<ChargedPacket>,
}

impl Rules {
    /// Creates the rules of an empty port with `vcs` circuits.
    pub fn new(
        loss: Option<Box<Loss>>,
        (policy, aqm): (Policy, Option<Box<Aqm>>),
        by_bytes: bool,
        vcs: usize,
    ) -> Rules {
        let by_vc = policy.needs_vc_occupancies().then(|| {
            Box::new(QueuedByVc {
                occupancies: VcOccupancies::new(by_bytes, vcs),
                packets: Ring::default(),
            })
        });
        Rules {
            loss,
            aqm,
            policy: OccupancyRule {
                policy,
                by_bytes,
                by_vc,
            },
            marked: None,
        }
    }

    /// Returns whether the occupancy X_i of every circuit, and the number N_a of circuits with X_i > 0, match the `held`
    /// packets of `bytes_held` bytes at `now`. Tests call it.
    pub fn agree(&mut self, now: Time, held: u64, bytes_held: u64) -> bool {
        self.policy
            .by_vc
            .as_mut()
            .is_none_or(|by_vc| by_vc.agree(now, held, bytes_held))
    }
}

impl OccupancyRule {
    /// Returns the policy for a packet of the port's circuit `local`.
    pub fn of_circuit(&mut self, local: u32) -> CircuitRule<'_> {
        CircuitRule { rule: self, local }
    }
}

/// Rule of a FIFO for one arriving packet.
pub(super) trait ArrivalRule {
    /// Decides on the packet; `held` are the packets and bytes that it finds, including the packet in transmission.
    fn decide(&mut self, arrival: &Arrival, held: (u64, u64)) -> Verdict;

    /// Records that the packet was admitted, and the times at which its transmission begins and ends.
    fn admit(&mut self, arrival: &Arrival, begins: Time, departure: Time);

    /// Records that the packet was accepted, but found the buffer full.
    fn overflow(&mut self, now: Time);

    /// Returns whether packets that arrive at an idle line are certain to be admitted and to leave this state
    /// unchanged, provided that the previous packet was transmitted without waiting.
    fn ignores_idle_arrivals(&self) -> bool;
}

impl<A: Admission> ArrivalRule for A {
    #[inline(always)]
    fn decide(&mut self, arrival: &Arrival, _held: (u64, u64)) -> Verdict {
        Admission::decide(self, arrival)
    }

    #[inline(always)]
    fn admit(&mut self, arrival: &Arrival, begins: Time, _departure: Time) {
        Admission::admit(self, arrival, begins);
    }

    #[inline(always)]
    fn overflow(&mut self, now: Time) {
        Admission::overflow(self, now);
    }

    #[inline(always)]
    fn ignores_idle_arrivals(&self) -> bool {
        Admission::ignores_idle_arrivals(self)
    }
}

/// A policy that depends on occupancies, for one packet of a circuit.
pub(super) struct CircuitRule<'a> {
    rule: &'a mut OccupancyRule,
    local: u32,
}

impl ArrivalRule for CircuitRule<'_> {
    fn decide(&mut self, arrival: &Arrival, (held, bytes_held): (u64, u64)) -> Verdict {
        let OccupancyRule {
            policy,
            by_bytes,
            by_vc,
        } = &mut *self.rule;
        let (vc_held, active_vcs) = by_vc.as_mut().map_or((0, 0), |by_vc| {
            by_vc.settle(arrival.now);
            (by_vc.occupancies.of(self.local), by_vc.occupancies.active)
        });
        let refuses = policy.refuses(Occupancy {
            held: if *by_bytes { bytes_held } else { held },
            vc_held,
            active_vcs,
        });
        if refuses {
            Verdict::Refuse
        } else {
            Verdict::Admit
        }
    }

    fn admit(&mut self, arrival: &Arrival, _begins: Time, departure: Time) {
        if let Some(by_vc) = &mut self.rule.by_vc {
            by_vc.hold(departure, arrival.bytes as u32, self.local);
        }
    }

    fn overflow(&mut self, _now: Time) {}

    fn ignores_idle_arrivals(&self) -> bool {
        false
    }
}

impl QueuedByVc {
    /// Adds a packet of circuit `local`, whose last bit departs at `departure`.
    fn hold(&mut self, departure: Time, bytes: u32, local: u32) {
        self.packets.push(ChargedPacket {
            departure,
            bytes,
            local,
        });
        self.occupancies.add(local, bytes);
    }

    /// Removes the packets that have departed by `now`.
    fn settle(&mut self, now: Time) {
        while let Some(&packet) = self.packets.first().filter(|packet| packet.departure <= now) {
            self.packets.pop();
            self.occupancies.remove(packet.local, packet.bytes);
        }
    }

    fn agree(&mut self, now: Time, held: u64, bytes_held: u64) -> bool {
        self.settle(now);
        let bytes: u64 = self.packets.iter().map(|packet| u64::from(packet.bytes)).sum();
        let packets = self.packets.iter().map(|packet| (packet.local, packet.bytes));
        (self.packets.len(), bytes) == (held, bytes_held) && self.occupancies.agree(packets)
    }
}
