//! A tin of CAKE: 8-way set-associative queues of flows with COBALT, served in deficit round robin with precedence for
//! sparse flows, following the rules of Linux's `sch_cake.c`. Times are whole nanoseconds.
//!
//! The queues are in three lists: new queues, old queues, and empty queues whose COBALT state has not decayed yet.

use super::cobalt::{Cobalt, CobaltParams};
use super::subqueues::SubqueueCounters;
use super::{Backlog, Queued};
use longpipe_events::Stream;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// Number of queues in a tin, and number of entries in each of its host tables.
const QUEUES: usize = 1024;
/// Associativity: number of queues or hosts in the set that a hash selects.
const WAYS: usize = 8;
/// Length [byte] of a full packet including its Ethernet header, from which times and quanta are computed.
const MTU_BYTES: u64 = 1514;
const MIN_QUANTUM: u64 = 300;
const MIN_BYTES_PER_SECOND: u64 = 64;
const NS_PER_SECOND: u64 = 1_000_000_000;
/// Ratio of the round-trip time to the target.
const RTTS_PER_TARGET: i64 = 20;

/// Conversion of lengths to transmission times at a given rate.
#[derive(Clone, Copy, Debug)]
pub struct LineTime {
    /// Nanoseconds per byte, times 2 to the power of `shift`.
    per_byte: u64,
    shift: u32,
}

impl LineTime {
    /// Creates the conversion for a rate [byte/s].
    pub fn new(bytes_per_second: u64) -> LineTime {
        let (mut per_byte, mut shift) = ((NS_PER_SECOND << 34) / bytes_per_second.max(MIN_BYTES_PER_SECOND), 34);
        while per_byte >> 34 > 0 {
            per_byte >>= 1;
            shift -= 1;
        }
        LineTime { per_byte, shift }
    }

    /// Returns the transmission time [ns].
    pub fn of(self, bytes: u64) -> i64 {
        ((bytes * self.per_byte) >> self.shift) as i64
    }
}

/// Position of a queue in the lists of its tin.
#[derive(Clone, Copy, Debug, PartialEq)]
enum FlowState {
    /// In no list.
    Idle,
    /// The queue is new, or has been served without using up its first quantum.
    Sparse,
    /// The queue is empty, and has used up a quantum.
    SparseWait,
    Bulk,
    /// The queue is empty, and its COBALT state has not decayed yet.
    Decaying,
}

/// A queue.
#[derive(Clone, Debug)]
pub struct CakeFlow<T> {
    /// Packets of the queue.
    pub backlog: Backlog<T>,
    /// State of its queue management.
    pub cobalt: Cobalt,
    /// Hash of the flow that most recently used the queue.
    tag: u32,
    /// Entries of the sending and the receiving host in the host tables.
    hosts: [usize; 2],
    /// Bytes that the queue may send in this turn.
    pub deficit: i64,
    state: FlowState,
}

/// A host with bulk flows.
#[derive(Clone, Copy, Debug, Default)]
struct CakeHost {
    tag: u32,
    bulk_flows: u32,
}

/// The lists of a tin, in their order of precedence after the first pass.
#[derive(Clone, Copy, Debug)]
pub enum FlowList {
    /// Queues that have become active and are in their first turn.
    New,
    /// Queues that have used up a quantum.
    Old,
    /// Empty queues whose COBALT state has not decayed yet.
    Decaying,
}

/// A tin's share of the link, which depends on whether there is a shaper.
#[derive(Clone, Copy, Debug)]
pub struct TinShare {
    /// With a shaper: rate up to which the tin has priority [byte/s].
    pub rate: u64,
    /// Without a shaper: quantum in the deficit round robin of the tins [byte].
    pub quantum: i64,
}

/// A tin.
#[derive(Clone, Debug)]
pub struct Tin<T> {
    /// Transmission times at the rate up to which the tin has priority; None without a shaper.
    pub line: Option<LineTime>,
    /// Parameters of COBALT.
    pub params: CobaltParams,
    flow_quantum: u64,
    /// Bytes per turn in the round robin over tins, which is used without a shaper.
    pub quantum: i64,
    /// Bytes that the tin may send in this turn.
    pub deficit: i64,
    /// Time up to which the tin has used up its priority rate.
    pub next: i64,
    isolates: [bool; 2],
    /// Queues and hosts; empty before the first packet.
    pub flows: Vec<CakeFlow<T>>,
    hosts: [Vec<CakeHost>; 2],
    /// The queues that wait for a turn, indexed by `FlowList`.
    lists: [VecDeque<usize>; 3],
    /// Number of packets in all queues.
    pub packets: u64,
    /// Counters of all queues.
    pub counters: SubqueueCounters,
    sparse_flows: u32,
    /// Number of flows that have packets and have used up a quantum.
    pub bulk_flows: u32,
}

