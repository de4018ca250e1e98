//! Random early detection: the probability of a drop or mark grows with the average queue (Floyd and Jacobson 1993).

use super::aqm::{Algorithm, AtEnqueue};
use super::parameters::{Decides, Facts, Marks, Parameters, QueueUnit};
use super::{Arrival, Verdict};
use super::{Policy, Rule};
use longpipe_events::{Span, Time, PS_PER_SECOND};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// Random Early Detection: the drop probability rises with the average queue (Floyd and Jacobson 1993).
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "RED")]
#[described(rule("max", "min >= max", "{max}; needs more than min, {min}"))]
#[described(rule(
    "gap",
    "gap is 'drawn' and gentle is true",
    "drawn; needs gentle = false and adaptive = false, as in Linux"
))]
#[described(rule(
    "gap",
    "gap is 'drawn' and gentle is false and adaptive is true",
    "drawn; needs gentle = false and adaptive = false, as in Linux"
))]
#[described(rule(
    "per_vc",
    "per_vc is true and unit is not 'cells'",
    "true; needs unit = 'cells', because IP has no VCs"
))]
#[described(rule(
    "ecn",
    "ecn is true and unit is 'cells'",
    "true; needs false with unit = 'cells', because cells have no ECN field"
))]
pub struct RedConfig {
    /// Average queue below which RED drops nothing [unit] (Floyd 1997).
    #[field(range = "(0, 1e12]", default = 5)]
    pub min: f64,
    /// Average queue [unit] at and above which RED drops everything; twice that if gentle.
    #[field(range = "(0, 1e12]", default = 15)]
    pub max: f64,
    /// Unit of the thresholds; 'cells' is for ATM switches, where RED drops whole frames.
    #[field(default = "packets")]
    pub unit: QueueUnit,
    /// Weight w_q of a new sample in the average queue; 1 - exp(-1/C) suits a link of C packets/s.
    #[field(range = "(0, 1]", default = 0.002)]
    pub weight: f64,
    /// Drop probability at 'max' (Floyd 1997).
    #[field(range = "(0, 1]", default = 0.1)]
    pub max_p: f64,
    /// Raise the probability linearly from max_p at 'max' to 1 at twice 'max'.
    #[field(default = true)]
    pub gentle: bool,
    /// Adaptive RED: adapt max_p to keep the average queue half-way between min and max; Floyd, Gummadi and Shenker
    /// 2001.
    #[field(default = false)]
    pub adaptive: bool,
    /// Distribution of the number of packets between drops: 'uniform' from 1 to 1/p (Floyd and Jacobson 1993), 'wait'
    /// uniform from 1/p to 2/p as in ns-2, or 'drawn', which draws the number once for each gap as in Linux.
    #[field(default = "uniform")]
    pub gap: RedGap,
    /// Mean packet size, used to age the average while the port is idle, and to scale the probability by packet size
    /// [bytes].
    #[field(range = "[1 B, 65000 B]", default = "1000 B")]
    pub mean_packet_bytes: u32,
    /// Mark ECN-capable packets instead of dropping them; RFC 3168 section 5.
    #[field(default = false)]
    pub ecn: bool,
    /// Keep a separate average for the queued cells of each VC.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[field(default = false, later)]
    pub per_vc: bool,
}

/// Distribution of the gaps between drops.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum RedGap {
    /// Uniformly distributed from 1 to 1/p (Floyd and Jacobson 1993).
    Uniform,
    /// Uniformly distributed from 1/p to 2/p (ns-2's wait).
    Wait,
    /// Drawn once per gap, as in Linux.
    Drawn,
}

impl Parameters for RedConfig {
    const FACTS: Facts = Facts::new(Decides::AtEnqueue)
        .of_cells_too()
        .random()
        .marking(Marks::WithEcn);

    fn takes_cells(&self) -> bool {
        self.unit == QueueUnit::Cells
    }

    fn takes_packets(&self) -> bool {
        self.unit != QueueUnit::Cells
    }

    /// The average queue stays at zero.
    fn is_inert_without_queue(&self) -> bool {
        self.min > 0.0
    }

