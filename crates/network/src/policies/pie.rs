//! PIE (proportional integral controller enhanced): updates the drop probability every 15 ms from the queueing delay
//! (RFC 8033).

use super::aqm::{Algorithm, AtEnqueue};
use super::parameters::{Decides, Facts, Mahimahi, Marks, Parameters};
use super::{Arrival, Verdict};
use longpipe_events::{Ring, Span, Time, PS_PER_SECOND};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// PIE: a PI controller sets the drop probability from the queueing delay and its change (RFC 8033).
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "PIE")]
pub struct PieConfig {
    /// Target queueing delay [time]; RFC 8033 QDELAY_REF.
    #[field(range = "[1 us, 1000 s]", default = "15 ms")]
    pub target_ps: u64,
    /// Update interval of the drop probability [time]; RFC 8033 T_UPDATE.
    // Shorter intervals would dominate the run time.
    #[field(range = "[10 us, 1000 s]", default = "15 ms")]
    pub update_ps: u64,
    /// Burst allowance without drops [time]; RFC 8033 MAX_BURST.
    #[field(range = "[0 s, 1000 s]", default = "150 ms")]
    pub burst_ps: u64,
    /// Gain for the delay's deviation from the target [1/s]; RFC 8033.
    #[field(range = "(0, 1e9]", default = 0.125)]
    pub alpha: f64,
    /// Gain for the change in delay [1/s]; RFC 8033 section 4.2.
    #[field(range = "(0, 1e9]", default = 1.25)]
    pub beta: f64,
    /// PIE neither drops nor marks up to this backlog [bytes]; RFC 8033 section 4.1, two packets; with the rules of
    /// ns-3, two packets of any length.
    #[field(range = "[0 B, 1 GB]", default = "3000 B")]
    pub least_backlog_bytes: u64,
    /// Mark ECN-capable packets instead of dropping them; RFC 3168 section 5.
    #[field(default = false)]
    pub ecn: bool,
    /// Estimate of the delay: the sojourn time of the latest departure; the backlog over the departure rate (averaged
    /// with weight 1/2 as ns-3, or 1/8 with the rules of Linux); or the backlog times the time per byte over 2^14 bytes
    /// (averaged with weight 1/4); RFC 8033 section 5.2.
    #[field(default = "sojourn")]
    pub delay: PieDelay,
    /// Implementation whose rules apply to bursts and to very short and very long delays.
    #[field(default = "rfc-8033")]
    pub rules: PieRules,
    /// Spread drops out (derandomize); RFC 8033 section 5.4.
    #[field(default = true)]
    pub derandomize: bool,
}

/// Estimators of the queueing delay in PIE.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum PieDelay {
    /// Sojourn time of the packet that departed most recently.
    Sojourn,
    /// Queue length divided by the mean departure rate, as in ns-3.
    DepartureRate,
    /// Queue length times the mean time that 2^14 bytes took to depart, divided by 2^14 bytes (RFC 8033 section 5.2,
    /// appendix B).
    DepartureTime,
}

/// PIE's rules for bursts and for extreme probabilities, by their source.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum PieRules {
    /// RFC 8033.
    #[serde(rename = "rfc-8033")]
    Rfc8033,
    /// Linux.
    Linux,
    /// ns-3.
    #[serde(rename = "ns-3")]
    Ns3,
}

impl Parameters for PieConfig {
    const FACTS: Facts = Facts::new(Decides::AtEnqueue)
        .random()
        .marking(Marks::WithEcn)
        // mahimahi updates the probability every 30 ms.
        .in_mahimahi(Mahimahi {
            name: "pie",
            arguments: &[("qdelay_ref", "target"), ("max_burst", "burst")],
            constants: &[("update", "30 ms"), ("delay", "departure-rate")],
        });

    /// A backlog of zero is never above `least_backlog_bytes`.
    fn is_inert_without_queue(&self) -> bool {
        true
    }

    fn update_ps(&self) -> Option<u64> {
        Some(self.update_ps)
    }

    fn algorithm(&self, _rate_bps: u64) -> Option<(Algorithm, bool)> {
        Some((Algorithm::Pie(Pie::new(self)), self.ecn))
    }
}