/// Tin and hashes of a circuit, which are the same for all its packets.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// Index of the circuit's tin.
    pub tin: usize,
    /// Hash that selects the queue.
    pub queue: u32,
    /// Hashes of the sending and the receiving host.
    pub hosts: [u32; 2],
}

/// Returns the positions within a set of queues, in the order in which they are searched for a hash.
fn ways(hash: u32) -> impl Iterator<Item = usize> {
    let first = hash as usize % QUEUES;
    let set = first - first % WAYS;
    (0..WAYS).map(move |way| set + (first + way) % WAYS)
}

impl<T: Queued> Tin<T> {
    /// Creates an empty tin with a share of the link, whose rate is 0 without a shaper. `rtt` is the round-trip time [ns]
    /// for which COBALT is configured. `isolates` states whether a queue's quantum is divided by
    /// the number of bulk flows of its sending host, and of its receiving host.
    pub fn new(share: TinShare, rtt: i64, isolates: [bool; 2]) -> Tin<T> {
        let TinShare { rate, quantum } = share;
        let line = (rate > 0).then(|| LineTime::new(rate));
        let mtu_time = line.map_or(0, |line| line.of(MTU_BYTES));
        let shortest = rtt / RTTS_PER_TARGET;
        let target = (mtu_time * 3 / 2).max(shortest);
        Tin {
            line,
            params: CobaltParams {
                target,
                interval: (rtt + target - shortest).max(2 * target),
                mtu_time,
            },
            flow_quantum: line.map_or(MTU_BYTES, |_| (rate >> 12).clamp(MIN_QUANTUM, MTU_BYTES)),
            quantum,
            deficit: 0,
            next: 0,
            isolates,
            flows: Vec::new(),
            hosts: [Vec::new(), Vec::new()],
            lists: Default::default(),
            packets: 0,
            counters: SubqueueCounters::default(),
            sparse_flows: 0,
            bulk_flows: 0,
        }
    }

    /// Returns whether a queue has packets, or is in a list waiting for its next turn.
    pub fn is_active(&self) -> bool {
        self.sparse_flows + self.bulk_flows > 0
    }

    /// Creates the queues; called when the first packet arrives.
    fn open(&mut self) {
        let flow = || CakeFlow {
            backlog: Backlog::default(),
            cobalt: Cobalt::default(),
            tag: 0,
            hosts: [0; 2],
            deficit: 0,
            state: FlowState::Idle,
        };
        self.flows = (0..QUEUES).map(|_| flow()).collect();
        self.hosts = [vec![CakeHost::default(); QUEUES], vec![CakeHost::default(); QUEUES]];
    }

    /// Returns the queue for a packet: the queue of its flow; if there is none, an idle queue of the set; if none is
    /// idle (a collision), the queue at which the search starts.
    pub fn queue_of(&mut self, keys: &Keys) -> usize {
        if self.flows.is_empty() {
            self.open();
        }
        let direct = keys.queue as usize % QUEUES;
        if self.flows[direct].tag == keys.queue && self.flows[direct].state != FlowState::Idle {
            return direct;
        }
        if let Some(own) = ways(keys.queue).find(|&queue| self.flows[queue].tag == keys.queue) {
            if self.flows[own].state == FlowState::Idle {
                self.assign_hosts(own, keys);
            }
            return own;
        }
        let idle = ways(keys.queue).find(|&queue| self.flows[queue].state == FlowState::Idle);
        let queue = idle.unwrap_or(direct);
        if self.flows[queue].state == FlowState::Bulk {
            self.count_bulk(queue, false);
        }
        self.flows[queue].tag = keys.queue;
        self.assign_hosts(queue, keys);
        queue
    }

    /// Assigns host entries to a queue: the entries that have the hashes of its hosts or, if there are none, entries
    /// without bulk flows.
    fn assign_hosts(&mut self, queue: usize, keys: &Keys) {
        for side in 0..2 {
            if !self.isolates[side] {
                continue;
            }
            let (hosts, hash) = (&mut self.hosts[side], keys.hosts[side]);
            let same_host = ways(hash).find(|&host| hosts[host].tag == hash);
            let host = same_host
                .or_else(|| ways(hash).find(|&host| hosts[host].bulk_flows == 0))
                .unwrap_or(hash as usize % QUEUES);
            hosts[host].tag = hash;
            self.flows[queue].hosts[side] = host;
        }
        if self.flows[queue].state == FlowState::Bulk {
            self.count_bulk(queue, true);
        }
    }

