//! What a router's port asks besides room: forced losses, and a policy with the accounts it goes by.

use crate::impairments::loss::Loss;
use crate::packets::ring::Ring;
use crate::policies::{Occupancy, Policy};
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
    /// Whether X, X_i and K count bytes rather than packets.
    by_bytes: bool,
    /// X_i of every circuit.
    held_by_vc: Vec<u64>,
    /// N_a.
    active_vcs: u64,
    /// Packets not known to have left, in order.
    packets: Ring<Held>,
}

impl Rules {
    /// For an empty port of `vcs` circuits.
    pub fn new(loss: Option<Box<Loss>>, policy: Policy, by_bytes: bool, vcs: usize) -> Rules {
        Rules {
            loss,
            policy,
            by_bytes,
            held_by_vc: vec![0; vcs],
            active_vcs: 0,
            packets: Ring::default(),
        }
    }

    /// Whether the packet that arrives at `now` is lost by force.
    pub fn loses(&mut self, now: Time) -> bool {
        self.loss.as_mut().is_some_and(|loss| loss.loses(now))
    }

    /// Whether the policy refuses a packet of circuit `local` that arrives where so much is held.
    pub fn refuses(&mut self, now: Time, held: u64, bytes_held: u64, local: u32) -> bool {
        self.settle(now);
        self.policy.refuses(Occupancy {
            held: if self.by_bytes { bytes_held } else { held },
            vc_held: self.held_by_vc[local as usize],
            active_vcs: self.active_vcs,
        })
    }

    /// A packet enters.
    pub fn admit(&mut self, departure: Time, bytes: u32, local: u32) {
        self.packets.push(Held {
            departure,
            bytes,
            local,
        });
        let size = self.size(bytes);
        let held = &mut self.held_by_vc[local as usize];
        self.active_vcs += u64::from(*held == 0);
        *held += size;
    }

    fn settle(&mut self, now: Time) {
        while let Some(&packet) = self.packets.first().filter(|packet| packet.departure <= now) {
            self.packets.pop();
            let size = self.size(packet.bytes);
            let held = &mut self.held_by_vc[packet.local as usize];
            *held -= size;
            self.active_vcs -= u64::from(*held == 0);
        }
    }

    fn size(&self, bytes: u32) -> u64 {
        if self.by_bytes {
            u64::from(bytes)
        } else {
            1
        }
    }

    /// Whether the port holds at `now` what it says, and X_i of every circuit and N_a are what that comes to.
    pub fn agree(&mut self, now: Time, held: u64, bytes_held: u64) -> bool {
        self.settle(now);
        let mut by_vc = vec![0; self.held_by_vc.len()];
        for packet in self.packets.iter() {
            by_vc[packet.local as usize] += self.size(packet.bytes);
        }
        let bytes: u64 = self.packets.iter().map(|packet| u64::from(packet.bytes)).sum();
        let active = by_vc.iter().filter(|&&held| held > 0).count() as u64;
        (self.packets.len(), bytes) == (held, bytes_held) && by_vc == self.held_by_vc && active == self.active_vcs
    }
}
