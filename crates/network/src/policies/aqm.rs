//! Active queue management at enqueue: one algorithm with its random stream.

use super::blue::Blue;
use super::parameters::Parameters;
use super::pie::Pie;
use super::red::Red;
use super::step_marking::StepMarking;
use super::{Arrival, Verdict};
use longpipe_events::{Stream, Time};

/// The algorithms.
#[derive(Clone, Debug)]
pub enum Algorithm {
    /// RED.
    Red(Red),
    /// PIE.
    Pie(Pie),
    /// Step marking.
    StepMarking(StepMarking),
    /// BLUE.
    Blue(Blue),
}

/// Interface of algorithms that decide on arriving packets.
pub trait Admission {
    /// Decides on an arriving packet. If the packet would be marked but is not ECN-capable, it is dropped.
    fn decide(&mut self, arrival: &Arrival) -> Verdict;

    /// Returns whether packets that arrive at an idle line are certain to be admitted unmarked and to leave the state
    /// unchanged, provided that the previous packet was transmitted without waiting.
    fn ignores_idle_arrivals(&self) -> bool;

    /// Records that a packet was admitted; its transmission will start at `begins`. Queues that do not know this time yet
    /// call `Aqm::enqueue` and `Aqm::begin_service` instead.
    fn admit(&mut self, arrival: &Arrival, begins: Time);

    /// Records that an accepted packet found the buffer full.
    fn overflow(&mut self, now: Time);
}

/// A known algorithm of an `Aqm`, whose calls need no dispatch.
pub struct Known<'a, A> {
    algorithm: &'a mut A,
    ecn: bool,
    stream: &'a mut Stream,
}

/// One of the most frequent algorithms.
pub enum Frequent<'a> {
    /// RED.
    Red(Known<'a, Red>),
    /// PIE.
    Pie(Known<'a, Pie>),
}

/// Returns the verdict for a packet that is dropped instead of marked, unless it is `capable` and marks are on (`ecn`).
#[inline(always)]
fn marked_or_dropped(verdict: Verdict, ecn: bool, capable: bool) -> Verdict {
    match verdict {
        Verdict::Mark if !(ecn && capable) => Verdict::Refuse,
        verdict => verdict,
    }
}

impl Admission for Known<'_, Red> {
    #[inline(always)]
    fn decide(&mut self, arrival: &Arrival) -> Verdict {
        let verdict = self.algorithm.decide(arrival, || self.stream.fraction());
        marked_or_dropped(verdict, self.ecn, arrival.capable)
    }

    fn ignores_idle_arrivals(&self) -> bool {
        self.algorithm.ignores_idle_arrivals()
    }

    #[inline(always)]
    fn admit(&mut self, _arrival: &Arrival, _begins: Time) {}

    fn overflow(&mut self, _now: Time) {}
}

impl Admission for Known<'_, Pie> {
    #[inline(always)]
    fn decide(&mut self, arrival: &Arrival) -> Verdict {
        let verdict = self.algorithm.decide(arrival, || self.stream.fraction());
        marked_or_dropped(verdict, self.ecn, arrival.capable)
    }

    fn ignores_idle_arrivals(&self) -> bool {
        self.algorithm.ignores_idle_arrivals()
    }

    #[inline(always)]
    fn admit(&mut self, arrival: &Arrival, begins: Time) {
        self.algorithm.admit(arrival, begins);
    }

    fn overflow(&mut self, _now: Time) {
        self.algorithm.overflow();
    }
}

/// Active queue management of one port, which decides on arrivals.
#[derive(Clone, Debug)]
pub struct Aqm {
    kind: Algorithm,
    ecn: bool,
    stream: Stream,
}

impl Aqm {
    /// Creates the algorithm of a link of the given rate, or None if the policy is not active queue management at
    /// enqueue.
    pub fn new(policy: &impl Parameters, rate_bps: u64, seed: u64, link: u64) -> Option<Box<Aqm>> {
        let (kind, ecn) = policy.algorithm(rate_bps)?;
        let stream = Stream::new(seed, "policy", link);
        Some(Box::new(Aqm { kind, ecn, stream }))
    }

    /// Returns the algorithm if it is one of the most frequent ones.
    #[inline(always)]
    pub fn frequent(&mut self) -> Option<Frequent<'_>> {
        let (ecn, stream) = (self.ecn, &mut self.stream);
        match &mut self.kind {
            Algorithm::Red(algorithm) => Some(Frequent::Red(Known { algorithm, ecn, stream })),
            Algorithm::Pie(algorithm) => Some(Frequent::Pie(Known { algorithm, ecn, stream })),
            Algorithm::StepMarking(_) | Algorithm::Blue(_) => None,
        }
    }

    /// Records that a packet was admitted; `begin_service` will report the start of its transmission.
    pub fn enqueue(&mut self, arrival: &Arrival) {
        if let Algorithm::Pie(pie) = &mut self.kind {
            pie.enqueue(arrival);
        }
    }

    /// Records the transmission start of the next of the packets that `enqueue` reported.
    pub fn begin_service(&mut self, begins: Time) {
        if let Algorithm::Pie(pie) = &mut self.kind {
            pie.begin_service(begins);
        }
    }

    /// Records that an outage drops all packets whose transmission has not started at `now`.
    pub fn purge(&mut self, now: Time) {
        if let Algorithm::Pie(pie) = &mut self.kind {
            pie.purge(now);
        }
    }
}

impl Admission for Aqm {
    #[inline]
    fn decide(&mut self, arrival: &Arrival) -> Verdict {
        let Aqm { kind, ecn, stream } = self;
        let draw = || stream.fraction();
        let verdict = match kind {
            Algorithm::Red(red) => red.decide(arrival, draw),
            Algorithm::Pie(pie) => pie.decide(arrival, draw),
            Algorithm::StepMarking(step) => step.decide(arrival),
            Algorithm::Blue(blue) => blue.decide(arrival, draw),
        };
        marked_or_dropped(verdict, *ecn, arrival.capable)
    }

    fn ignores_idle_arrivals(&self) -> bool {
        match &self.kind {
            Algorithm::Red(red) => red.ignores_idle_arrivals(),
            Algorithm::Pie(pie) => pie.ignores_idle_arrivals(),
            // No packet waits, and the threshold is at least 1.
            Algorithm::StepMarking(_) => true,
            // An idle line lowers the probability, and each arrival draws a random number.
            Algorithm::Blue(_) => false,
        }
    }

    fn admit(&mut self, arrival: &Arrival, begins: Time) {
        if let Algorithm::Pie(pie) = &mut self.kind {
            pie.admit(arrival, begins);
        }
    }

    fn overflow(&mut self, now: Time) {
        match &mut self.kind {
            Algorithm::Blue(blue) => blue.overflow(now),
            Algorithm::Pie(pie) => pie.overflow(),
            Algorithm::Red(_) | Algorithm::StepMarking(_) => {}
        }
    }
}
