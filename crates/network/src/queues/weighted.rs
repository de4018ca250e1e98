//! Weighted round robin: deficit round robin over classes whose quanta are proportional to their weights. Each class
//! has its own limit.

use super::round_robin::{QueueMapping, RoundRobin};
use super::{PortState, QueueDisc, Queued};
use crate::drops::DropCause;
use longpipe_events::Time;

/// The queue discipline: one queue per class.
#[derive(Clone, Debug)]
pub struct Weighted<T>(RoundRobin<T>);

impl<T: Queued> Weighted<T> {
    /// Creates empty queues for classes that have the given positive quanta [byte].
    pub fn new(quanta: impl IntoIterator<Item = u64>) -> Weighted<T> {
        Weighted(RoundRobin::new(quanta, QueueMapping::PerFlow))
    }
}

impl<T: Queued> QueueDisc<T> for Weighted<T> {
    fn enqueue(&mut self, port: &PortState, packet: T, mut drop: impl FnMut(T, DropCause)) -> bool {
        let class = packet.class();
        if port.is_full(self.0.backlog_of(class), packet.bytes()) {
            drop(packet, DropCause::Overflow);
        } else {
            self.0.push(port.now, class, packet);
        }
        false
    }

    fn dequeue(&mut self, now: Time, drop: impl FnMut(T, DropCause)) -> Option<T> {
        self.0.dequeue(now, drop)
    }

    fn backlog(&self) -> (u64, u64) {
        self.0.backlog()
    }

    fn purge(&mut self, now: Time, drop: impl FnMut(T)) {
        self.0.purge(now, drop);
    }
}
