//! Rules of a router's FIFO other than its capacity: injected losses, and a buffer policy with its per-circuit
//! occupancies.

use crate::impairments::loss::Loss;
use crate::policies::aqm::Aqm;
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

/// Injected losses and a policy.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    loss: Option<Box<Loss>>,
    policy: Policy,
    aqm: Option<Box<Aqm>>,
    /// Departure time of the latest packet if it was admitted and marked, until `take_marked` returns it.
    marked: Option<Time>,
    /// Whether the occupancies X and X_i and the buffer size K are in bytes instead of packets.
    by_bytes: bool,
    /// Occupancy of each circuit, if the policy needs it.
    by_vc: Option<Box<VcOccupancies>>,
}

/// Occupancy X_i of each circuit.
#[derive(Clone, Debug)]
struct VcOccupancies {
    by_bytes: bool,
    held: Vec<u64>,
    /// Number of active circuits N_a.
    active: u64,
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
            Box::new(VcOccupancies {
                by_bytes,
                held: vec![0; vcs],
                active: 0,
                packets: Ring::default(),
            })
        });
        Rules {
            loss,
            policy,
            aqm,
            marked: None,
            by_bytes,
            by_vc,
        }
    }

    /// Returns whether an injected loss removes the packet that arrives at `now`.
    #[inline(always)]
    pub fn loses(&mut self, now: Time) -> bool {
        self.loss.as_mut().is_some_and(|loss| loss.loses(now))
    }

    /// Applies the policy to an arriving packet of circuit `local`; `held` and `bytes_held` are the occupancy that it
    /// finds.
    #[inline(always)]
    pub fn decide(&mut self, arrival: &Arrival, (held, bytes_held): (u64, u64), local: u32) -> Verdict {
        if let Some(aqm) = &mut self.aqm {
            return aqm.decide(arrival);
        }
        let held = if self.by_bytes { bytes_held } else { held };
        if self.refuses(arrival.now, held, local) {
            Verdict::Refuse
        } else {
            Verdict::Admit
        }
    }

    fn refuses(&mut self, now: Time, held: u64, local: u32) -> bool {
        let (vc_held, active_vcs) = self.by_vc.as_mut().map_or((0, 0), |by_vc| {
            by_vc.settle(now);
            (by_vc.held[local as usize], by_vc.active)
        });
        self.policy.refuses(Occupancy {
            held,
            vc_held,
            active_vcs,
        })
    }

    /// Records that an accepted packet found the buffer full.
    pub fn overflow(&mut self, now: Time) {
        if let Some(aqm) = &mut self.aqm {
            aqm.overflow(now);
        }
    }

    /// Takes the departure time of the latest packet, if it was admitted and marked.
    pub fn take_marked(&mut self) -> Option<Time> {
        self.marked.take()
    }

    /// Returns whether packets that arrive at an idle line are certain to be admitted and to leave this state
    /// unchanged, provided that the previous packet was transmitted without waiting.
    pub fn ignores_idle_arrivals(&self) -> bool {
        let aqm = self.aqm.as_ref().filter(|_| self.loss.is_none());
        aqm.is_some_and(|aqm| aqm.ignores_idle_arrivals())
    }

    /// Admits a packet whose transmission starts at `begins`, and returns its departure time. Returns None for a marked
    /// packet; `take_marked` then returns its departure time.
    #[inline(always)]
    pub fn admit(
        &mut self,
        arrival: &Arrival,
        begins: Time,
        departure: Time,
        local: u32,
        verdict: Verdict,
    ) -> Option<Time> {
        if let Some(aqm) = &mut self.aqm {
            aqm.admit(arrival, begins);
        } else if let Some(by_vc) = &mut self.by_vc {
            by_vc.hold(departure, arrival.bytes as u32, local);
        }
        if verdict == Verdict::Mark {
            self.marked = Some(departure);
            return None;
        }
        Some(departure)
    }

    /// Returns whether X_i of every circuit and N_a match the packets held at `now`.
    pub fn agree(&mut self, now: Time, held: u64, bytes_held: u64) -> bool {
        self.by_vc
            .as_mut()
            .is_none_or(|by_vc| by_vc.agree(now, held, bytes_held))
    }
}

impl VcOccupancies {
    fn hold(&mut self, departure: Time, bytes: u32, local: u32) {
        self.packets.push(ChargedPacket {
            departure,
            bytes,
            local,
        });
        let size = self.size(bytes);
        let held = &mut self.held[local as usize];
        self.active += u64::from(*held == 0);
        *held += size;
    }

    fn settle(&mut self, now: Time) {
        while let Some(&packet) = self.packets.first().filter(|packet| packet.departure <= now) {
            self.packets.pop();
            let size = self.size(packet.bytes);
            let held = &mut self.held[packet.local as usize];
            *held -= size;
            self.active -= u64::from(*held == 0);
        }
    }

    fn size(&self, bytes: u32) -> u64 {
        if self.by_bytes {
            u64::from(bytes)
        } else {
            1
        }
    }

    fn agree(&mut self, now: Time, held: u64, bytes_held: u64) -> bool {
        self.settle(now);
        let mut by_vc = vec![0; self.held.len()];
        for packet in self.packets.iter() {
            by_vc[packet.local as usize] += self.size(packet.bytes);
        }
        let bytes: u64 = self.packets.iter().map(|packet| u64::from(packet.bytes)).sum();
        let active = by_vc.iter().filter(|&&held| held > 0).count() as u64;
        (self.packets.len(), bytes) == (held, bytes_held) && by_vc == self.held && active == self.active
    }
}
