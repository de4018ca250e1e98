//! A router's output port: a FIFO with the rules that apply to arriving packets.

use super::accounts::Rules;
use super::fifo::Fifo;
use super::line::Line;
use crate::impairments::loss::Loss;
use crate::policies::aqm::{Aqm, Frequent};
use crate::policies::Policy;
use crate::scenario::{BufferConfig, BufferUnit};
use longpipe_events::{Rate, Time};

/// The output port of a router.
#[derive(Clone, Debug)]
pub struct Router {
    /// The FIFO.
    pub fifo: Fifo,
    /// Rules other than the capacity.
    rules: Option<Box<Rules>>,
    /// Whether the policy needs the occupancy of each circuit.
    by_vc: bool,
}

impl Router {
    /// Creates an empty port for `vcs` circuits.
    pub fn new(
        rate: Rate,
        buffer: Option<BufferConfig>,
        (policy, aqm): (Policy, Option<Box<Aqm>>),
        loss: Option<Box<Loss>>,
        vcs: usize,
    ) -> Router {
        let by_bytes = buffer.is_some_and(|buffer| buffer.unit == BufferUnit::Bytes);
        let only_tail_drop = matches!(policy, Policy::TailDrop) && aqm.is_none() && loss.is_none();
        Router {
            fifo: Fifo::new(rate, buffer),
            by_vc: policy.needs_vc_occupancies(),
            rules: (!only_tail_drop).then(|| Box::new(Rules::new(loss, (policy, aqm), by_bytes, vcs))),
        }
    }

    /// Returns whether callers must pass the number of each packet's circuit.
    #[inline(always)]
    pub fn needs_vc_occupancies(&self) -> bool {
        self.by_vc
    }

    /// Returns whether capacity is the only rule.
    #[inline(always)]
    pub fn is_only_tail_drop(&self) -> bool {
        self.rules.is_none()
    }

    /// Processes the arrival of a packet of the port's circuit `local` under all rules; `capable` packets may be
    /// marked. Returns the departure time if the packet is admitted unmarked; for a marked packet, `take_marked`
    /// returns the departure time.
    ///
    /// The code for RED and for PIE is compiled separately, because it then needs fewer instructions.
    #[inline(never)]
    pub fn queue_by_rules(
        &mut self,
        line: &mut Line,
        now: Time,
        bytes: u16,
        (local, capable): (u32, bool),
    ) -> Option<Time> {
        let rules = self.rules.as_deref_mut()?;
        let (fifo, packet) = (&mut self.fifo, (now, bytes, capable));
        match rules.aqm.as_deref_mut().and_then(Aqm::frequent) {
            Some(Frequent::Red(_)) => queue_by_red(fifo, line, packet, rules),
            Some(Frequent::Pie(_)) => queue_by_pie(fifo, line, packet, rules),
            None => queue_by_other_rule(fifo, line, packet, (rules, local)),
        }
    }

    /// Takes the departure time of the latest packet, if it was admitted and marked.
    pub fn take_marked(&mut self) -> Option<Time> {
        self.rules.as_mut()?.marked.take()
    }

    /// Returns whether the packets held at `now` are in order, are within all limits, and match X, X_i and N_a.
    pub fn accounts_agree(&mut self, line: &mut Line, now: Time) -> bool {
        let agree = self.fifo.accounts_agree(line, now);
        let (held, bytes_held) = self.fifo.held(line, now);
        let by_rules = |rules: &mut Box<Rules>| rules.agree(now, held, bytes_held);
        agree && self.rules.as_mut().is_none_or(by_rules)
    }
}

/// Processes a packet as `queue_by_rules` does, under RED.
#[inline(never)]
fn queue_by_red(fifo: &mut Fifo, line: &mut Line, packet: (Time, u16, bool), rules: &mut Rules) -> Option<Time> {
    match rules.aqm.as_deref_mut().and_then(Aqm::frequent) {
        Some(Frequent::Red(mut red)) => fifo.queue_by(line, packet, (&mut rules.loss, &mut rules.marked), &mut red),
        _ => None,
    }
}

/// Processes a packet as `queue_by_rules` does, under PIE.
#[inline(never)]
fn queue_by_pie(fifo: &mut Fifo, line: &mut Line, packet: (Time, u16, bool), rules: &mut Rules) -> Option<Time> {
    match rules.aqm.as_deref_mut().and_then(Aqm::frequent) {
        Some(Frequent::Pie(mut pie)) => fifo.queue_by(line, packet, (&mut rules.loss, &mut rules.marked), &mut pie),
        _ => None,
    }
}

/// Processes a packet of circuit `local` as `queue_by_rules` does, under any rule.
#[inline(never)]
fn queue_by_other_rule(
    fifo: &mut Fifo,
    line: &mut Line,
    packet: (Time, u16, bool),
    (rules, local): (&mut Rules, u32),
) -> Option<Time> {
    let lossy = (&mut rules.loss, &mut rules.marked);
    match &mut rules.aqm {
        Some(aqm) => fifo.queue_by(line, packet, lossy, &mut **aqm),
        None => fifo.queue_by(line, packet, lossy, &mut rules.policy.of_circuit(local)),
    }
}
