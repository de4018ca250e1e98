//! Weighted round robin: deficit round robin over classes whose quanta are proportional to their weights. Each class
//! has its own limit.

use super::round_robin::{QueueMapping, RoundRobin};
use super::subqueues::SubqueueCounters;
use super::{PortState, QueueDisc, Queued};
use crate::packets::drops::DropCause;
use longpipe_events::Time;

/// The queue discipline: one queue per class.
#[derive(Clone, Debug)]
pub struct Weighted<T> {
    classes: RoundRobin<T>,
    counters: Vec<SubqueueCounters>,
}

impl<T: Queued> Weighted<T> {
    /// Creates empty queues for classes that have the given positive quanta [byte].
    pub fn new(quanta: impl IntoIterator<Item = u64>) -> Weighted<T> {
        let quanta: Vec<u64> = quanta.into_iter().collect();
        Weighted {
            counters: quanta.iter().map(|_| SubqueueCounters::default()).collect(),
            classes: RoundRobin::new(quanta, QueueMapping::PerFlow),
        }
    }
}

impl<T: Queued> QueueDisc<T> for Weighted<T> {
    fn enqueue(&mut self, port: &PortState, packet: T, mut drop: impl FnMut(T, DropCause)) -> bool {
        let (class, bytes) = (packet.class(), packet.bytes());
        let counters = &mut self.counters[class as usize];
        if port.is_full(self.classes.backlog_of(class), bytes) {
            counters.refuse(bytes);
            drop(packet, DropCause::Overflow);
        } else {
            counters.enter(port.now, bytes);
            self.classes.push(port.now, class, packet);
        }
        false
    }

    fn dequeue(&mut self, now: Time, drop: impl FnMut(T, DropCause)) -> Option<T> {
        let packet = self.classes.dequeue(now, drop)?;
        self.counters[packet.class() as usize].leave(now, &packet);
        Some(packet)
    }

    fn backlog(&self) -> (u64, u64) {
        self.classes.backlog()
    }

    fn purge(&mut self, now: Time, mut drop: impl FnMut(T)) {
        let counters = &mut self.counters;
        self.classes.purge(now, |packet| {
            counters[packet.class() as usize].lose(now, &packet, DropCause::Outage);
            drop(packet);
        });
    }

    fn subqueues(&self) -> Vec<&SubqueueCounters> {
        self.counters.iter().collect()
    }
}
