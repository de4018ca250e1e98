//! Active queue management at arrival: one of several kinds, with its random numbers.

use super::blue::Blue;
use super::pie::Pie;
use super::red::Red;
use super::step_marking::StepMarking;
use super::{Arrival, Verdict};
use crate::scenario::PolicyConfig;
use longpipe_events::{Stream, Time};

/// The kinds.
#[derive(Clone, Debug)]
enum Kind {
    Red(Red),
    Pie(Pie),
    StepMarking(StepMarking),
    Blue(Blue),
}

/// What judges the arrivals of one port.
#[derive(Clone, Debug)]
pub struct Acting {
    kind: Kind,
    ecn: bool,
    stream: Stream,
}

impl Acting {
    /// As the configuration of a link of this rate has it, if it acts at arrival, with random numbers of its own.
    pub fn new(config: &PolicyConfig, rate_bps: u64, seed: u64, link: u64) -> Option<Box<Acting>> {
        let (kind, ecn) = match config {
            PolicyConfig::Red(red) => (Kind::Red(Red::new(red, rate_bps)), red.ecn),
            PolicyConfig::Pie(pie) => (Kind::Pie(Pie::new(pie)), pie.ecn),
            PolicyConfig::StepMarking(step) => (Kind::StepMarking(StepMarking::new(step)), true),
            PolicyConfig::Blue(blue) => (Kind::Blue(Blue::new(blue)), blue.ecn),
            PolicyConfig::TailDrop {}
            | PolicyConfig::PartialPacketDiscard { .. }
            | PolicyConfig::Epd { .. }
            | PolicyConfig::SelectiveDrop { .. }
            | PolicyConfig::Fba { .. }
            | PolicyConfig::Codel(_)
            | PolicyConfig::FqCodel(_)
            | PolicyConfig::Drr(_)
            | PolicyConfig::Fq(_)
            | PolicyConfig::Sfq(_)
            | PolicyConfig::StrictPriority(_)
            | PolicyConfig::WeightedPriority(_)
            | PolicyConfig::DualPi2(_)
            | PolicyConfig::AckFilter {} => return None,
        };
        let stream = Stream::new(seed, "policy", link);
        Some(Box::new(Acting { kind, ecn, stream }))
    }

    /// Judges an arrival: what cannot be marked is refused where another would be marked.
    #[inline(always)]
    pub fn judge(&mut self, arrival: &Arrival) -> Verdict {
        let Acting { kind, ecn, stream } = self;
        let draw = || stream.fraction();
        let verdict = match kind {
            Kind::Red(red) => red.judge(arrival, draw),
            // What is lent to a function apart is a copy, or it would lie in memory for all kinds.
            Kind::Pie(pie) => pie.judge(&{ *arrival }, draw),
            Kind::StepMarking(step) => step.judge(arrival),
            Kind::Blue(blue) => blue.judge(&{ *arrival }, draw),
        };
        match verdict {
            Verdict::Mark if !(*ecn && arrival.capable) => Verdict::Refuse,
            verdict => verdict,
        }
    }

    /// Whether all packets that find the line idle enter unmarked, and leave no trace here, after one that began to leave at once.
    pub fn is_calm(&self) -> bool {
        match &self.kind {
            Kind::Red(red) => red.is_calm(),
            Kind::Pie(pie) => pie.is_calm(),
            // None waits, and the threshold is at least 1.
            Kind::StepMarking(_) => true,
            // An idle line lowers its probability, and each arrival draws.
            Kind::Blue(_) => false,
        }
    }

    /// A packet entered whose service will begin at `begins`.
    #[inline(always)]
    pub fn admit(&mut self, arrival: &Arrival, begins: Time) {
        if let Kind::Pie(pie) = &mut self.kind {
            pie.admit(&{ *arrival }, begins);
        }
    }

    /// A packet entered whose service begins at the instant that `begin_service` will report.
    pub fn enqueue(&mut self, arrival: &Arrival) {
        if let Kind::Pie(pie) = &mut self.kind {
            pie.enqueue(arrival);
        }
    }

    /// The service of the next packet of those that `enqueue` has reported begins.
    pub fn begin_service(&mut self, begins: Time) {
        if let Kind::Pie(pie) = &mut self.kind {
            pie.begin_service(begins);
        }
    }

    /// An outage drops all packets whose service has not begun at `now`.
    pub fn purge(&mut self, now: Time) {
        if let Kind::Pie(pie) = &mut self.kind {
            pie.purge(now);
        }
    }

    /// A packet that was not refused found no room.
    pub fn overflow(&mut self, now: Time) {
        match &mut self.kind {
            Kind::Blue(blue) => blue.overflow(now),
            Kind::Pie(pie) => pie.overflow(),
            Kind::Red(_) | Kind::StepMarking(_) => {}
        }
    }
}