const MILLISECOND: u64 = PS_PER_SECOND / 1_000;
/// Queueing delay above which each update of Linux adds another 2 % to the probability (`calculate_probability`).
const HIGH_DELAY: Span = Span(250 * MILLISECOND);
const HIGH_STEP: f64 = 0.02;
/// Maximum increase per update of a probability that is at least 0.1 (RFC 8033 section 5.5).
const MAX_STEP: f64 = 0.02;
/// Maximum probability at which ECN-capable packets are marked instead of dropped (RFC 8033 section 5.1).
const MAX_MARK_PROBABILITY: f64 = 0.1;
/// Bounds on the accumulated probability: below the lower bound no packet is dropped, and above the upper bound every
/// packet is dropped (derandomization, RFC 8033 section 5.4).
const MIN_SUM_TO_DROP: f64 = 0.85;
const SUM_OF_CERTAIN_DROP: f64 = 8.5;
/// Probability above which Linux's 64-bit number overflows, and is replaced by 1 (`pie_calculate_probability`).
const LINUX_OVERFLOW: f64 = 256.0;
/// Unit of Linux's times [ps] (`PSCHED_SHIFT`), and of its departure rate: bytes per 256 units (`PIE_SCALE`).
const LINUX_TICK: u64 = 64_000;
const LINUX_SCALE: u64 = 256;
/// Minimum backlog at which the departure rate is measured, and the number of bytes in one measurement (RFC 8033
/// section 5.2, DQ_THRESHOLD).
const MEASURED_BYTES: u64 = 16_384;
/// Byte count by which ns-3 represents the absence of a measurement cycle.
const DQCOUNT_INVALID: u64 = u64::MAX;
/// Weight of a new measurement in the average: 2^14 / 2^16 (RFC 8033 appendix B).
const TIME_WEIGHT: f64 = 0.25;
/// Time [ps] without congestion after which ns-3 allows another burst.
const BURST_RESET: u64 = 3 * PS_PER_SECOND / 2;

/// Number of waiting packets up to which ns-3 neither drops nor marks, if the queue's limit is a number of packets.
const SHORT_QUEUE: u64 = 2;

/// Placeholder for a transmission start that is not known yet.
const UNKNOWN: Time = Time(u64::MAX);

/// A packet whose departure the controller has not processed.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    /// Time at which it entered the queue.
    arrival: Time,
    /// Time at which its transmission starts, or `UNKNOWN`.
    begins: Time,
    /// Length of the packet.
    bytes: u64,
}

/// States of ns-3's burst allowance (`BurstStateT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Burst {
    /// No burst is protected; the next one will be.
    None,
    /// The allowance is used up, and there has been no congestion for this number of updates.
    LowDelay { updates: u64 },
    /// A burst is or was protected by the allowance.
    Protected,
}

/// Estimator of the departure rate, based on measurement cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Departures {
    /// Start of the measurement cycle, and the number of bytes that have departed since then (ns-3: `m_dqStart`,
    /// `m_dqCount`).
    cycle: Option<(Time, u64)>,
    /// Average rate [byte/s], or average time [ps] in which `MEASURED_BYTES` depart; with Linux's rules the average rate
    /// in its units, rounded down.
    mean: Option<f64>,
}

impl Departures {
    /// Discards the estimate, because the delay is short and no packet is dropped (RFC 8033 section 4.4).
    fn reset(&mut self, rules: PieRules) {
        self.mean = None;
        self.cycle = match rules {
            // ns-3 sets `m_dqCount` to `DQCOUNT_INVALID` but leaves `m_inMeasurement`, so a cycle in progress continues
            // from its old start, and its count wraps around at the next departure.
            PieRules::Ns3 => self.cycle.map(|(start, _)| (start, DQCOUNT_INVALID)),
            PieRules::Rfc8033 | PieRules::Linux => None,
        };
    }

    /// Returns the delay [ps] of a queue with `waiting` bytes by the average rate, if it is known.
    fn delay_by_rate(&self, waiting: u64, rules: PieRules) -> Option<f64> {
        let rate = self.mean.filter(|&rate| rate > 0.0)?;
        Some(match rules {
            PieRules::Linux => (LINUX_SCALE * waiting / rate as u64 * LINUX_TICK) as f64,
            PieRules::Rfc8033 | PieRules::Ns3 => waiting as f64 / rate * PS_PER_SECOND as f64,
        })
    }

