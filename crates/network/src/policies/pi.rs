//! PI: a proportional integral controller updates the drop probability at fixed intervals from the length of the queue
//! (Hollot, Misra, Towsley and Gong 2001).

use super::aqm::{Algorithm, AtEnqueue};
use super::parameters::{Decides, Facts, Marks, Parameters};
use super::{Arrival, Verdict};
use longpipe_events::{Ring, Span, Time};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// PI: a controller sets the drop probability from the queue length at fixed intervals (Hollot et al. 2001).
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "PI")]
#[described(rule("b", "b > a", "{b}; needs at most a, {a}"))]
pub struct PiConfig {
    /// Queue length that the controller aims at [packets]; ns-2 qref_.
    #[field(range = "[0, 1_000_000]", default = 50)]
    pub target: u32,
    /// Gain for the current deviation from the target [1/packet]; ns-2 a_.
    #[field(range = "(0, 1]", default = 1.822e-5)]
    pub a: f64,
    /// Gain for the previous deviation from the target [1/packet]; ns-2 b_.
    #[field(range = "[0, 1]", default = 1.816e-5)]
    pub b: f64,
    /// Update interval of the probability [time]; ns-2 w_, 170 Hz.
    #[field(range = "[10 us, 1000 s]", default = "5.882353 ms")]
    pub update_ps: u64,
    /// Mark ECN-capable packets instead of dropping them; RFC 3168 section 5.
    #[field(default = false)]
    pub ecn: bool,
}

impl Parameters for PiConfig {
    const FACTS: Facts = Facts::new(Decides::AtEnqueue).random().marking(Marks::WithEcn);

    /// The probability rises from zero only if the queue exceeds the target or grows: without a queue, each update adds
    /// (b - a) times the target, which is not positive.
    fn is_inert_without_queue(&self) -> bool {
        true
    }

    fn update_ps(&self) -> Option<u64> {
        Some(self.update_ps)
    }

    fn algorithm(&self, _rate_bps: u64) -> Option<(Algorithm, bool)> {
        Some((Algorithm::Pi(Pi::new(self)), self.ecn))
    }
}

/// Placeholder for a transmission start that is not known yet.
const UNKNOWN: Time = Time(u64::MAX);

/// State of PI: the probability, and the packets that an update may find in the queue.
#[derive(Clone, Debug)]
pub struct Pi {
    config: PiConfig,
    probability: f64,
    /// Queue length [packet] at the latest update.
    previous: u64,
    next_update: Time,
    /// Transmission start of each packet in the queue, or `UNKNOWN`.
    waiting: Ring<Time>,
    /// Number of packets at the end of `waiting` whose transmission start is not known.
    unscheduled: u64,
}

impl AtEnqueue for Pi {
    fn decide(&mut self, arrival: &Arrival, mut draw: impl FnMut() -> f64) -> Verdict {
        self.update_before(arrival.now);
        if draw() < self.probability {
            Verdict::Mark
        } else {
            Verdict::Admit
        }
    }

    /// The probability remains positive for a long time on an idle line, and each arrival draws a random number.
    fn ignores_idle_arrivals(&self) -> bool {
        false
    }

    fn admit(&mut self, _arrival: &Arrival, begins: Time) {
        self.waiting.push(begins);
    }

    fn enqueue(&mut self, _arrival: &Arrival) {
        self.unscheduled += 1;
        self.waiting.push(UNKNOWN);
    }

    fn begin_service(&mut self, begins: Time) {
        let number = self.waiting.tail() - self.unscheduled;
        self.unscheduled -= 1;
        *self.waiting.get_mut(number) = begins;
    }

    fn purge(&mut self, now: Time) {
        self.update_before(now);
        while self.waiting.last().is_some_and(|&begins| begins > now) {
            self.waiting.pop_last();
        }
        self.unscheduled = 0;
    }
}

impl Pi {
    /// Creates the state of an idle line.
    pub fn new(config: &PiConfig) -> Pi {
        Pi {
            config: config.clone(),
            probability: 0.0,
            previous: 0,
            next_update: Time(config.update_ps),
            waiting: Ring::default(),
            unscheduled: 0,
        }
    }

    /// Returns the drop probability.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Performs the updates before `now`. An update follows all arrivals and transmission starts of the same instant.
    fn update_before(&mut self, now: Time) {
        while self.next_update < now {
            self.depart_until(self.next_update);
            let before = (self.probability, self.previous);
            self.update(self.waiting.len());
            self.next_update += Span(self.config.update_ps);
            if self.waiting.is_empty() && before == (self.probability, self.previous) && self.next_update < now {
                // Further updates before `now` also leave the state unchanged.
                let skipped = (now - self.next_update).0.div_ceil(self.config.update_ps);
                self.next_update += Span(skipped * self.config.update_ps);
            }
        }
        self.depart_until(now);
    }

    /// Removes the packets whose transmission has started by `time`.
    fn depart_until(&mut self, time: Time) {
        while self.waiting.first().is_some_and(|&begins| begins <= time) {
            self.waiting.pop();
        }
    }

    /// Updates the probability for a queue of `packets`: p(kT) = p((k-1)T) + a (q(kT) - q_ref) - b (q((k-1)T) - q_ref)
    /// (Hollot et al. 2001; ns-2 `PIQueue::calculate_p`).
    fn update(&mut self, packets: u64) {
        let target = f64::from(self.config.target);
        let (now, before) = (packets as f64 - target, self.previous as f64 - target);
        let step = self.config.a * now - self.config.b * before;
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        self.previous = packets;
    }
}
