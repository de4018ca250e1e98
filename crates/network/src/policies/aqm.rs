//! Active queue management at enqueue: one algorithm with its random stream.

use super::avq::Avq;
use super::blue::Blue;
use super::parameters::Parameters;
use super::pi::Pi;
use super::pie::Pie;
use super::red::Red;
use super::step_marking::StepMarking;
use super::{Arrival, Verdict};
use longpipe_events::{Stream, Time};

/// An algorithm that decides on arriving packets. The default methods are those of an algorithm whose state depends only
/// on the arrivals on which it decides.
pub trait AtEnqueue {
    /// Decides whether to admit, mark or drop an arriving packet; `draw` returns random numbers in [0, 1).
    fn decide(&mut self, arrival: &Arrival, draw: impl FnMut() -> f64) -> Verdict;

    /// Returns whether packets that arrive at an idle line are certain to be admitted unmarked and to leave the state
    /// unchanged, provided that the previous packet was transmitted without waiting. Both engines decide equally only if
    /// this is exact: the fast engine does not call `decide` for such packets.
    fn ignores_idle_arrivals(&self) -> bool;

    /// Records that a packet was admitted; its transmission will start at `begins`. Queues that do not know this time yet
    /// call `enqueue` and `begin_service` instead.
    #[inline(always)]
    fn admit(&mut self, _arrival: &Arrival, _begins: Time) {}

    /// Records that a packet was admitted; `begin_service` will report the start of its transmission.
    fn enqueue(&mut self, _arrival: &Arrival) {}

    /// Records the transmission start of the oldest packet that `enqueue` reported and for which it is not known.
    fn begin_service(&mut self, _begins: Time) {}

    /// Records that an outage drops all packets whose transmission has not started at `now`.
    fn purge(&mut self, _now: Time) {}

    /// Records that a packet on which the algorithm decided found the buffer full.
    fn overflow(&mut self, _now: Time) {}
}

/// Declares the algorithms: the enum of their states, and its calls of the methods of `AtEnqueue`.
macro_rules! algorithms {
    ($($(#[$about:meta])* $name:ident($state:ty);)+) => {
        /// State of one of the algorithms.
        #[derive(Clone, Debug)]
        pub enum Algorithm {
            $($(#[$about])* $name($state),)+
        }

        impl AtEnqueue for Algorithm {
            #[inline(always)]
            fn decide(&mut self, arrival: &Arrival, draw: impl FnMut() -> f64) -> Verdict {
                match self { $(Algorithm::$name(state) => state.decide(arrival, draw),)+ }
            }

            fn ignores_idle_arrivals(&self) -> bool {
                match self { $(Algorithm::$name(state) => state.ignores_idle_arrivals(),)+ }
            }

            #[inline(always)]
            fn admit(&mut self, arrival: &Arrival, begins: Time) {
                match self { $(Algorithm::$name(state) => state.admit(arrival, begins),)+ }
            }

            fn enqueue(&mut self, arrival: &Arrival) {
                match self { $(Algorithm::$name(state) => state.enqueue(arrival),)+ }
            }

            fn begin_service(&mut self, begins: Time) {
                match self { $(Algorithm::$name(state) => state.begin_service(begins),)+ }
            }

            fn purge(&mut self, now: Time) {
                match self { $(Algorithm::$name(state) => state.purge(now),)+ }
            }

            fn overflow(&mut self, now: Time) {
                match self { $(Algorithm::$name(state) => state.overflow(now),)+ }
            }
        }
    };
}

algorithms! {
    /// RED.
    Red(Red);
    /// PIE.
    Pie(Pie);
    /// Step marking.
    StepMarking(StepMarking);
    /// BLUE.
    Blue(Blue);
    /// AVQ.
    Avq(Avq);
    /// PI.
    Pi(Pi);
}

/// Interface of an algorithm together with its random stream; see `AtEnqueue`.
pub trait Admission {
    /// Decides on an arriving packet. If the packet would be marked but is not ECN-capable, it is dropped.
    fn decide(&mut self, arrival: &Arrival) -> Verdict;

    /// See `AtEnqueue::ignores_idle_arrivals`.
    fn ignores_idle_arrivals(&self) -> bool;

    /// See `AtEnqueue::admit`.
    fn admit(&mut self, arrival: &Arrival, begins: Time);

    /// See `AtEnqueue::overflow`.
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

impl<A: AtEnqueue> Admission for Known<'_, A> {
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

    fn overflow(&mut self, now: Time) {
        self.algorithm.overflow(now);
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
            _ => None,
        }
    }

    /// See `AtEnqueue::enqueue`.
    pub fn enqueue(&mut self, arrival: &Arrival) {
        self.kind.enqueue(arrival);
    }

    /// See `AtEnqueue::begin_service`.
    pub fn begin_service(&mut self, begins: Time) {
        self.kind.begin_service(begins);
    }

    /// See `AtEnqueue::purge`.
    pub fn purge(&mut self, now: Time) {
        self.kind.purge(now);
    }
}

impl Admission for Aqm {
    #[inline]
    fn decide(&mut self, arrival: &Arrival) -> Verdict {
        let Aqm { kind, ecn, stream } = self;
        let verdict = kind.decide(arrival, || stream.fraction());
        marked_or_dropped(verdict, *ecn, arrival.capable)
    }

    fn ignores_idle_arrivals(&self) -> bool {
        self.kind.ignores_idle_arrivals()
    }

    fn admit(&mut self, arrival: &Arrival, begins: Time) {
        self.kind.admit(arrival, begins);
    }

    fn overflow(&mut self, now: Time) {
        self.kind.overflow(now);
    }
}
