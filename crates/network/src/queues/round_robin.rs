//! Deficit round robin (Shreedhar and Varghese 1996), and stochastic fairness queueing, whose hash may change
//! periodically (McKenney 1990).

use super::{AnyDisc, Backlog, Discipline, NewPort, PortState, QueueDisc, Queued};
use crate::packets::drops::DropCause;
use crate::policies::parameters::{Decides, Facts, Parameters};
use longpipe_events::{mix, Time};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;
use std::collections::VecDeque;

/// Deficit round robin with a queue per flow; a full buffer drops the last packet of the longest queue.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "DRR")]
pub struct DrrConfig {
    /// Bytes that a queue may send per round [bytes].
    #[field(range = "[64 B, 1 GB]", default = "1514 B")]
    pub quantum_bytes: u32,
    /// Number of queues to which flows are hashed; one queue per flow if absent.
    #[field(range = "[1, 65_536]")]
    pub queues: Option<u32>,
}

/// Stochastic fair queueing by bytes: round robin over queues to which flows are hashed (McKenney 1990).
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "SFQ")]
pub struct SfqConfig {
    /// Bytes that a queue may send per round [bytes].
    #[field(range = "[64 B, 1 GB]", default = "1514 B")]
    pub quantum_bytes: u32,
    /// Number of queues to which flows are hashed; Linux sch_sfq.
    #[field(range = "[1, 65_536]", default = 1024)]
    pub queues: u32,
    /// Interval of changes of the hash [time]; queued packets stay in their queue; never if absent.
    #[field(range = "[1 us, 1000 s]")]
    pub perturb_ps: Option<u64>,
}

impl Parameters for DrrConfig {
    const FACTS: Facts = Facts::new(Decides::AtDequeue);

    /// A scheduler chooses between queues, but if no packet ever waits, at most one queue holds a packet.
    fn is_inert_without_queue(&self) -> bool {
        true
    }
}

impl Discipline for DrrConfig {
    fn disc<T: Queued>(&self, port: &NewPort<'_>) -> AnyDisc<T> {
        let (queues, mapping) = match self.queues {
            None => (port.circuits, QueueMapping::PerFlow),
            Some(queues) => {
                let (salt, perturb) = (port.random().below(u64::MAX), None);
                (queues as usize, QueueMapping::Hashed { salt, perturb })
            }
        };
        let quanta = (0..queues).map(|_| u64::from(self.quantum_bytes));
        AnyDisc::RoundRobin(RoundRobin::new(quanta, mapping))
    }
}

impl Parameters for SfqConfig {
    const FACTS: Facts = Facts::new(Decides::AtDequeue);

    /// A scheduler chooses between queues, but if no packet ever waits, at most one queue holds a packet.
    fn is_inert_without_queue(&self) -> bool {
        true
    }
}

impl Discipline for SfqConfig {
    fn disc<T: Queued>(&self, port: &NewPort<'_>) -> AnyDisc<T> {
        let quanta = (0..self.queues).map(|_| u64::from(self.quantum_bytes));
        let (salt, perturb) = (port.random().below(u64::MAX), self.perturb_ps);
        AnyDisc::RoundRobin(RoundRobin::new(quanta, QueueMapping::Hashed { salt, perturb }))
    }
}

/// Assignment of flows to queues.
#[derive(Clone, Copy, Debug)]
pub enum QueueMapping {
    /// One queue per flow.
    PerFlow,
    /// A hash selects the queue.
    Hashed {
        /// Salt of the hash.
        salt: u64,
        /// Period [ps] after which the hash changes.
        perturb: Option<u64>,
    },
}

/// A queue with its deficit counter.
#[derive(Clone, Debug)]
struct DrrQueue<T> {
    backlog: Backlog<T>,
    /// Bytes added to the deficit per turn of the round.
    quantum: u64,
    /// Deficit counter: bytes that the queue may send; 0 while it is empty.
    deficit: u64,
    /// Whether the queue has received this turn's quantum.
    served: bool,
}

/// Deficit round robin over queues, to which a hash assigns flows unless each has its own.
#[derive(Clone, Debug)]
pub struct RoundRobin<T> {
    queues: Vec<DrrQueue<T>>,
    mapping: QueueMapping,
    /// Non-empty queues, starting with the one whose turn it is.
    active: VecDeque<u32>,
    packets: u64,
    bytes: u64,
}

