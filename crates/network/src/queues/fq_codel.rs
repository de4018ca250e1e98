//! Flow queueing with CoDel: one queue per flow, new flows first, each queue under CoDel (RFC 8290).

use super::codel::{CodelArithmetic, CodelConfig, Control, Law};
use super::flow_queueing::{FlowHash, Turns};
use super::{AnyDisc, Backlog, Discipline, NewPort, PassThroughEffect, PortState, QueueDisc, Queued};
use crate::packets::drops::DropCause;
use crate::policies::parameters::{Decides, Facts, Marks, Parameters};
use longpipe_events::Time;
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

/// A CoDel queue for each flow, new flows first (RFC 8290); a full buffer drops from the longest queue.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "FQ-CoDel", rules_of = CodelConfig)]
pub struct FqCodelConfig {
    /// See [`CodelConfig::target_ps`].
    #[field(of = CodelConfig)]
    pub target_ps: u64,
    /// See [`CodelConfig::interval_ps`].
    #[field(of = CodelConfig)]
    pub interval_ps: u64,
    /// See [`CodelConfig::least_backlog_bytes`].
    #[field(of = CodelConfig)]
    pub least_backlog_bytes: u64,
    /// See [`CodelConfig::arithmetic`].
    #[field(of = CodelConfig)]
    pub arithmetic: CodelArithmetic,
    /// See [`CodelConfig::ecn`].
    #[field(of = CodelConfig)]
    pub ecn: bool,
    /// See [`CodelConfig::ce_threshold_ps`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(of = CodelConfig)]
    pub ce_threshold_ps: Option<u64>,
    /// Bytes that a queue may send per round [bytes]; RFC 8290.
    #[field(range = "[1 B, 1 GB]", default = "1514 B")]
    pub quantum_bytes: u32,
    /// Number of queues to which flows are hashed, 1024 in Linux; one queue per flow if absent.
    #[field(range = "[1, 65_536]")]
    pub queues: Option<u32>,
    /// Implementation to follow. Linux: CoDel compares the backlog of all flows, and a new flow that became empty joins
    /// the old flows only if there are any. RFC 8290: CoDel compares the flow's own backlog, and such a flow always
    /// joins them.
    #[field(default = "rfc-8290")]
    pub rules: FqCodelRules,
}

/// Rules of FQ-CoDel, by their source.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum FqCodelRules {
    /// RFC 8290: CoDel uses the backlog of the flow's own queue; a new queue that becomes empty moves to the list of
    /// old queues.
    #[serde(rename = "rfc-8290")]
    Rfc8290,
    /// Linux: CoDel uses the backlog of all queues; a new queue that becomes empty moves to the list of old queues only
    /// if that list is not empty.
    Linux,
}

impl FqCodelConfig {
    /// Returns the CoDel configuration of each queue.
    pub fn codel(&self) -> CodelConfig {
        CodelConfig {
            target_ps: self.target_ps,
            interval_ps: self.interval_ps,
            least_backlog_bytes: self.least_backlog_bytes,
            arithmetic: self.arithmetic,
            ecn: self.ecn,
            ce_threshold_ps: self.ce_threshold_ps,
        }
    }
}

impl Parameters for FqCodelConfig {
    const FACTS: Facts = Facts::new(Decides::AtDequeue).marking(Marks::WithEcn);

    fn problem(&self) -> Option<Problem> {
        self.codel().problem().or_else(|| self.invalid())
    }

    /// If no packet waits behind a packet, the backlog is at most `least_backlog_bytes`, so the target has no effect.
    fn is_inert_without_queue(&self) -> bool {
        true
    }
}

impl Discipline for FqCodelConfig {
    fn disc<T: Queued>(&self, port: &NewPort<'_>) -> AnyDisc<T> {
        AnyDisc::FqCodel(FqCodel::new(self, port.circuits, port.random().below(u64::MAX)))
    }
}

/// Maximum number of packets dropped at once when the limit is exceeded.
const LARGEST_BATCH: u64 = 64;

/// Maximum number of queues for which the time of the next drop is computed.
const MAX_SEARCHED: u64 = 64;

/// A flow's queue.
#[derive(Clone, Debug)]
struct FqCodelFlow<T> {
    backlog: Backlog<T>,
    control: Control,
    /// Bytes that the flow may send in this turn.
    deficit: i64,
    waits: bool,
}

impl<T> Default for FqCodelFlow<T> {
    fn default() -> FqCodelFlow<T> {
        FqCodelFlow {
            backlog: Backlog::default(),
            control: Control::default(),
            deficit: 0,
            waits: false,
        }
    }
}

/// The queue discipline.
#[derive(Clone, Debug)]
pub struct FqCodel<T> {
    law: Law,
    quantum: i64,
    rules: FqCodelRules,
    hash: FlowHash,
    flows: Vec<FqCodelFlow<T>>,
    turns: Turns,
    packets: u64,
    bytes: u64,
}

impl<T: Queued> FqCodel<T> {
    /// Creates queues for `flows` flows; `salt` is that of the hash that maps flows to queues, if there is one.
    pub fn new(config: &FqCodelConfig, flows: usize, salt: u64) -> FqCodel<T> {
        let hash = FlowHash::new(config.queues, flows, salt);
        FqCodel {
            law: Law::new(&config.codel()),
            quantum: i64::from(config.quantum_bytes),
            rules: config.rules,
            hash,
            flows: (0..hash.queues()).map(|_| FqCodelFlow::default()).collect(),
            turns: Turns::default(),
            packets: 0,
            bytes: 0,
        }
    }

