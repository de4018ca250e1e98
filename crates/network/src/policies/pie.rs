//! Proportional integral controller enhanced: every 15 ms the delay moves the probability by which arrivals go (RFC 8033).

use super::{Arrival, Verdict};
use crate::packets::ring::Ring;
use crate::scenario::{PieConfig, PieDelay, PieRules};
use longpipe_events::{Span, Time, PS_PER_SECOND};

const MILLISECOND: u64 = PS_PER_SECOND / 1_000;
/// Above this delay the probability grows by so much more (RFC 8033 section 5.5).
const HIGH_DELAY: Span = Span(250 * MILLISECOND);
const HIGH_STEP: f64 = 0.02;
/// Most that it grows by at once where it is not small.
const LARGEST_STEP: f64 = 0.02;
/// Largest probability at which arrivals are marked rather than refused (RFC 8033 section 5.1).
const LARGEST_TO_MARK: f64 = 0.1;
/// Bounds of what derandomization sums up (RFC 8033 section 5.4).
const NONE_BELOW: f64 = 0.85;
const SURE_FROM: f64 = 8.5;
/// Bytes from which on, and over which, the rate of departures is measured (RFC 8033 section 5.2).
const MEASURED_BYTES: u64 = 16_384;
/// ns-3's byte count of no measurement cycle.
const DQCOUNT_INVALID: u64 = u64::MAX;
/// Weight of a new time in their mean: 2^14 over 2^16 bytes (RFC 8033 appendix A).
const TIME_WEIGHT: f64 = 0.25;
/// ns-3 protects another burst after so long without congestion.
const BURST_RESET: u64 = 3 * PS_PER_SECOND / 2;

/// Begin of a service that is not known yet.
const UNKNOWN: Time = Time(u64::MAX);

/// A packet that has not begun to leave.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    arrival: Time,
    /// When its service begins, or `UNKNOWN`.
    begins: Time,
    bytes: u64,
}

/// ns-3's states of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Burst {
    None,
    Calm { updates: u64 },
    Protected,
}

/// The departure-rate estimator, which measures in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Departures {
    /// Start of the measurement cycle, and the bytes that departed since (ns-3: `m_dqStart`, `m_dqCount`).
    cycle: Option<(Time, u64)>,
    /// Rate [byte/s], or the time that `MEASURED_BYTES` take [ps].
    mean: Option<f64>,
}

impl Departures {
    /// Discards the estimate, because the delay is short and nothing is dropped (RFC 8033 section 4.4).
    fn reset(&mut self, rules: PieRules) {
        self.mean = None;
        self.cycle = match rules {
            // ns-3 sets `m_dqCount` to `DQCOUNT_INVALID` but leaves `m_inMeasurement`, so a cycle in progress continues from its old
            // start, and its count wraps around at the next departure.
            PieRules::Ns3 => self.cycle.map(|(start, _)| (start, DQCOUNT_INVALID)),
            PieRules::Rfc8033 | PieRules::Linux => None,
        };
    }

    /// Takes a departure into a mean of rates, as ns-3 does; `waiting` bytes stay behind.
    fn rate_after(&mut self, packet: &Waiting, waiting: u64) {
        if self.cycle.is_none() && waiting >= MEASURED_BYTES {
            self.cycle = Some((packet.begins, 0));
        }
        let Some((lasted, bytes)) = self.cycle_after(packet) else {
            return;
        };
        let measured = bytes as f64 * PS_PER_SECOND as f64 / lasted as f64;
        self.mean = Some(self.mean.map_or(measured, |rate| 0.5 * rate + 0.5 * measured));
        self.cycle = (waiting > MEASURED_BYTES).then_some((packet.begins, 0));
    }

    /// Takes a departure into a mean of times, as RFC 8033 does; `waiting` bytes stay behind.
    fn time_after(&mut self, packet: &Waiting, waiting: u64) {
        if let Some((lasted, _)) = self.cycle_after(packet) {
            let measured = lasted as f64;
            let mean = |before| measured * TIME_WEIGHT + before * (1.0 - TIME_WEIGHT);
            self.mean = Some(self.mean.map_or(measured, mean));
            self.cycle = None;
        }
        if self.cycle.is_none() && waiting >= MEASURED_BYTES {
            self.cycle = Some((packet.begins, 0));
        }
    }

