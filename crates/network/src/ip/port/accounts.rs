//! What a router's port asks besides room: forced losses, and a policy with the accounts it goes by, or one that acts.

use crate::impairments::loss::Loss;
use crate::packets::ring::Ring;
use crate::policies::acting::Acting;
use crate::policies::{Arrival, Occupancy, Policy, Verdict};
use longpipe_events::Time;

/// A packet held.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    /// When its last bit has left.
    departure: Time,
    bytes: u32,
    /// Its circuit's number at this port.
    local: u32,
}

/// Forced losses and a policy.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    loss: Option<Box<Loss>>,
    policy: Policy,
    acting: Option<Box<Acting>>,
    /// When a packet leaves that was admitted and marked, until it is asked for.
    marked: Option<Time>,
    /// Whether X, X_i and K count bytes rather than packets.
    by_bytes: bool,
    /// Who holds what, where the policy goes by it.
    by_vc: Option<Box<ByVc>>,
}

/// X_i of every circuit.
#[derive(Clone, Debug)]
struct ByVc {
    by_bytes: bool,
    held: Vec<u64>,
    /// N_a.
    active: u64,
    /// Packets not known to have left, in order.
    packets: Ring<Held>,
}

impl Rules {
    /// For an empty port of `vcs` circuits.
    pub fn new(
        loss: Option<Box<Loss>>,
        (policy, acting): (Policy, Option<Box<Acting>>),
        by_bytes: bool,
        vcs: usize,
    ) -> Rules {
        let by_vc = policy.asks_for_vcs().then(|| {
            Box::new(ByVc {
                by_bytes,
                held: vec![0; vcs],
                active: 0,
                packets: Ring::default(),
            })
        });
        Rules {
            loss,
            policy,
            acting,
            marked: None,
            by_bytes,
            by_vc,
        }
    }

    /// Whether the packet that arrives at `now` is lost by force.
    #[inline(always)]
    pub fn loses(&mut self, now: Time) -> bool {
        self.loss.as_mut().is_some_and(|loss| loss.loses(now))
    }

    /// What the policy says of a packet of circuit `local` that arrives where so many packets and bytes are held.
    #[inline(always)]
    pub fn judge(&mut self, arrival: &Arrival, (held, bytes_held): (u64, u64), local: u32) -> Verdict {
        if let Some(acting) = &mut self.acting {
            return acting.judge(arrival);
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

    /// A packet that was not refused found no room.
    pub fn overflow(&mut self, now: Time) {
        if let Some(acting) = &mut self.acting {
            acting.overflow(now);
        }
    }

    /// When the packet leaves that was admitted and marked, if one just was.
    pub fn take_marked(&mut self) -> Option<Time> {
        self.marked.take()
    }

    /// Whether all packets that find the line idle enter, and change nothing that is kept here, after one that began to leave at once.
    pub fn is_calm(&self) -> bool {
        let acting = self.acting.as_ref().filter(|_| self.loss.is_none());
        acting.is_some_and(|acting| acting.is_calm())
    }

    /// A packet enters that begins to leave at `begins`; nothing if it is marked, which who sends it has to ask for.
    #[inline(always)]
    pub fn admit(
        &mut self,
        arrival: &Arrival,
        begins: Time,
        departure: Time,
        local: u32,
        verdict: Verdict,
    ) -> Option<Time> {
        if let Some(acting) = &mut self.acting {
            acting.admit(arrival, begins);
        } else if let Some(by_vc) = &mut self.by_vc {
            by_vc.hold(departure, arrival.bytes as u32, local);
        }
        if verdict == Verdict::Mark {
            self.marked = Some(departure);
            return None;
        }
        Some(departure)
    }

    /// Whether X_i of every circuit and N_a are what the packets held at `now` come to.
    pub fn agree(&mut self, now: Time, held: u64, bytes_held: u64) -> bool {
        self.by_vc
            .as_mut()
            .is_none_or(|by_vc| by_vc.agree(now, held, bytes_held))
    }
}

impl ByVc {
    fn hold(&mut self, departure: Time, bytes: u32, local: u32) {
        self.packets.push(Held {
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
