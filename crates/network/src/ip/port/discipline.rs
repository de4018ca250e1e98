//! Queueing disciplines of a port that decides when packets leave, behind what all of them do.

use super::served::Held;
use crate::packets::{Circuit, Packet};
use crate::queues::codel::{Control, Law};
use crate::queues::dualpi2::DualPi2;
use crate::queues::fq::Fq;
use crate::queues::fq_codel::FqCodel;
use crate::queues::round_robin::{RoundRobin, Spread};
use crate::queues::strict::Strict;
use crate::queues::{Backlog, Queued};
use crate::scenario::{PolicyConfig, Scenario};
use longpipe_events::{Stream, Time};

/// Any of them.
#[derive(Clone, Debug)]
pub(super) enum Discipline {
    Codel {
        law: Law,
        control: Control,
        backlog: Backlog<Held>,
    },
    FqCodel(FqCodel<Held>),
    /// A queue for each flow, or some.
    InTurn(RoundRobin<Held>),
    Fq(Fq<Held>),
    /// Classes, with the class of each flow.
    Strict(Strict<Held>, Vec<u32>),
    Weighted(RoundRobin<Held>, Vec<u32>),
    /// Where ACKs take the place of earlier ones.
    AckFilter(Backlog<Held>),
    /// Two queues, with whether each flow is scalable.
    DualPi2(DualPi2<Held>, Vec<bool>),
}

/// The flow of a packet.
fn flow(packet: &Packet) -> usize {
    packet.vc().flow().index()
}

impl Discipline {
    /// That of a policy, if it serves; nothing waits.
    pub fn new(scenario: &Scenario, policy: &PolicyConfig, mut salts: Stream) -> Option<Discipline> {
        let circuits = Circuit::of_flows(scenario.flows.len());
        let mut salt = || salts.below(u64::MAX);
        let classes = || scenario.flows.iter().map(|flow| flow.class).collect();
        Some(match policy {
            PolicyConfig::Codel(codel) => Discipline::Codel {
                law: Law::new(codel),
                control: Control::default(),
                backlog: Backlog::default(),
            },
            PolicyConfig::FqCodel(fq) => Discipline::FqCodel(FqCodel::new(fq, circuits, salt())),
            PolicyConfig::Drr(drr) => {
                let (queues, spread) = match drr.queues {
                    None => (circuits, Spread::Apart),
                    Some(queues) => {
                        let (salt, perturb) = (salt(), None);
                        (queues as usize, Spread::Hashed { salt, perturb })
                    }
                };
                let quanta = (0..queues).map(|_| u64::from(drr.quantum_bytes));
                Discipline::InTurn(RoundRobin::new(quanta, spread))
            }
            PolicyConfig::Sfq(sfq) => {
                let quanta = (0..sfq.queues).map(|_| u64::from(sfq.quantum_bytes));
                let (salt, perturb) = (salt(), sfq.perturb_ps);
                Discipline::InTurn(RoundRobin::new(quanta, Spread::Hashed { salt, perturb }))
            }
            PolicyConfig::Fq(fq) => Discipline::Fq(Fq::new(fq, circuits)),
            PolicyConfig::StrictPriority(strict) => Discipline::Strict(Strict::new(strict.classes), classes()),
            PolicyConfig::WeightedPriority(weighted) => {
                let quantum = u64::from(weighted.quantum_bytes);
                let quanta = weighted.weights.iter().map(|&weight| u64::from(weight) * quantum);
                Discipline::Weighted(RoundRobin::new(quanta, Spread::Apart), classes())
            }
            PolicyConfig::DualPi2(dual) => {
                let scalable = scenario.flows.iter().map(|flow| flow.scalable).collect();
                Discipline::DualPi2(DualPi2::new(dual), scalable)
            }
            PolicyConfig::AckFilter {} => Discipline::AckFilter(Backlog::default()),
            _ => return None,
        })
    }