    /// Counts a departure; how long the cycle lasted [ps] and its bytes, if that ends it.
    fn cycle_after(&mut self, packet: &Waiting) -> Option<(u64, u64)> {
        let (since, bytes) = self.cycle.as_mut()?;
        *bytes = bytes.wrapping_add(packet.bytes);
        let lasted = (packet.begins - *since).0;
        (*bytes >= MEASURED_BYTES && lasted > 0).then_some((lasted, *bytes))
    }
}

/// The controller of one queue.
#[derive(Clone, Debug)]
pub struct Pie {
    config: PieConfig,
    probability: f64,
    /// At the last update.
    delay_before: Span,
    /// How long the last packet to leave had waited, nothing if none waited behind it.
    delay: Span,
    /// How long the burst may go on.
    allowance: Span,
    burst: Burst,
    /// Summed up since an arrival last went.
    sum: f64,
    next_update: Time,
    last_departure: Option<Time>,
    departures: Departures,
    waiting: Ring<Waiting>,
    /// Packets at the end of `waiting` whose service has no known begin.
    unscheduled: u64,
    bytes_waiting: u64,
}

impl Pie {
    /// An idle one.
    pub fn new(config: &PieConfig) -> Pie {
        let (allowance, burst) = match config.rules {
            PieRules::Ns3 => (Span(0), Burst::None),
            PieRules::Rfc8033 | PieRules::Linux => (Span(config.burst_ps), Burst::Protected),
        };
        Pie {
            config: config.clone(),
            probability: 0.0,
            delay_before: Span(0),
            delay: Span(0),
            allowance,
            burst,
            sum: 0.0,
            next_update: Time(config.update_ps),
            last_departure: None,
            departures: Departures::default(),
            waiting: Ring::default(),
            unscheduled: 0,
            bytes_waiting: 0,
        }
    }

    /// The probability by which arrivals go.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Judges an arrival; `draw` gives a number in [0, 1).
    pub fn judge(&mut self, arrival: &Arrival, draw: impl FnOnce() -> f64) -> Verdict {
        self.update_before(arrival.now);
        let goes = self.is_to_go(arrival, draw);
        let marked = goes && self.config.ecn && arrival.capable && self.probability <= LARGEST_TO_MARK;
        if goes && (!marked || self.config.rules == PieRules::Linux) {
            self.sum = 0.0;
        }
        match (goes, marked) {
            (false, _) => Verdict::Admit,
            (true, true) => Verdict::Mark,
            (true, false) => Verdict::Refuse,
        }
    }

    /// Whether packets that find the line idle leave all as it is, after one that began to leave at once: none of them waits, so
    /// that each only says again, as RFC 8033 counts, that the delay is zero.
    pub fn is_calm(&self) -> bool {
        let PieConfig { delay, rules, .. } = self.config;
        delay == PieDelay::Sojourn && rules == PieRules::Rfc8033
    }

    /// Takes in an admitted packet whose service will begin at `begins`. A packet that finds the line idle begins with its arrival, so
    /// that an update at this instant no longer sees it.
    pub fn admit(&mut self, arrival: &Arrival, begins: Time) {
        let packet = Waiting {
            arrival: arrival.now,
            begins,
            bytes: arrival.bytes,
        };
        if arrival.idle_since.is_some() {
            self.depart(&packet);
        } else {
            self.bytes_waiting += packet.bytes;
            self.waiting.push(packet);
        }
    }

    /// Takes in an admitted packet whose begin of service `begin_service` will tell.
    pub fn enqueue(&mut self, arrival: &Arrival) {
        self.bytes_waiting += arrival.bytes;
        self.unscheduled += 1;
        self.waiting.push(Waiting {
            arrival: arrival.now,
            begins: UNKNOWN,
            bytes: arrival.bytes,
        });
    }

