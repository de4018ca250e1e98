//! Flow queueing with PIE: one queue per flow, new flows first, each queue under PIE (Linux's `sch_fq_pie.c`).

use super::flow_queueing::{FlowHash, Turns};
use super::{AnyDisc, Backlog, Discipline, NewPort, PortState, QueueDisc, Queued};
use crate::packets::drops::DropCause;
use crate::policies::aqm::AtEnqueue;
use crate::policies::parameters::{Decides, Facts, Marks, Parameters};
use crate::policies::pie::{Pie, PieConfig, PieDelay, PieRules};
use crate::policies::{Arrival, Verdict};
use longpipe_events::{Stream, Time};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

/// A queue for each flow, new flows first, each under PIE (Linux's fq_pie); a full buffer drops the arrival.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "FQ-PIE")]
pub struct FqPieConfig {
    /// See [`PieConfig::target_ps`].
    #[field(of = PieConfig)]
    pub target_ps: u64,
    /// See [`PieConfig::update_ps`].
    #[field(of = PieConfig)]
    pub update_ps: u64,
    /// See [`PieConfig::burst_ps`].
    #[field(of = PieConfig)]
    pub burst_ps: u64,
    /// See [`PieConfig::alpha`].
    #[field(of = PieConfig)]
    pub alpha: f64,
    /// See [`PieConfig::beta`].
    #[field(of = PieConfig)]
    pub beta: f64,
    /// See [`PieConfig::least_backlog_bytes`].
    #[field(of = PieConfig)]
    pub least_backlog_bytes: u64,
    /// See [`PieConfig::ecn`].
    #[field(of = PieConfig)]
    pub ecn: bool,
    /// Bytes that a queue may send per round [bytes]; fq_pie.
    #[field(range = "[1 B, 1 GB]", default = "1514 B")]
    pub quantum_bytes: u32,
    /// Number of queues to which flows are hashed, 1024 in Linux; one queue per flow if absent.
    #[field(range = "[1, 65_536]")]
    pub queues: Option<u32>,
}

impl FqPieConfig {
    /// Returns the PIE configuration of each queue.
    fn pie(&self) -> PieConfig {
        PieConfig {
            target_ps: self.target_ps,
            update_ps: self.update_ps,
            burst_ps: self.burst_ps,
            alpha: self.alpha,
            beta: self.beta,
            least_backlog_bytes: self.least_backlog_bytes,
            delay: PieDelay::Sojourn,
            rules: PieRules::Linux,
            derandomize: true,
            ecn: self.ecn,
        }
    }
}

impl Parameters for FqPieConfig {
    const FACTS: Facts = Facts::new(Decides::AtDequeue).random().marking(Marks::WithEcn);

    fn problem(&self) -> Option<Problem> {
        self.pie().problem().or_else(|| self.invalid())
    }

    /// A backlog of zero is never above `least_backlog_bytes`.
    fn is_inert_without_queue(&self) -> bool {
        true
    }

    fn update_ps(&self) -> Option<u64> {
        Some(self.update_ps)
    }
}

impl Discipline for FqPieConfig {
    fn disc<T: Queued>(&self, port: &NewPort<'_>) -> AnyDisc<T> {
        let mut stream = port.random();
        let hash = FlowHash::new(self.queues, port.circuits, stream.below(u64::MAX));
        AnyDisc::FqPie(FqPie::new(self, hash, stream))
    }
}

/// A flow's queue.
#[derive(Clone, Debug)]
struct FqPieFlow<T> {
    backlog: Backlog<T>,
    pie: Pie,
    /// Bytes that the flow may send in this turn.
    deficit: i64,
    waits: bool,
}

/// The queue discipline.
#[derive(Clone, Debug)]
pub struct FqPie<T> {
    quantum: i64,
    hash: FlowHash,
    stream: Stream,
    flows: Vec<FqPieFlow<T>>,
    turns: Turns,
    packets: u64,
    bytes: u64,
}

impl<T: Queued> FqPie<T> {
    /// Creates empty queues; `stream` decides which packets are dropped.
    pub fn new(config: &FqPieConfig, hash: FlowHash, stream: Stream) -> FqPie<T> {
        let flow = || FqPieFlow {
            backlog: Backlog::default(),
            pie: Pie::new(&config.pie()),
            deficit: 0,
            waits: false,
        };
        FqPie {
            quantum: i64::from(config.quantum_bytes),
            hash,
            stream,
            flows: (0..hash.queues()).map(|_| flow()).collect(),
            turns: Turns::default(),
            packets: 0,
            bytes: 0,
        }
    }
}

impl<T: Queued> QueueDisc<T> for FqPie<T> {
    fn enqueue(&mut self, port: &PortState, mut packet: T, mut drop: impl FnMut(T, DropCause)) -> bool {
        let queue = self.hash.queue_of(packet.flow());
        let full = port.is_full(self.backlog(), packet.bytes());
        let flow = &mut self.flows[queue as usize];
        if full {
            flow.pie.overflow(port.now);
            drop(packet, DropCause::Overflow);
            return false;
        }
        let arrival = Arrival {
            now: port.now,
            bytes: packet.bytes(),
            capable: packet.is_capable(),
            packets_waiting: flow.backlog.len(),
            bytes_waiting: flow.backlog.bytes(),
            idle_since: port.idle_since,
        };
        let verdict = flow.pie.decide(&arrival, || self.stream.fraction());
        if verdict == Verdict::Refuse {
            drop(packet, DropCause::Aqm);
            return false;
        }
        let marked = verdict == Verdict::Mark && packet.mark();
        flow.pie.enqueue(&arrival);
        self.packets += 1;
        self.bytes += arrival.bytes;
        flow.backlog.push(packet);
        if !flow.waits {
            (flow.waits, flow.deficit) = (true, self.quantum);
            self.turns.join(queue);
        }
        marked
    }

    fn dequeue(&mut self, now: Time, _drop: impl FnMut(T, DropCause)) -> Option<T> {
        loop {
            let (queue, is_new) = self.turns.first()?;
            let flow = &mut self.flows[queue as usize];
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                self.turns.defer(queue, is_new);
                continue;
            }
            if let Some(packet) = flow.backlog.pop() {
                flow.pie.begin_service(now);
                flow.deficit -= packet.bytes() as i64;
                self.packets -= 1;
                self.bytes -= packet.bytes();
                return Some(packet);
            }
            // A new queue that becomes empty waits behind the old ones; otherwise, it would repeatedly be served before
            // them.
            if is_new && !self.turns.has_no_old() {
                self.turns.defer(queue, is_new);
            } else {
                self.turns.leave(is_new);
                flow.waits = false;
            }
        }
    }

    fn backlog(&self) -> (u64, u64) {
        (self.packets, self.bytes)
    }

    fn purge(&mut self, now: Time, mut drop: impl FnMut(T)) {
        for flow in &mut self.flows {
            flow.backlog.purge(&mut drop);
            flow.pie.purge(now);
        }
        (self.packets, self.bytes) = (0, 0);
    }

    fn marks_on_arrival(&self) -> bool {
        true
    }
}
