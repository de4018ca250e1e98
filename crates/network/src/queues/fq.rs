//! Fair queueing as in Linux's `sch_fq`: each flow has a credit of bytes per turn, which is larger in the flow's first
//! turn, and new flows precede old ones.

use super::{AnyDisc, Backlog, Discipline, NewPort, PortState, QueueDisc, Queued};
use crate::packets::drops::DropCause;
use crate::policies::parameters::{Decides, Facts, Parameters};
use longpipe_events::{Span, Time};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;
use std::collections::VecDeque;

/// Linux's fair queue (sch_fq): a queue per flow with a byte credit, new flows first; pacing is left to senders.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
pub struct FqConfig {
    /// Bytes that a queue may send per round [bytes].
    #[field(range = "[64 B, 1 GB]", default = "3028 B")]
    pub quantum_bytes: u32,
    /// Bytes that a flow may send in its first round [bytes]; Linux sch_fq, ten packets.
    #[field(range = "[64 B, 1 GB]", default = "15140 B")]
    pub initial_quantum_bytes: u32,
    /// Maximum number of queued packets of a flow; Linux sch_fq.
    #[field(range = "[1, 1_000_000_000]", default = 100)]
    pub flow_limit: u32,
    /// Idle time after which a flow gets a full quantum [time]; Linux sch_fq flow_refill_delay.
    #[field(range = "[0 s, 1000 s]", default = "40 ms")]
    pub refill_delay_ps: u64,
    /// Sojourn time above which each ECN-capable packet is marked at the head [time]; Linux sch_fq ce_threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[1 us, 1000 s]", later)]
    pub ce_threshold_ps: Option<u64>,
}

impl Parameters for FqConfig {
    const FACTS: Facts = Facts::new(Decides::AtDequeue);

    fn is_inert_without_queue(&self) -> bool {
        self.flow_limit > 0
    }
}

impl Discipline for FqConfig {
    fn disc<T: Queued>(&self, port: &NewPort<'_>) -> AnyDisc<T> {
        AnyDisc::Fq(Fq::new(self, port.circuits))
    }
}

/// A flow's queue.
#[derive(Clone, Debug)]
struct FqFlow<T> {
    backlog: Backlog<T>,
    /// Bytes that the flow may send before its turn ends.
    credit: i64,
    /// Whether the flow is in one of the two lists.
    waits: bool,
    /// Time since which the flow has been in neither list.
    since: Time,
}

/// The queue discipline: one queue per flow.
#[derive(Clone, Debug)]
pub struct Fq<T> {
    quantum: i64,
    flow_limit: u64,
    refill_delay: Span,
    ce_threshold: Option<Span>,
    flows: Vec<FqFlow<T>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: u64,
    bytes: u64,
}

