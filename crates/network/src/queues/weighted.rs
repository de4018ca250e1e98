//! Weighted round robin: deficit round robin over classes whose quanta are proportional to their weights. Each class
//! has its own limit.

use super::round_robin::{QueueMapping, RoundRobin};
use super::subqueues::SubqueueCounters;
use super::{AnyDisc, Discipline, NewPort, PortState, QueueDisc, Queued};
use crate::packets::drops::DropCause;
use crate::policies::parameters::{Decides, Divides, Facts, Parameters};
use longpipe_events::Time;
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// A queue per class, each with the port's buffer, served by weighted deficit round robin.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
pub struct WeightedPriorityConfig {
    /// Quanta per round of each class, as in [3, 1].
    #[field(range = "[1, 10_000]", len = "[1, 256]", default = [3, 1])]
    pub weights: Vec<u32>,
    /// Bytes per round for a weight of 1 [bytes].
    #[field(range = "[64 B, 1 GB]", default = "1514 B")]
    pub quantum_bytes: u32,
}

impl Parameters for WeightedPriorityConfig {
    const FACTS: Facts = Facts::new(Decides::AtDequeue).dividing(Divides::ByClass);

    /// A scheduler chooses between queues, but if no packet ever waits, at most one queue holds a packet.
    fn is_inert_without_queue(&self) -> bool {
        true
    }

    fn classes(&self) -> Option<u32> {
        Some(self.weights.len() as u32)
    }
}

impl Discipline for WeightedPriorityConfig {
    fn disc<T: Queued>(&self, _port: &NewPort<'_>) -> AnyDisc<T> {
        let quantum = u64::from(self.quantum_bytes);
        let quanta = self.weights.iter().map(|&weight| u64::from(weight) * quantum);
        AnyDisc::Weighted(Weighted::new(quanta))
    }
}

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