    /// Updates the average rate when a packet departs, as ns-3 and Linux do; `waiting` bytes remain queued. Returns the
    /// length of the cycle that ends, or zero.
    fn update_mean_rate(&mut self, packet: &Waiting, waiting: u64, rules: PieRules) -> Span {
        if self.cycle.is_none() && waiting >= MEASURED_BYTES {
            self.cycle = Some((packet.begins, 0));
        }
        let Some((lasted, bytes)) = self.count_departure(packet) else {
            return Span(0);
        };
        let (mean, starts_next_cycle) = match rules {
            PieRules::Linux => {
                // `pie_process_dequeue` computes with whole numbers.
                let ticks = packet.begins.0 / LINUX_TICK - (packet.begins.0 - lasted) / LINUX_TICK;
                let measured = (LINUX_SCALE * bytes / ticks.max(1)) as f64;
                let mean = |rate: f64| rate - (rate / 8.0).floor() + (measured / 8.0).floor();
                let positive = self.mean.filter(|&rate| rate > 0.0);
                (positive.map_or(measured, mean), waiting >= MEASURED_BYTES)
            }
            PieRules::Rfc8033 | PieRules::Ns3 => {
                let measured = bytes as f64 * PS_PER_SECOND as f64 / lasted as f64;
                let mean = |rate| 0.5 * rate + 0.5 * measured;
                (self.mean.map_or(measured, mean), waiting > MEASURED_BYTES)
            }
        };
        self.mean = Some(mean);
        self.cycle = starts_next_cycle.then_some((packet.begins, 0));
        Span(lasted)
    }

    /// Updates the average time when a packet departs, as RFC 8033 does; `waiting` bytes remain queued. Returns the
    /// length of the cycle that ends, or zero.
    fn update_mean_time(&mut self, packet: &Waiting, waiting: u64) -> Span {
        let ended = self.count_departure(packet);
        if let Some((lasted, _)) = ended {
            let measured = lasted as f64;
            let mean = |before| measured * TIME_WEIGHT + before * (1.0 - TIME_WEIGHT);
            self.mean = Some(self.mean.map_or(measured, mean));
            self.cycle = None;
        }
        if self.cycle.is_none() && waiting >= MEASURED_BYTES {
            self.cycle = Some((packet.begins, 0));
        }
        Span(ended.map_or(0, |(lasted, _)| lasted))
    }

    /// Counts a departure. If it ends the cycle, returns the cycle's length [ps] and its bytes.
    fn count_departure(&mut self, packet: &Waiting) -> Option<(u64, u64)> {
        let (since, bytes) = self.cycle.as_mut()?;
        *bytes = bytes.wrapping_add(packet.bytes);
        let lasted = (packet.begins - *since).0;
        (*bytes >= MEASURED_BYTES && lasted > 0).then_some((lasted, *bytes))
    }
}

/// The PIE controller of one queue.
#[derive(Clone, Debug)]
pub struct Pie {
    config: PieConfig,
    /// Drop probability.
    probability: f64,
    /// Queueing delay at the last update.
    previous_delay: Span,
    /// Queueing delay of the last packet that departed; zero if the packet left the queue empty.
    delay: Span,
    /// Remaining burst allowance.
    allowance: Span,
    /// State of the burst allowance with the rules of ns-3.
    burst: Burst,
    /// Accumulated probability since the last drop (RFC 8033 section 5.4).
    sum: f64,
    /// Time of the next periodic update.
    next_update: Time,
    /// Start of the latest transmission; with the rules of Linux, only transmissions since the last reset count.
    last_departure: Option<Time>,
    /// Estimate of the departure rate; unused if the delay is the sojourn time.
    departures: Departures,
    /// Packets in the queue, in the order of departure.
    waiting: Ring<Waiting>,
    /// Number of packets at the end of `waiting` whose transmission start is not known.
    unscheduled: u64,
    /// Length of the queue [byte].
    bytes_waiting: u64,
}