    /// Adds a bulk flow to the hosts of a queue, or removes one.
    fn count_bulk(&mut self, queue: usize, more: bool) {
        for side in 0..2 {
            if self.isolates[side] {
                let count = &mut self.hosts[side][self.flows[queue].hosts[side]].bulk_flows;
                *count = if more {
                    (*count + 1).min(QUEUES as u32)
                } else {
                    count.saturating_sub(1)
                };
            }
        }
    }

    /// Returns the number of bytes that a queue may send per turn: the quantum divided by the larger of its hosts'
    /// numbers of bulk flows, rounded at random.
    fn flow_quantum(&self, queue: usize, random: &mut Stream) -> i64 {
        let flows = |side: usize| self.hosts[side][self.flows[queue].hosts[side]].bulk_flows;
        let load = (0..2)
            .filter(|&side| self.isolates[side])
            .map(flows)
            .max()
            .unwrap_or(1)
            .max(1);
        ((self.flow_quantum * u64::from(65_535 / load) + random.below(1 << 16)) >> 16) as i64
    }

    /// Puts a queue that received a packet into a list, so that the queue gets a turn.
    pub fn list(&mut self, queue: usize, random: &mut Stream) {
        match self.flows[queue].state {
            state @ (FlowState::Idle | FlowState::Decaying) => {
                if state == FlowState::Decaying {
                    self.lists[FlowList::Decaying as usize].retain(|&other| other != queue);
                }
                self.lists[FlowList::New as usize].push_back(queue);
                self.sparse_flows += 1;
                self.flows[queue].state = FlowState::Sparse;
                self.flows[queue].deficit = self.flow_quantum(queue, random);
            }
            FlowState::SparseWait => {
                self.sparse_flows -= 1;
                self.become_bulk(queue);
            }
            FlowState::Sparse | FlowState::Bulk => {}
        }
    }

    fn become_bulk(&mut self, queue: usize) {
        self.bulk_flows += 1;
        self.count_bulk(queue, true);
        self.flows[queue].state = FlowState::Bulk;
    }

    /// Returns the list whose first queue has the next turn, and that queue. The first call in each dequeue prefers a
    /// decaying queue.
    pub fn next_turn(&self, first: bool) -> Option<(FlowList, usize)> {
        let of = |turn: FlowList| self.lists[turn as usize].front().map(|&queue| (turn, queue));
        let decaying = of(FlowList::Decaying).filter(|_| first);
        decaying
            .or_else(|| of(FlowList::New))
            .or_else(|| of(FlowList::Old))
            .or_else(|| of(FlowList::Decaying))
    }

    /// Ends the turn of a queue whose deficit is used up.
    pub fn renew(&mut self, (turn, queue): (FlowList, usize), random: &mut Stream) {
        if self.flows[queue].state == FlowState::Sparse {
            if self.flows[queue].backlog.is_empty() {
                self.flows[queue].state = FlowState::SparseWait;
            } else {
                self.sparse_flows -= 1;
                self.become_bulk(queue);
            }
        }
        self.flows[queue].deficit += self.flow_quantum(queue, random);
        self.lists[turn as usize].pop_front();
        self.lists[FlowList::Old as usize].push_back(queue);
    }

    /// Ends the turn of an empty queue.
    pub fn retire(&mut self, (turn, queue): (FlowList, usize), now: i64) {
        let rests = self.flows[queue].cobalt.on_empty(&self.params, now);
        match self.flows[queue].state {
            FlowState::Bulk => {
                self.bulk_flows -= 1;
                self.count_bulk(queue, false);
            }
            FlowState::Sparse | FlowState::SparseWait => self.sparse_flows -= 1,
            FlowState::Decaying | FlowState::Idle => {}
        }
        self.lists[turn as usize].pop_front();
        if rests {
            self.flows[queue].state = FlowState::Idle;
        } else {
            self.lists[FlowList::Decaying as usize].push_back(queue);
            self.flows[queue].state = FlowState::Decaying;
        }
    }

    /// Returns the length [byte] and the index of the longest queue; if several are equally long, that with the lowest
    /// index.
    pub fn longest(&self) -> Option<(u64, Reverse<usize>)> {
        let listed = self.lists[FlowList::New as usize]
            .iter()
            .chain(&self.lists[FlowList::Old as usize]);
        listed
            .map(|&queue| (self.flows[queue].backlog.bytes(), Reverse(queue)))
            .max()
    }
}