    /// For cells, RED drops whole frames, and only the last cell of a damaged frame is admitted.
    fn buffer_policy(&self, _capacity: f64) -> Policy {
        match self.unit {
            QueueUnit::Cells => Policy::discarding(Rule::Nothing, true),
            QueueUnit::Packets | QueueUnit::Bytes => Policy::TAIL_DROP,
        }
    }

    fn algorithm(&self, rate_bps: u64) -> Option<(Algorithm, bool)> {
        Some((Algorithm::Red(Red::new(self, rate_bps)), self.ecn))
    }
}

/// Minimum and maximum of max_p in adaptive RED, and the steps by which it changes (Floyd, Gummadi and Shenker 2001).
const MAX_P_BOTTOM: f64 = 0.01;
const MAX_P_TOP: f64 = 0.5;
const MAX_STEP: f64 = 0.01;
const DECREASE: f64 = 0.9;
/// Minimum time between steps of max_p.
const STEP_TIME: Span = Span(PS_PER_SECOND / 2);

/// State of RED: the average queue, and the number of packets since the last drop or mark.
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    /// Average queue at and above which all arrivals are dropped.
    largest: f64,
    /// Weight of the old average after one arrival: 1 - w_q.
    kept: f64,
    /// Transmission time [ps] of a packet of mean size.
    packet_time: f64,
    average: f64,
    max_p: f64,
    /// Time at which max_p was last changed.
    moved: Time,
    /// Number of packets or bytes since the last drop or mark; None while the average is below `min`.
    count: Option<u64>,
    /// Random number in [0, 1), if the gap is drawn in advance: the next drop occurs when p times the count reaches
    /// this number.
    drawn: f64,
}

impl AtEnqueue for Red {
    /// Updates the average with an arriving packet, and decides whether to admit, mark or drop the packet; `draw`
    /// returns random numbers in [0, 1).
    #[inline(always)]
    fn decide(&mut self, arrival: &Arrival, draw: impl FnMut() -> f64) -> Verdict {
        let (waiting, size) = if self.by_bytes() {
            (arrival.bytes_waiting, arrival.bytes)
        } else {
            (arrival.packets_waiting, 1)
        };
        // Converting a signed integer takes one instruction.
        self.observe(arrival, waiting as i64 as f64);
        if self.config.gap == RedGap::Drawn {
            self.decide_as_linux(draw)
        } else {
            self.decide_as_ns2(arrival, size, draw)
        }
    }

    /// Returns whether packets that find the line idle leave the state unchanged: the average is 0 and max_p is at its
    /// minimum.
    fn ignores_idle_arrivals(&self) -> bool {
        let falls = self.config.adaptive && self.max_p > MAX_P_BOTTOM;
        self.average == 0.0 && self.config.min > 0.0 && !falls
    }
}

impl Red {
    /// Creates the state for a line with the given rate [bit/s].
    pub fn new(config: &RedConfig, rate_bps: u64) -> Red {
        Red::of_bits(config, 8 * u64::from(config.mean_packet_bytes), rate_bps)
    }

    /// Creates the state for a line with the given rate; a packet of mean size has `bits` bits.
    pub fn of_bits(config: &RedConfig, bits: u64, rate_bps: u64) -> Red {
        Red {
            config: config.clone(),
            largest: if config.gentle { 2.0 * config.max } else { config.max },
            kept: 1.0 - config.weight,
            packet_time: bits as f64 * PS_PER_SECOND as f64 / rate_bps as f64,
            average: 0.0,
            max_p: config.max_p,
            moved: Time::ZERO,
            count: None,
            drawn: 0.0,
        }
    }

    fn by_bytes(&self) -> bool {
        self.config.unit == QueueUnit::Bytes
    }

    /// Returns the average queue, in packets or bytes.
    pub fn average(&self) -> f64 {
        self.average
    }

    #[inline(always)]
    fn decide_as_ns2(&mut self, arrival: &Arrival, size: u64, mut draw: impl FnMut() -> f64) -> Verdict {
        // RED drops no packet while at most one packet waits, regardless of the average.
        if self.average < self.config.min || arrival.packets_waiting <= 1 {
            self.count = None;
            return Verdict::Admit;
        }
        let counted = self.count.map(|count| count + size);
        if self.average >= self.largest {
            self.count = counted;
            return Verdict::Refuse;
        }
        let Some(counted) = counted else {
            self.count = Some(size);
            return Verdict::Admit;
        };
        let early = draw() <= self.spaced(counted, arrival.bytes);
        self.count = Some(if early { 0 } else { counted });
        if early {
            Verdict::Mark
        } else {
            Verdict::Admit
        }
    }