    /// Whether a packet's flow is known to be scalable.
    pub fn is_scalable(&self, packet: &Packet) -> bool {
        match self {
            Discipline::DualPi2(_, scalable) => scalable[flow(packet)],
            _ => false,
        }
    }

    /// Packets and bytes that wait.
    pub fn held(&self) -> (u64, u64) {
        match self {
            Discipline::Codel { backlog, .. } | Discipline::AckFilter(backlog) => (backlog.len(), backlog.bytes()),
            Discipline::FqCodel(fq) => fq.held(),
            Discipline::Fq(fq) => fq.held(),
            Discipline::InTurn(queues) | Discipline::Weighted(queues, _) => queues.held(),
            Discipline::Strict(classes, _) => classes.held(),
            Discipline::DualPi2(dual, _) => dual.held(),
        }
    }

    /// Whether a packet that finds none here leaves at once and unmarked, and nothing behind that would matter to a later one.
    pub fn forgets_when_idle(&self) -> bool {
        // Elsewhere whose turn it is stays until the line asks again, or a controller goes on.
        matches!(self, Discipline::Codel { .. })
    }

    /// Whether a packet that finds none here leaves at once, unmarked, whatever else comes; if so, it does.
    pub fn passes(&mut self, held: &Held) -> bool {
        match self {
            Discipline::Codel { control, .. } => {
                control.rest();
                true
            }
            Discipline::FqCodel(fq) if fq.is_idle() => {
                fq.pass(held.packet.vc().0, held.bytes());
                true
            }
            _ => false,
        }
    }

    /// Those that share the room of one that comes.
    pub fn held_beside(&self, held: &Held) -> (u64, u64) {
        match self {
            Discipline::Weighted(queues, classes) => queues.held_in(classes[flow(&held.packet)]),
            Discipline::Strict(queues, classes) => queues.held_in(classes[flow(&held.packet)]),
            _ => self.held(),
        }
    }

    /// What one that comes makes needless goes.
    pub fn sift(&mut self, coming: &Held, gone: impl FnMut(&Held)) {
        if let Discipline::AckFilter(backlog) = self {
            backlog.sift(|held| !coming.packet.replaces(&held.packet, held.options()), gone);
        }
    }

    /// A packet takes its place; where it is full it goes, or others do.
    pub fn enqueue(&mut self, held: Held, full: bool, mut lose: impl FnMut(Held)) {
        let (now, vc, flow) = (held.arrival, held.packet.vc(), flow(&held.packet));
        match self {
            Discipline::FqCodel(fq) => {
                fq.enqueue(vc.0, held);
                if full {
                    fq.shorten_longest(lose);
                }
            }
            Discipline::InTurn(queues) => {
                queues.enqueue(now, vc.0, held);
                if full {
                    queues.shorten_longest().map(lose);
                }
            }
            _ if full => lose(held),
            Discipline::Codel { backlog, .. } | Discipline::AckFilter(backlog) => backlog.push(held),
            Discipline::Fq(fq) => {
                fq.enqueue(now, vc.0, held).map(lose);
            }
            Discipline::Strict(queues, classes) => queues.enqueue(classes[flow], held),
            Discipline::Weighted(queues, classes) => queues.enqueue(now, classes[flow], held),
            Discipline::DualPi2(dual, _) => dual.enqueue(now, held),
        }
    }

    /// The packet that leaves now, if any; those dropped on the way are handed to `lose`.
    pub fn dequeue(&mut self, now: Time, lose: impl FnMut(Held)) -> Option<Held> {
        match self {
            Discipline::Codel { law, control, backlog } => control.dequeue(law, now, backlog, 0, lose),
            Discipline::FqCodel(fq) => fq.dequeue(now, lose),
            Discipline::InTurn(queues) | Discipline::Weighted(queues, _) => queues.dequeue(),
            Discipline::Fq(fq) => fq.dequeue(now),
            Discipline::AckFilter(backlog) => backlog.pop(),
            Discipline::Strict(classes, _) => classes.dequeue(),
            Discipline::DualPi2(dual, _) => dual.dequeue(now, lose),
        }
    }
}
