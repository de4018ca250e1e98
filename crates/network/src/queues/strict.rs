//! Strict priority: transmits from the first class that has a waiting packet.

use super::subqueues::SubqueueCounters;
use super::{AnyDisc, Backlog, Discipline, NewPort, PortState, QueueDisc, Queued};
use crate::packets::drops::DropCause;
use crate::policies::parameters::{Decides, Divides, Facts, Parameters};
use longpipe_events::Time;
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// A queue per class, each with the port's buffer; the first class with queued packets is served.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
pub struct StrictPriorityConfig {
    /// Number of classes; a flow's class is its field 'class'.
    #[field(range = "[1, 256]", default = 2)]
    pub classes: u32,
}

impl Parameters for StrictPriorityConfig {
    const FACTS: Facts = Facts::new(Decides::AtDequeue).dividing(Divides::ByClass);

    /// A scheduler chooses between queues, but if no packet ever waits, at most one queue holds a packet.
    fn is_inert_without_queue(&self) -> bool {
        true
    }

    fn classes(&self) -> Option<u32> {
        Some(self.classes)
    }
}

impl Discipline for StrictPriorityConfig {
    fn disc<T: Queued>(&self, _port: &NewPort<'_>) -> AnyDisc<T> {
        AnyDisc::Strict(Strict::new(self.classes))
    }
}

/// The queue discipline: one queue per class.
#[derive(Clone, Debug)]
pub struct Strict<T> {
    classes: Vec<Backlog<T>>,
    counters: Vec<SubqueueCounters>,
}

impl<T: Queued> Strict<T> {
    /// Creates empty queues for the given number of classes, which is at least one.
    pub fn new(classes: u32) -> Strict<T> {
        Strict {
            classes: (0..classes).map(|_| Backlog::default()).collect(),
            counters: (0..classes).map(|_| SubqueueCounters::default()).collect(),
        }
    }
}

impl<T: Queued> QueueDisc<T> for Strict<T> {
    /// Enqueues a packet in the queue of its class. Each class may fill the port's whole limit.
    fn enqueue(&mut self, port: &PortState, packet: T, mut drop: impl FnMut(T, DropCause)) -> bool {
        let (class, bytes) = (packet.class() as usize, packet.bytes());
        let counters = &mut self.counters[class];
        if port.is_full(self.classes[class].size(), bytes) {
            counters.refuse(bytes);
            drop(packet, DropCause::Overflow);
        } else {
            counters.enter(port.now, bytes);
            self.classes[class].push(packet);
        }
        false
    }

    fn dequeue(&mut self, now: Time, _drop: impl FnMut(T, DropCause)) -> Option<T> {
        let mut classes = self.classes.iter_mut().zip(&mut self.counters);
        classes.find_map(|(class, counters)| {
            let packet = class.pop()?;
            counters.leave(now, &packet);
            Some(packet)
        })
    }

    fn backlog(&self) -> (u64, u64) {
        let sums = |(packets, bytes), class: &Backlog<T>| (packets + class.len(), bytes + class.bytes());
        self.classes.iter().fold((0, 0), sums)
    }

    fn purge(&mut self, now: Time, mut drop: impl FnMut(T)) {
        for (class, counters) in self.classes.iter_mut().zip(&mut self.counters) {
            class.purge(|packet| {
                counters.lose(now, &packet, DropCause::Outage);
                drop(packet);
            });
        }
    }

    fn subqueues(&self) -> Vec<&SubqueueCounters> {
        self.counters.iter().collect()
    }
}