    /// The service of the oldest packet without a known begin begins at `begins`.
    pub fn begin_service(&mut self, begins: Time) {
        let number = self.waiting.tail() - self.unscheduled;
        self.unscheduled -= 1;
        let packet = self.waiting.get_mut(number);
        packet.begins = begins;
        if packet.arrival == begins {
            // It found the transmitter idle, so that it is the last one.
            let packet = *packet;
            self.waiting.pop_last();
            self.bytes_waiting -= packet.bytes;
            self.depart(&packet);
        }
    }

    /// All packets whose service has not begun at `now` are dropped, but not by this controller.
    pub fn purge(&mut self, now: Time) {
        while let Some(&packet) = self.waiting.last().filter(|packet| packet.begins > now) {
            self.waiting.pop_last();
            self.bytes_waiting -= packet.bytes;
        }
        self.unscheduled = 0;
    }

    /// An arrival found no room.
    pub fn overflow(&mut self) {
        self.sum = 0.0;
    }

    fn is_to_go(&mut self, arrival: &Arrival, draw: impl FnOnce() -> f64) -> bool {
        if self.allowance.0 > 0 {
            return false;
        }
        if self.config.rules == PieRules::Ns3 && self.burst == Burst::None {
            (self.burst, self.allowance) = (Burst::Protected, Span(self.config.burst_ps));
        }
        let calm = 2 * self.delay_before.0 < self.config.target_ps && self.probability < 0.2;
        if calm || arrival.bytes_waiting <= self.config.least_backlog_bytes {
            return false;
        }
        if self.config.derandomize {
            if self.probability == 0.0 {
                self.sum = 0.0;
            }
            self.sum += self.probability;
            if self.sum < NONE_BELOW {
                return false;
            }
            if self.sum >= SURE_FROM {
                return true;
            }
        }
        draw() <= self.probability
    }

    /// Does what is due before `now`, departures and updates in their order.
    pub fn update_before(&mut self, now: Time) {
        while self.next_update < now {
            let (due, every) = (self.next_update, self.config.update_ps);
            self.depart_before(due);
            let before = self.at_rest();
            self.update();
            self.next_update = due + Span(every);
            if before.is_some() && before == self.at_rest() && self.next_update < now {
                // Nor does any other update move it before something comes.
                let others = (now.0 - self.next_update.0).div_ceil(every);
                self.next_update += Span(others * every);
            }
        }
        self.depart_before(now);
    }

    /// All that an update moves, where nothing waits.
    fn at_rest(&self) -> Option<(f64, [Span; 3], Burst, Departures)> {
        let spans = [self.delay, self.delay_before, self.allowance];
        let state = (self.probability, spans, self.burst, self.departures);
        self.waiting.is_empty().then_some(state)
    }

    /// Takes the packets out whose service began before `time`.
    fn depart_before(&mut self, time: Time) {
        while let Some(&packet) = self.waiting.first().filter(|packet| packet.begins < time) {
            self.waiting.pop();
            self.bytes_waiting -= packet.bytes;
            self.depart(&packet);
        }
    }

    /// Takes the service of a packet, which no longer waits, into the delay or its estimate.
    fn depart(&mut self, packet: &Waiting) {
        let followed = self.waiting.first().is_some_and(|next| next.arrival < packet.begins);
        match self.config.delay {
            PieDelay::Sojourn if followed => self.delay = packet.begins - packet.arrival,
            PieDelay::Sojourn => self.delay = Span(0),
            PieDelay::DepartureRate => {
                let behind = self.behind(packet);
                self.departures.rate_after(packet, behind);
            }
            PieDelay::DepartureTime => {
                let behind = self.behind(packet);
                self.departures.time_after(packet, behind);
            }
        }
        if self.config.rules == PieRules::Linux {
            let since = self.last_departure.map_or(Span(0), |last| packet.begins - last);
            self.allowance = Span(self.allowance.0.saturating_sub(since.0));
        }
        self.last_departure = Some(packet.begins);
    }