impl AtEnqueue for Pie {
    #[inline(always)]
    fn decide(&mut self, arrival: &Arrival, draw: impl FnMut() -> f64) -> Verdict {
        self.update_before(arrival.now);
        if self.config.rules == PieRules::Rfc8033 && self.is_uncongested() {
            // RFC 8033 appendix A, `enque`.
            self.allowance = Span(self.config.burst_ps);
        }
        let selected = self.selects(arrival, draw);
        let marked = selected && self.config.ecn && arrival.capable && self.probability <= MAX_MARK_PROBABILITY;
        // Linux and ns-3 keep a sum that alone decided on a packet (`SUM_OF_CERTAIN_DROP`) if they mark this packet.
        if selected && !(marked && self.keeps_sum()) {
            self.sum = 0.0;
        }
        match (selected, marked) {
            (false, _) => Verdict::Admit,
            (true, true) => Verdict::Mark,
            (true, false) => Verdict::Refuse,
        }
    }

    /// Returns whether packets that find the line idle need not be processed, provided that the packet before them was
    /// transmitted without waiting. In this state no packet waits, so each packet only confirms the delay of zero, and
    /// may restore the burst allowance, which the next packet that waits restores, too.
    fn ignores_idle_arrivals(&self) -> bool {
        let PieConfig { delay, rules, .. } = self.config;
        delay == PieDelay::Sojourn && rules == PieRules::Rfc8033
    }

