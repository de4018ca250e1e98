//! Random early detection for ATM: it uses the average number of cells of a port or of a VC, and decides once per
//! frame, at the frame's first cell.

use crate::packets::aal5::{frame_cells, CELL_BITS};
use crate::policies::aqm::AtEnqueue;
use crate::policies::red::Red;
use crate::policies::{Arrival, Occupancy, Verdict};
use crate::scenario::{LinkConfig, PolicyConfig};
use longpipe_events::{Stream, Time};

/// RED at a port that carries cells.
#[derive(Clone, Debug)]
pub struct RedOfFrames {
    /// One state for all VCs, or one per VC.
    queues: Vec<Queue>,
    stream: Stream,
}

#[derive(Clone, Debug)]
struct Queue {
    red: Red,
    /// Departure time of the last cell, if the queue is empty.
    emptied: Time,
}

impl RedOfFrames {
    /// Creates RED for a link's port with `vcs` circuits; None if the port has another policy.
    pub fn new(link: &LinkConfig, seed: u64, index: u64, vcs: usize) -> Option<Box<RedOfFrames>> {
        let PolicyConfig::Red(red) = &link.policy else {
            return None;
        };
        let bits = u64::from(frame_cells(red.mean_packet_bytes)) * CELL_BITS;
        let queue = Queue {
            red: Red::of_bits(red, bits, link.rate_bps),
            emptied: Time::ZERO,
        };
        Some(Box::new(RedOfFrames {
            queues: vec![queue; if red.per_vc { vcs } else { 1 }],
            stream: Stream::new(seed, "policy", index),
        }))
    }

    /// Returns whether a frame of the port's VC `local` is rejected.
    pub fn refuses(&mut self, now: Time, local: u32, occupancy: Occupancy) -> bool {
        let (number, held) = match self.queues.len() {
            1 => (0, occupancy.held),
            _ => (local as usize, occupancy.vc_held),
        };
        let Queue { red, emptied } = &mut self.queues[number];
        let arrival = Arrival {
            now,
            packets_waiting: held,
            idle_since: (held == 0).then_some(*emptied),
            ..Arrival::default()
        };
        red.decide(&arrival, || self.stream.fraction()) != Verdict::Admit
    }

    /// Records that the last cell of VC `local` left at time `at`.
    pub fn emptied(&mut self, local: u32, at: Time) {
        let number = if self.queues.len() > 1 { local as usize } else { 0 };
        self.queues[number].emptied = at;
    }
}