impl<T: Queued> RoundRobin<T> {
    /// Creates empty queues with the given positive quanta [byte].
    pub fn new(quanta: impl IntoIterator<Item = u64>, mapping: QueueMapping) -> RoundRobin<T> {
        let empty = |quantum| DrrQueue {
            backlog: Backlog::default(),
            quantum,
            deficit: 0,
            served: false,
        };
        RoundRobin {
            queues: quanta.into_iter().map(empty).collect(),
            mapping,
            active: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }

    /// Returns the number of the queue to which a flow is assigned at a given time.
    fn queue_of(&self, now: Time, flow: u32) -> u32 {
        match self.mapping {
            QueueMapping::PerFlow => flow,
            QueueMapping::Hashed { salt, perturb } => {
                let period = perturb.map_or(0, |perturb| now.0 / perturb);
                (mix(mix(salt ^ period) ^ u64::from(flow)) % self.queues.len() as u64) as u32
            }
        }
    }

    /// Appends a packet to the queue of a flow or class.
    pub fn push(&mut self, now: Time, flow: u32, packet: T) {
        let number = self.queue_of(now, flow);
        self.packets += 1;
        self.bytes += packet.bytes();
        let queue = &mut self.queues[number as usize];
        if queue.backlog.is_empty() {
            (queue.deficit, queue.served) = (0, false);
            self.active.push_back(number);
        }
        queue.backlog.push(packet);
    }

    /// Removes the last packet of the longest queue, because the limit is exceeded.
    fn shorten_longest(&mut self) -> Option<T> {
        // If several queues share the maximum length, the first of them is chosen.
        let longest = (0..self.queues.len())
            .rev()
            .max_by_key(|&number| self.queues[number].backlog.bytes())?;
        let queue = &mut self.queues[longest];
        let packet = queue.backlog.pop_last()?;
        self.packets -= 1;
        self.bytes -= packet.bytes();
        if queue.backlog.is_empty() {
            queue.deficit = 0;
            self.active.retain(|&number| number as usize != longest);
        }
        Some(packet)
    }

    /// Returns the numbers of packets and bytes of a queue.
    pub fn backlog_of(&self, queue: u32) -> (u64, u64) {
        self.queues[queue as usize].backlog.size()
    }
}

impl<T: Queued> QueueDisc<T> for RoundRobin<T> {
    fn enqueue(&mut self, port: &PortState, packet: T, mut drop: impl FnMut(T, DropCause)) -> bool {
        let full = port.is_full(self.backlog(), packet.bytes());
        self.push(port.now, packet.flow(), packet);
        if full {
            self.shorten_longest()
                .into_iter()
                .for_each(|packet| drop(packet, DropCause::Overflow));
        }
        false
    }

    fn dequeue(&mut self, _now: Time, _drop: impl FnMut(T, DropCause)) -> Option<T> {
        loop {
            let &number = self.active.front()?;
            let queue = &mut self.queues[number as usize];
            if !queue.served {
                queue.deficit += queue.quantum;
                queue.served = true;
            }
            let bytes = queue.backlog.first()?.bytes();
            if bytes > queue.deficit {
                queue.served = false;
                // A queue whose quantum is smaller than its packet needs several turns to send it.
                self.active.rotate_left(1);
                continue;
            }
            let packet = queue.backlog.pop()?;
            queue.deficit -= bytes;
            self.packets -= 1;
            self.bytes -= bytes;
            if queue.backlog.is_empty() {
                (queue.deficit, queue.served) = (0, false);
                self.active.pop_front();
            }
            return Some(packet);
        }
    }

    fn backlog(&self) -> (u64, u64) {
        (self.packets, self.bytes)
    }

    fn purge(&mut self, _now: Time, mut drop: impl FnMut(T)) {
        for number in self.active.drain(..) {
            let queue = &mut self.queues[number as usize];
            queue.backlog.purge(&mut drop);
            (queue.deficit, queue.served) = (0, false);
        }
        (self.packets, self.bytes) = (0, 0);
    }
}
