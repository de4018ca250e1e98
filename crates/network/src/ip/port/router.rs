//! A router's output port: a FIFO with the rules that apply to arriving packets.

use super::arrival_rules::Rules;
use super::capacity::counts_bytes;
use super::fifo::Fifo;
use super::line::Line;
use crate::impairments::loss::Loss;
use crate::policies::aqm::{Aqm, Frequent};
use crate::policies::Policy;
use crate::scenario::BufferConfig;
use longpipe_events::{Rate, Time};

/// The output port of a router.
#[derive(Clone, Debug)]
pub struct Router {
    /// The FIFO.
    pub fifo: Fifo,
    /// Rules other than the capacity.
    rules: Option<Box<Rules>>,
    /// Kind of the rules, if there are any.
    kind: Kind,
    /// Whether the policy needs the occupancy of each circuit.
    by_vc: bool,
}

/// Kinds of rules, each of which has code of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Red,
    Pie,
    Other,
}

impl Router {
    /// Creates an empty port for `vcs` circuits.
    pub fn new(
        rate: Rate,
        buffer: Option<BufferConfig>,
        (policy, mut aqm): (Policy, Option<Box<Aqm>>),
        loss: Option<Box<Loss>>,
        vcs: usize,
    ) -> Router {
        let by_bytes = counts_bytes(buffer);
        let only_tail_drop = policy.is_tail_drop() && aqm.is_none() && loss.is_none();
        let kind = match aqm.as_deref_mut().and_then(Aqm::frequent) {
            Some(Frequent::Red(_)) => Kind::Red,
            Some(Frequent::Pie(_)) => Kind::Pie,
            None => Kind::Other,
        };
        Router {
            fifo: Fifo::new(rate, buffer),
            kind,
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
        match self.kind {
            Kind::Red => self.queue_by_red(line, now, bytes, capable),
            Kind::Pie => self.queue_by_pie(line, now, bytes, capable),
            Kind::Other => self.queue_by_other_rule(line, now, bytes, (local, capable)),
        }
    }

    #[inline(never)]
    fn queue_by_red(&mut self, line: &mut Line, now: Time, bytes: u16, capable: bool) -> Option<Time> {
        let rules = self.rules.as_deref_mut()?;
        let Frequent::Red(mut red) = rules.aqm.as_deref_mut()?.frequent()? else {
            unreachable!("`kind` is that of the rules");
        };
        let (packet, lossy) = ((now, bytes, capable), (&mut rules.loss, &mut rules.marked));
        self.fifo.queue_by(line, packet, lossy, &mut red)
    }

    #[inline(never)]
    fn queue_by_pie(&mut self, line: &mut Line, now: Time, bytes: u16, capable: bool) -> Option<Time> {
        let rules = self.rules.as_deref_mut()?;
        let Frequent::Pie(mut pie) = rules.aqm.as_deref_mut()?.frequent()? else {
            unreachable!("`kind` is that of the rules");
        };
        let (packet, lossy) = ((now, bytes, capable), (&mut rules.loss, &mut rules.marked));
        self.fifo.queue_by(line, packet, lossy, &mut pie)
    }

    #[inline(never)]
    fn queue_by_other_rule(
        &mut self,
        line: &mut Line,
        now: Time,
        bytes: u16,
        (local, capable): (u32, bool),
    ) -> Option<Time> {
        let rules = self.rules.as_deref_mut()?;
        let (packet, lossy) = ((now, bytes, capable), (&mut rules.loss, &mut rules.marked));
        match &mut rules.aqm {
            Some(aqm) => self.fifo.queue_by(line, packet, lossy, &mut **aqm),
            None => self
                .fifo
                .queue_by(line, packet, lossy, &mut rules.policy.of_circuit(local)),
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