    /// Records an admitted packet whose transmission will start at `begins`. The transmission of a packet that finds
    /// the line idle starts on arrival, so an update at that time does not count it.
    #[inline(always)]
    fn admit(&mut self, arrival: &Arrival, begins: Time) {
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

    fn enqueue(&mut self, arrival: &Arrival) {
        self.bytes_waiting += arrival.bytes;
        self.unscheduled += 1;
        self.waiting.push(Waiting {
            arrival: arrival.now,
            begins: UNKNOWN,
            bytes: arrival.bytes,
        });
    }

    fn begin_service(&mut self, begins: Time) {
        let number = self.waiting.tail() - self.unscheduled;
        self.unscheduled -= 1;
        let packet = self.waiting.get_mut(number);
        packet.begins = begins;
        if packet.arrival == begins {
            // The packet found the transmitter idle, so it is also the last packet in the list.
            let packet = *packet;
            self.waiting.pop_last();
            self.bytes_waiting -= packet.bytes;
            self.depart(&packet);
        }
    }

    /// Removes the packets that an outage drops: all packets whose transmission has not started at `now`.
    fn purge(&mut self, now: Time) {
        while let Some(&packet) = self.waiting.last().filter(|packet| packet.begins > now) {
            self.waiting.pop_last();
            self.bytes_waiting -= packet.bytes;
        }
        self.unscheduled = 0;
    }

    fn overflow(&mut self, _now: Time) {
        self.sum = 0.0;
    }
}

impl Pie {
    /// Creates the controller of an idle queue.
    pub fn new(config: &PieConfig) -> Pie {
        let (allowance, burst) = match config.rules {
            PieRules::Ns3 => (Span(0), Burst::None),
            PieRules::Rfc8033 | PieRules::Linux => (Span(config.burst_ps), Burst::Protected),
        };
        Pie {
            config: config.clone(),
            probability: 0.0,
            previous_delay: Span(0),
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

    /// Returns the drop probability.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Returns whether a mark leaves the sum as it is.
    fn keeps_sum(&self) -> bool {
        match self.config.rules {
            PieRules::Rfc8033 => false,
            PieRules::Linux => self.sum >= SUM_OF_CERTAIN_DROP,
            PieRules::Ns3 => true,
        }
    }

    /// Returns whether an arriving packet is to be dropped or marked (RFC 8033 section 4.1 and, with `derandomize`,
    /// section 5.4).
    fn selects(&mut self, arrival: &Arrival, draw: impl FnOnce() -> f64) -> bool {
        if self.allowance.0 > 0 {
            return false;
        }
        if self.config.rules == PieRules::Ns3 && self.burst == Burst::None {
            (self.burst, self.allowance) = (Burst::Protected, Span(self.config.burst_ps));
        }
        let delay = match self.config.rules {
            PieRules::Linux => self.delay,
            PieRules::Rfc8033 | PieRules::Ns3 => self.previous_delay,
        };
        let low_delay = 2 * delay.0 < self.config.target_ps && self.probability < 0.2;
        let short_queue = match self.config.rules {
            PieRules::Ns3 => arrival.packets_waiting <= SHORT_QUEUE,
            PieRules::Rfc8033 | PieRules::Linux => arrival.bytes_waiting <= self.config.least_backlog_bytes,
        };
        if low_delay || short_queue {
            return false;
        }
        if self.config.derandomize {
            if self.probability == 0.0 {
                self.sum = 0.0;
            }
            self.sum += self.probability;
            if self.sum < MIN_SUM_TO_DROP {
                return false;
            }
            if self.sum >= SUM_OF_CERTAIN_DROP {
                return true;
            }
        }
        draw() <= self.probability
    }

    /// Processes departures and updates before `now`, in order.
    #[inline(always)]
    pub fn update_before(&mut self, now: Time) {
        if self.next_update < now {
            self.update_some_before(now);
        }
        self.depart_before(now);
    }

    #[inline(never)]
    fn update_some_before(&mut self, now: Time) {
        while self.next_update < now {
            let (due, every) = (self.next_update, self.config.update_ps);
            self.depart_before(due);
            let before = self.state_without_waiting();
            self.update();
            self.next_update = due + Span(every);
            if before.is_some() && before == self.state_without_waiting() && self.next_update < now {
                // Further updates before the next arrival also leave the state unchanged.
                let skipped = (now.0 - self.next_update.0).div_ceil(every);
                self.next_update += Span(skipped * every);
            }
        }
    }

    /// Returns the part of the state that updates can change while no packet waits.
    fn state_without_waiting(&self) -> Option<(f64, [Span; 3], Burst, Departures)> {
        let spans = [self.delay, self.previous_delay, self.allowance];
        let state = (self.probability, spans, self.burst, self.departures);
        self.waiting.is_empty().then_some(state)
    }

    /// Removes the packets whose transmission started before `time`.
    #[inline(always)]
    fn depart_before(&mut self, time: Time) {
        while let Some(&packet) = self.waiting.first().filter(|packet| packet.begins < time) {
            self.waiting.pop();
            self.bytes_waiting -= packet.bytes;
            self.depart(&packet);
        }
    }

    /// Updates the queueing delay, or its estimate, when a packet departs.
    #[inline(always)]
    fn depart(&mut self, packet: &Waiting) {
        if self.config.delay == PieDelay::Sojourn {
            let followed = self.waiting.first().is_some_and(|next| next.arrival < packet.begins);
            self.delay = if followed {
                packet.begins - packet.arrival
            } else {
                Span(0)
            };
        }
        let since = match self.config.delay {
            PieDelay::Sojourn => self.last_departure.map_or(Span(0), |last| packet.begins - last),
            PieDelay::DepartureRate | PieDelay::DepartureTime => self.estimate_on_departure(packet),
        };
        if self.config.rules == PieRules::Linux {
            self.allowance = Span(self.allowance.0.saturating_sub(since.0));
        }
        self.last_departure = Some(packet.begins);
    }

    /// Updates the estimate of the departure rate when a packet departs. Returns the length of the measurement cycle that
    /// ends, or zero.
    #[inline(never)]
    fn estimate_on_departure(&mut self, packet: &Waiting) -> Span {
        let bytes_behind = self.bytes_behind(packet);
        match self.config.delay {
            PieDelay::Sojourn => Span(0),
            PieDelay::DepartureRate => self
                .departures
                .update_mean_rate(packet, bytes_behind, self.config.rules),
            PieDelay::DepartureTime => self.departures.update_mean_time(packet, bytes_behind),
        }
    }

    /// Returns the bytes that were queued behind a packet when it departed, even if others have arrived since then.
    fn bytes_behind(&self, packet: &Waiting) -> u64 {
        let followers = self.waiting.iter().take_while(|next| next.arrival <= packet.begins);
        followers.map(|next| next.bytes).sum()
    }

    /// Performs the periodic update (RFC 8033 section 4.2): delay, drop probability, burst allowance.
    fn update(&mut self) {
        let is_measured = self.update_delay();
        self.update_probability();
        self.move_burst(self.is_uncongested(), is_measured);
        self.previous_delay = self.delay;
    }

    /// Computes the queueing delay if it is estimated from the queue length. Returns whether the delay has been measured;
    /// without a measurement the delay is zero.
    fn update_delay(&mut self) -> bool {
        let (waiting, mean) = (self.bytes_waiting, self.departures.mean);
        let estimate = match self.config.delay {
            PieDelay::Sojourn => None,
            PieDelay::DepartureRate => Some(self.departures.delay_by_rate(waiting, self.config.rules)),
            PieDelay::DepartureTime => Some(mean.map(|time| waiting as f64 * time / MEASURED_BYTES as f64)),
        };
        let Some(measured_ps) = estimate else {
            return true;
        };
        let delay_ps = measured_ps.unwrap_or(0.0);
        self.delay = match self.config.rules {
            // ns-3 rounds the estimate to a whole nanosecond.
            PieRules::Ns3 => Span(1_000 * (delay_ps / 1_000.0).round() as u64),
            PieRules::Rfc8033 | PieRules::Linux => Span(delay_ps as u64),
        };
        measured_ps.is_some()
    }

    /// Updates the probability from the latest two queueing delays: adds the step of the PI controller, and decays the
    /// probability while the queue is empty.
    fn update_probability(&mut self) {
        if self.config.rules == PieRules::Ns3 && self.allowance.0 > 0 {
            self.probability = 0.0;
        } else {
            self.probability += self.step();
        }
        let had_no_delay = self.delay.0 == 0 && self.previous_delay.0 == 0;
        if had_no_delay && !(self.config.rules == PieRules::Linux && self.bytes_waiting > 0) {
            self.probability *= match self.config.rules {
                PieRules::Rfc8033 | PieRules::Ns3 => 0.98,
                PieRules::Linux => 63.0 / 64.0,
            };
        }
        self.probability = match self.config.rules {
            PieRules::Linux if self.probability >= LINUX_OVERFLOW => 1.0,
            PieRules::Linux => self.probability.max(0.0),
            PieRules::Rfc8033 | PieRules::Ns3 => self.probability.clamp(0.0, 1.0),
        };
    }

    /// Returns whether the probability is zero, and the latest two delays are shorter than half of the target.
    fn is_uncongested(&self) -> bool {
        let is_short = |delay: Span| 2 * delay.0 < self.config.target_ps;
        self.probability == 0.0 && is_short(self.delay) && is_short(self.previous_delay)
    }

    /// Returns the change in the probability, scaled down for small probabilities (RFC 8033 section 4.2).
    fn step(&self) -> f64 {
        let seconds = |span: Span| span.0 as f64 / PS_PER_SECOND as f64;
        let PieConfig { alpha, beta, .. } = self.config;
        let delay = seconds(self.delay);
        let error =
            alpha * (delay - seconds(Span(self.config.target_ps))) + beta * (delay - seconds(self.previous_delay));
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
            step.min(MAX_STEP)
        } else {
            step
        };
        if self.delay > HIGH_DELAY && self.config.rules == PieRules::Linux {
            step + HIGH_STEP
        } else {
            step
        }
    }

    /// Updates the burst allowance; `is_measured` is whether the delay has been measured.
    fn move_burst(&mut self, uncongested: bool, is_measured: bool) {
        if uncongested && is_measured && self.config.delay == PieDelay::DepartureRate {
            self.departures.reset(self.config.rules);
        }
        let left = Span(self.allowance.0.saturating_sub(self.config.update_ps));
        match self.config.rules {
            PieRules::Rfc8033 => self.allowance = left,
            // `pie_vars_init`
            PieRules::Linux if uncongested && is_measured => {
                self.allowance = Span(self.config.burst_ps);
                (self.last_departure, self.sum) = (None, 0.0);
                self.departures = Departures::default();
            }
            PieRules::Linux => {}
            PieRules::Ns3 => {
                self.allowance = left;
                let unused = uncongested && left.0 == 0;
                self.burst = match self.burst {
                    Burst::Protected if unused => Burst::LowDelay { updates: 0 },
                    Burst::LowDelay { updates } if unused && updates + 1 > BURST_RESET / self.config.update_ps => {
                        Burst::None
                    }
                    Burst::LowDelay { updates } if unused => Burst::LowDelay { updates: updates + 1 },
                    Burst::LowDelay { .. } => Burst::LowDelay { updates: 0 },
                    other => other,
                };
            }
        }
    }
}
