//! A FIFO with a policy that depends only on the occupancy: tail drop, Selective Drop or FBA.

use super::{Backlog, PortState, QueueDisc, Queued};
use crate::packets::drops::DropCause;
use crate::policies::{Occupancy, Policy};
use longpipe_events::Time;
use std::collections::BTreeMap;

/// A circuit's pass through the port: the number of its flow, and the hop of its route.
type CircuitPass = (u32, u32);

/// The queue, and its occupancy by circuit.
#[derive(Clone, Debug)]
pub struct OccupancyFifo<T> {
    policy: Policy,
    /// Whether occupancy counts bytes rather than packets.
    by_bytes: bool,
    backlog: Backlog<T>,
    /// X_i of each circuit that has waiting packets, separately for each of its passes through the port.
    waiting: BTreeMap<CircuitPass, u64>,
    /// Circuit and size of the most recently dequeued packet, which counts as held during its transmission.
    dequeued: Option<(CircuitPass, u64)>,
}

impl<T: Queued> OccupancyFifo<T> {
    /// Creates an empty queue.
    pub fn new(policy: Policy, by_bytes: bool) -> OccupancyFifo<T> {
        OccupancyFifo {
            policy,
            by_bytes,
            backlog: Backlog::default(),
            waiting: BTreeMap::new(),
            dequeued: None,
        }
    }

    /// Returns the queue if its policy is tail drop, for which the queue is the whole state.
    #[inline(always)]
    pub(super) fn tail_drop(&mut self) -> Option<&mut Backlog<T>> {
        self.policy.is_tail_drop().then_some(&mut self.backlog)
    }

    /// Returns what a packet adds to the occupancy: its bytes, or 1 packet.
    fn size(&self, packet: &T) -> u64 {
        if self.by_bytes {
            packet.bytes()
        } else {
            1
        }
    }

    /// Returns the occupancy that a packet of `circuit` finds, including the packet in transmission.
    fn occupancy(&self, port: &PortState, circuit: CircuitPass) -> Occupancy {
        let in_service = self.dequeued.filter(|_| port.in_service);
        let (packets, bytes) = self.backlog.size();
        let size_in_service = in_service.map_or(0, |(_, size)| size);
        let own_in_service = in_service
            .filter(|&(served, _)| served == circuit)
            .map_or(0, |(_, size)| size);
        let only_in_service = in_service.is_some_and(|(served, _)| !self.waiting.contains_key(&served));
        Occupancy {
            held: if self.by_bytes { bytes } else { packets } + size_in_service,
            vc_held: self.waiting.get(&circuit).copied().unwrap_or(0) + own_in_service,
            active_vcs: self.waiting.len() as u64 + u64::from(only_in_service),
        }
    }
}

impl<T: Queued> QueueDisc<T> for OccupancyFifo<T> {
    #[inline]
    fn enqueue(&mut self, port: &PortState, packet: T, mut drop: impl FnMut(T, DropCause)) -> bool {
        if self.policy.is_tail_drop() {
            // Shortcut: tail drop needs no occupancy by circuit.
            self.backlog.push_unless_full(port, packet, drop);
            return false;
        }
        let (circuit, size) = ((packet.flow(), packet.hop()), self.size(&packet));
        if self.policy.refuses(self.occupancy(port, circuit)) {
            drop(packet, DropCause::Aqm);
        } else if port.is_full(self.backlog.size(), packet.bytes()) {
            drop(packet, DropCause::Overflow);
        } else {
            *self.waiting.entry(circuit).or_default() += size;
            self.backlog.push(packet);
        }
        false
    }

    #[inline]
    fn dequeue(&mut self, _now: Time, _drop: impl FnMut(T, DropCause)) -> Option<T> {
        let packet = self.backlog.pop()?;
        if self.policy.is_tail_drop() {
            return Some(packet);
        }
        let (circuit, size) = ((packet.flow(), packet.hop()), self.size(&packet));
        if let Some(held) = self.waiting.get_mut(&circuit) {
            *held -= size;
            if *held == 0 {
                self.waiting.remove(&circuit);
            }
        }
        self.dequeued = Some((circuit, size));
        Some(packet)
    }

    fn backlog(&self) -> (u64, u64) {
        self.backlog.size()
    }

    fn purge(&mut self, _now: Time, drop: impl FnMut(T)) {
        self.waiting.clear();
        self.backlog.purge(drop);
    }
}