impl<T: Queued> Fq<T> {
    /// Creates one queue for each of `flows` flows.
    pub fn new(config: &FqConfig, flows: usize) -> Fq<T> {
        let flow = || FqFlow {
            backlog: Backlog::default(),
            credit: i64::from(config.initial_quantum_bytes),
            waits: false,
            since: Time::ZERO,
        };
        Fq {
            quantum: i64::from(config.quantum_bytes),
            flow_limit: u64::from(config.flow_limit),
            refill_delay: Span(config.refill_delay_ps),
            ce_threshold: config.ce_threshold_ps.map(Span),
            flows: (0..flows).map(|_| flow()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }
}

impl<T: Queued> QueueDisc<T> for Fq<T> {
    /// Enqueues a packet, or drops it if the port is full or the queue of its flow is full (`flow_limit`).
    fn enqueue(&mut self, port: &PortState, packet: T, mut drop: impl FnMut(T, DropCause)) -> bool {
        let number = packet.flow();
        let flow = &mut self.flows[number as usize];
        let full = port.is_full((self.packets, self.bytes), packet.bytes());
        if full || flow.backlog.len() >= self.flow_limit {
            // Linux counts the latter as `flows_plimit` (net/sched/sch_fq.c, fq_enqueue).
            let cause = if full {
                DropCause::Overflow
            } else {
                DropCause::FlowLimit
            };
            drop(packet, cause);
            return false;
        }
        if !flow.waits {
            flow.waits = true;
            if port.now > flow.since + self.refill_delay {
                flow.credit = flow.credit.max(self.quantum);
            }
            self.new.push_back(number);
        }
        self.packets += 1;
        self.bytes += packet.bytes();
        flow.backlog.push(packet);
        false
    }

    fn dequeue(&mut self, now: Time, _drop: impl FnMut(T, DropCause)) -> Option<T> {
        if self.packets == 0 {
            return None;
        }
        loop {
            let is_new = !self.new.is_empty();
            let number = if is_new {
                self.new.pop_front()
            } else {
                self.old.pop_front()
            }?;
            let flow = &mut self.flows[number as usize];
            if flow.credit <= 0 {
                flow.credit += self.quantum;
                self.old.push_back(number);
                continue;
            }
            let Some(mut packet) = flow.backlog.pop() else {
                // A new flow whose queue becomes empty moves to the end of the list of old flows. Otherwise, it would
                // repeatedly be served first.
                if is_new && !self.old.is_empty() {
                    self.old.push_back(number);
                } else {
                    (flow.waits, flow.since) = (false, now);
                }
                continue;
            };
            if is_new {
                self.new.push_front(number);
            } else {
                self.old.push_front(number);
            }
            flow.credit -= packet.bytes() as i64;
            self.packets -= 1;
            self.bytes -= packet.bytes();
            if self
                .ce_threshold
                .is_some_and(|threshold| now - packet.arrival() > threshold)
            {
                packet.mark();
            }
            return Some(packet);
        }
    }

    /// Shortcut for a packet of the only flow in the two lists.
    fn pass_through(&mut self, packet: &T) -> bool {
        let flow = &mut self.flows[packet.flow() as usize];
        if !flow.waits || self.packets > 0 || self.new.len() + self.old.len() > 1 {
            return false;
        }
        if flow.credit <= 0 {
            while flow.credit <= 0 {
                flow.credit += self.quantum;
            }
            self.old.extend(self.new.pop_front());
        }
        flow.credit -= packet.bytes() as i64;
        true
    }

    fn backlog(&self) -> (u64, u64) {
        (self.packets, self.bytes)
    }

    fn purge(&mut self, _now: Time, mut drop: impl FnMut(T)) {
        // Flows stay in their lists until their next turn, and are removed at that time if they are empty.
        self.flows.iter_mut().for_each(|flow| flow.backlog.purge(&mut drop));
        (self.packets, self.bytes) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    struct Packet(Time, u32);

    impl Queued for Packet {
        fn arrival(&self) -> Time {
            self.0
        }

        fn bytes(&self) -> u64 {
            1500
        }

        fn flow(&self) -> u32 {
            self.1
        }

        fn is_capable(&self) -> bool {
            false
        }

        fn mark(&mut self) -> bool {
            false
        }

        fn is_marked(&self) -> bool {
            false
        }
    }

    /// Returns the credit, the list membership and its end for each flow, the two lists, and the backlog.
    fn state(disc: &Fq<Packet>) -> impl PartialEq + std::fmt::Debug {
        let flows: Vec<_> = disc
            .flows
            .iter()
            .map(|flow| (flow.credit, flow.waits, flow.since))
            .collect();
        (flows, disc.new.clone(), disc.old.clone(), disc.backlog())
    }

    proptest! {
        /// Compares the state with that after `enqueue` and `dequeue`, for single packets between backlogs of two flows.
        #[test]
        fn pass_through_equals_enqueue_and_dequeue(
            quantum in 100u32..5000,
            steps in prop::collection::vec((0u64..60_000_000_000, 0u32..2, prop_oneof![4 => Just(1u32), 1 => 2u32..12]), 1..200),
        ) {
            let config = FqConfig {
                quantum_bytes: quantum,
                initial_quantum_bytes: 5 * quantum,
                flow_limit: 100,
                refill_delay_ps: 40_000_000_000,
                ce_threshold_ps: None,
            };
            let (mut short, mut plain) = (Fq::new(&config, 2), Fq::new(&config, 2));
            let mut now = Time::ZERO;
            for (gap, flow, packets) in steps {
                now.0 += gap;
                let port = PortState { now, room_packets: 100, room_bytes: u64::MAX, in_service: false, idle_since: None };
                if packets == 1 && short.pass_through(&Packet(now, flow)) {
                    plain.enqueue(&port, Packet(now, flow), |_, _| {});
                    let sent = plain.dequeue(now, |_, _| {});
                    prop_assert!(sent.is_some());
                } else {
                    for disc in [&mut short, &mut plain] {
                        (0..packets).for_each(|number| {
                            disc.enqueue(&port, Packet(now, (flow + number) % 2), |_, _| {});
                        });
                        while disc.dequeue(now, |_, _| {}).is_some() {}
                    }
                }
                prop_assert_eq!(state(&short), state(&plain));
            }
        }
    }
}