    /// Applies Linux's rule: the gap to the next drop is drawn at each drop (red.h).
    fn decide_as_linux(&mut self, mut draw: impl FnMut() -> f64) -> Verdict {
        if self.average < self.config.min || self.average >= self.largest {
            self.count = None;
            return if self.average < self.config.min {
                Verdict::Admit
            } else {
                Verdict::Mark
            };
        }
        let Some(count) = self.count else {
            (self.count, self.drawn) = (Some(0), draw());
            return Verdict::Admit;
        };
        let counted = count + 1;
        let early = self.probability() * counted as f64 >= self.drawn;
        self.count = Some(if early { 0 } else { counted });
        if early {
            self.drawn = draw();
            return Verdict::Mark;
        }
        Verdict::Admit
    }

    /// Updates the average when a packet arrives; an idle time counts as the number of packets that could have been
    /// sent during it.
    #[inline(always)]
    fn observe(&mut self, arrival: &Arrival, waiting: f64) {
        let RedConfig { weight, adaptive, .. } = self.config;
        let kept = match arrival.idle_since {
            Some(since) => self.kept_over((arrival.now - since).0),
            None => self.kept,
        };
        self.average = self.average * kept + weight * waiting;
        if adaptive && arrival.now - self.moved > STEP_TIME {
            self.adapt(arrival.now);
        }
    }

    /// Returns the factor by which an idle time [ps] reduces the average.
    #[inline(never)]
    fn kept_over(&self, idle: u64) -> f64 {
        power(self.kept, (idle as f64 / self.packet_time) as u64 + 1)
    }

    /// Changes max_p so that the average moves towards the middle between the thresholds (adaptive RED).
    #[cold]
    fn adapt(&mut self, now: Time) {
        let RedConfig { min, max, .. } = self.config;
        let part = 0.4 * (max - min);
        if self.average < min + part && self.max_p > MAX_P_BOTTOM {
            self.max_p *= DECREASE;
            self.moved = now;
        } else if self.average > max - part && self.max_p < MAX_P_TOP {
            self.max_p += MAX_STEP.min(0.25 * self.max_p);
            self.moved = now;
        }
    }

    /// Returns p_b, which depends only on the average.
    #[inline(always)]
    fn probability(&self) -> f64 {
        let RedConfig { min, max, max_p, .. } = self.config;
        if self.average >= max {
            // Gentle RED increases the probability from max_p at `max` to 1 at twice `max`. Like ns-2, it uses the
            // initial max_p for this.
            ((1.0 - max_p) / max * self.average + 2.0 * max_p - 1.0).min(1.0)
        } else {
            (self.average - min) / (max - min) * self.max_p
        }
    }

    /// Returns p_a, which also depends on the number of packets since the last drop or mark.
    #[inline(always)]
    fn spaced(&self, counted: u64, bytes: u64) -> f64 {
        let p = self.probability();
        let due = p * counted as i64 as f64;
        if !self.by_bytes() {
            return self.after(due, p);
        }
        let mean = f64::from(self.config.mean_packet_bytes);
        let spaced = self.after(due / mean, p);
        let scaled = if spaced < 1.0 {
            spaced * bytes as f64 / mean
        } else {
            spaced
        };
        scaled.min(1.0)
    }

    /// Returns p_a, where `due` is p_b times the count.
    #[inline(always)]
    fn after(&self, due: f64, p: f64) -> f64 {
        let spaced: f64 = match self.config.gap {
            RedGap::Wait if due < 1.0 => 0.0,
            RedGap::Wait if due < 2.0 => p / (2.0 - due),
            RedGap::Uniform if due < 1.0 => p / (1.0 - due),
            _ => 1.0,
        };
        spaced.min(1.0)
    }
}

/// Computes a power by repeated squaring, with bit-identical results on all machines.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}