    /// Because the limit is exceeded, drops the oldest half of the longest queue's bytes, but at most `LARGEST_BATCH`
    /// packets.
    pub fn shorten_longest(&mut self, mut dropped: impl FnMut(T)) {
        // If several queues share the maximum length, Linux chooses the first of them.
        let longest = self.flows.iter_mut().rev().max_by_key(|flow| flow.backlog.bytes());
        let Some(flow) = longest else { return };
        let enough = flow.backlog.bytes() / 2;
        let (mut packets, mut bytes) = (0, 0);
        while let Some(packet) = flow.backlog.pop() {
            packets += 1;
            bytes += packet.bytes();
            dropped(packet);
            if packets >= LARGEST_BATCH || bytes >= enough {
                break;
            }
        }
        self.packets -= packets;
        self.bytes -= bytes;
        match self.rules {
            // "Tell codel to increase its signal strength also" (sch_fq_codel.c). Neither RFC 8290 nor ns-3 does so.
            FqCodelRules::Linux => flow.control.strengthen(packets),
            FqCodelRules::Rfc8290 => {}
        }
    }

    /// Returns all waiting packets, one queue after the other.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.flows.iter().flat_map(|flow| flow.backlog.iter())
    }
}

impl<T: Queued> QueueDisc<T> for FqCodel<T> {
    fn enqueue(&mut self, port: &PortState, packet: T, mut drop: impl FnMut(T, DropCause)) -> bool {
        let full = port.is_full(self.backlog(), packet.bytes());
        let queue = self.hash.queue_of(packet.flow());
        self.packets += 1;
        self.bytes += packet.bytes();
        let flow = &mut self.flows[queue as usize];
        flow.backlog.push(packet);
        if !flow.waits {
            (flow.waits, flow.deficit) = (true, self.quantum);
            self.turns.join(queue);
        }
        if full {
            self.shorten_longest(|packet| drop(packet, DropCause::Overflow));
        }
        false
    }

    fn dequeue(&mut self, now: Time, mut drop: impl FnMut(T, DropCause)) -> Option<T> {
        let mut dropped = |packet| drop(packet, DropCause::Aqm);
        if self.packets == 0 {
            self.find_empty(now);
            return None;
        }
        loop {
            let (queue, is_new) = self.turns.first()?;
            let flow = &mut self.flows[queue as usize];
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                self.turns.defer(queue, is_new);
                continue;
            }
            let other_bytes = match self.rules {
                FqCodelRules::Rfc8290 => 0,
                FqCodelRules::Linux => self.bytes - flow.backlog.bytes(),
            };
            let (packets, bytes) = (flow.backlog.len(), flow.backlog.bytes());
            let mut packet = flow
                .control
                .dequeue(&self.law, now, &mut flow.backlog, other_bytes, &mut dropped);
            self.packets -= packets - flow.backlog.len();
            self.bytes -= bytes - flow.backlog.bytes();
            self.law.mark_late(now, &mut packet);
            if let Some(packet) = packet {
                flow.deficit -= packet.bytes() as i64;
                return Some(packet);
            }
            // A new queue that becomes empty moves to the list of old queues; otherwise, it would repeatedly be served
            // before them (RFC 8290 section 4.2).
            if is_new && (self.rules == FqCodelRules::Rfc8290 || !self.turns.has_no_old()) {
                self.turns.defer(queue, is_new);
            } else {
                self.turns.leave(is_new);
                self.flows[queue as usize].waits = false;
            }
        }
    }

    fn backlog(&self) -> (u64, u64) {
        (self.packets, self.bytes)
    }

    fn purge(&mut self, _now: Time, mut drop: impl FnMut(T)) {
        // Queues stay in their lists until their next turn, and are removed at that time if they are empty.
        self.flows.iter_mut().for_each(|flow| flow.backlog.purge(&mut drop));
        (self.packets, self.bytes) = (0, 0);
    }

    #[inline]
    fn find_empty(&mut self, _now: Time) {
        // Every listed queue is empty and would be removed when its turn came.
        while let Some(queue) = self.turns.remove() {
            let flow = &mut self.flows[queue as usize];
            flow.control.leave_dropping();
            flow.waits = false;
        }
    }

    fn drops_none_before(&self, now: Time) -> Time {
        if !(1..=MAX_SEARCHED).contains(&self.turns.len()) {
            return now;
        }
        let controls = self.turns.iter().map(|&queue| &self.flows[queue as usize].control);
        Control::all_drop_none_before(controls, &self.law, now)
    }

    fn pass_through(&mut self, packet: &T) -> bool {
        if !self.turns.is_empty() {
            return false;
        }
        let queue = self.hash.queue_of(packet.flow());
        let flow = &mut self.flows[queue as usize];
        flow.control.leave_dropping();
        (flow.waits, flow.deficit) = (true, self.quantum - packet.bytes() as i64);
        self.turns.join(queue);
        true
    }

    fn pass_through_effect(&self) -> PassThroughEffect {
        // At the next arrival, `find_empty` removes the queue from its list; from then on, the queue's state does not
        // matter.
        PassThroughEffect::LatestPacket
    }
}
