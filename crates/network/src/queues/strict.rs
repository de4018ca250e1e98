//! Strict priority: transmits from the first class that has a waiting packet.

use super::{Backlog, PortState, QueueDisc, Queued};
use crate::drops::DropCause;
use longpipe_events::Time;

/// The queue discipline: one queue per class.
#[derive(Clone, Debug)]
pub struct Strict<T> {
    classes: Vec<Backlog<T>>,
}

impl<T: Queued> Strict<T> {
    /// Creates empty queues for the given number of classes, which is at least one.
    pub fn new(classes: u32) -> Strict<T> {
        Strict {
            classes: (0..classes).map(|_| Backlog::default()).collect(),
        }
    }
}

impl<T: Queued> QueueDisc<T> for Strict<T> {
    /// Enqueues a packet in the queue of its class. Each class may fill the port's whole limit.
    fn enqueue(&mut self, port: &PortState, packet: T, drop: impl FnMut(T, DropCause)) -> bool {
        self.classes[packet.class() as usize].push_unless_full(port, packet, drop);
        false
    }

    fn dequeue(&mut self, _now: Time, _drop: impl FnMut(T, DropCause)) -> Option<T> {
        self.classes.iter_mut().find_map(Backlog::pop)
    }

    fn backlog(&self) -> (u64, u64) {
        let sums = |(packets, bytes), class: &Backlog<T>| (packets + class.len(), bytes + class.bytes());
        self.classes.iter().fold((0, 0), sums)
    }

    fn purge(&mut self, _now: Time, mut drop: impl FnMut(T)) {
        self.classes.iter_mut().for_each(|class| class.purge(&mut drop));
    }
}