    /// Bytes that had come when this packet departed and still wait, whatever has come since.
    fn behind(&self, packet: &Waiting) -> u64 {
        let behind = self.waiting.iter().take_while(|next| next.arrival <= packet.begins);
        behind.map(|next| next.bytes).sum()
    }

    /// The delay moves the probability.
    fn update(&mut self) {
        let mut known = true;
        let (waiting, mean) = (self.bytes_waiting as f64, self.departures.mean);
        let estimate = match self.config.delay {
            PieDelay::Sojourn => None,
            PieDelay::DepartureRate => Some(mean.map(|rate| waiting / rate * PS_PER_SECOND as f64)),
            PieDelay::DepartureTime => Some(mean.map(|time| waiting * time / MEASURED_BYTES as f64)),
        };
        if let Some(delay) = estimate {
            known = delay.is_some();
            let delay = delay.unwrap_or(0.0);
            self.delay = match self.config.rules {
                // ns-3 rounds the estimate to a whole nanosecond.
                PieRules::Ns3 => Span(1_000 * (delay / 1_000.0).round() as u64),
                PieRules::Rfc8033 | PieRules::Linux => Span(delay as u64),
            };
        }
        let (delay, before) = (self.delay, self.delay_before);
        if self.config.rules == PieRules::Ns3 && self.allowance.0 > 0 {
            self.probability = 0.0;
        } else {
            self.probability += self.step();
        }
        let idle = delay.0 == 0 && before.0 == 0;
        if idle && !(self.config.rules == PieRules::Linux && self.bytes_waiting > 0) {
            self.probability *= match self.config.rules {
                PieRules::Ns3 => 0.98,
                PieRules::Rfc8033 | PieRules::Linux => 63.0 / 64.0,
            };
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        let calm = 2 * delay.0 < self.config.target_ps && 2 * before.0 < self.config.target_ps;
        self.move_burst(calm && self.probability == 0.0, known);
        self.delay_before = delay;
    }

    /// How far the probability moves, the less the smaller it is.
    fn step(&self) -> f64 {
        let seconds = |span: Span| span.0 as f64 / PS_PER_SECOND as f64;
        let PieConfig { alpha, beta, .. } = self.config;
        let delay = seconds(self.delay);
        let error =
            alpha * (delay - seconds(Span(self.config.target_ps))) + beta * (delay - seconds(self.delay_before));
        let divisor = match self.probability {
            p if p < 1e-6 => 2048.0,
            p if p < 1e-5 => 512.0,
            p if p < 1e-4 => 128.0,
            p if p < 1e-3 => 32.0,
            p if p < 1e-2 => 8.0,
            p if p < 1e-1 => 2.0,
            _ => 1.0,
        };
        let step = error / divisor;
        let step = if self.probability >= 0.1 {
            step.min(LARGEST_STEP)
        } else {
            step
        };
        // ns-3 has no such step.
        if self.delay > HIGH_DELAY && self.config.rules != PieRules::Ns3 {
            step + HIGH_STEP
        } else {
            step
        }
    }

    /// A burst is used up, or another one may come; `calm`: short delays, and a probability of zero.
    fn move_burst(&mut self, calm: bool, known: bool) {
        if calm && known && self.config.delay == PieDelay::DepartureRate {
            self.departures.reset(self.config.rules);
        }
        let left = Span(self.allowance.0.saturating_sub(self.config.update_ps));
        match self.config.rules {
            PieRules::Rfc8033 => self.allowance = if calm { Span(self.config.burst_ps) } else { left },
            PieRules::Linux if calm && known => self.allowance = Span(self.config.burst_ps),
            PieRules::Linux => {}
            PieRules::Ns3 => {
                self.allowance = left;
                let calm = calm && left.0 == 0;
                self.burst = match self.burst {
                    Burst::Protected if calm => Burst::Calm { updates: 0 },
                    Burst::Calm { updates } if calm && updates + 1 > BURST_RESET / self.config.update_ps => Burst::None,
                    Burst::Calm { updates } if calm => Burst::Calm { updates: updates + 1 },
                    Burst::Calm { .. } => Burst::Calm { updates: 0 },
                    other => other,
                };
            }
        }
    }
}
