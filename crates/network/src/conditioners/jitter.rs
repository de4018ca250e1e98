//! Jitter of a wire: an additional delay, drawn for each packet as in Linux's `netem`.
//!
//! The arithmetic follows `tabledist` in Linux's `net/sched/sch_netem.c`: whole nanoseconds, and tables of 4096 entries
//! in units of 2⁻¹³ of the jitter.

use super::correlated::Correlated;
use super::{ConditionerConfig, Facts, Parameters};
use longpipe_events::{Stream, PS_PER_NS};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;
use strum::VariantNames;

/// An additional delay on the wire, drawn for each packet (Linux: `netem delay`).
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(rule("jitter", "jitter > '2 s'", "{jitter}; needs at most 2 s"))]
pub struct JitterConfig {
    /// A mean additional delay [time], as in '20 ms'; delays below 0 become 0.
    #[field(range = "[0 s, 1000 s]")]
    pub delay_ps: u64,
    /// A scale of the distribution [time], as in '5 ms'; netem's jitter, at most 2 s.
    #[field(range = "[0 s, 1000 s]")]
    pub jitter_ps: u64,
    /// uniform, in delay +- jitter; normal, pareto or paretonormal, as netem's tables; wifi, as picoquic's simulator,
    /// whose mean is jitter; or a file with a table of tc, whose numbers are in units of jitter / 8192.
    // The inverse distribution function; if absent, the distribution is uniform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(written("distribution", "[1, 4096]"), len = "[1, 16_384]", default = "uniform")]
    pub table: Option<Vec<i16>>,
    /// Weight of the previous 32-bit draw in each draw, as in netem; without effect at a jitter below 1 s.
    #[field(range = "[0, 1]", default = 0.0)]
    pub correlation: f64,
    /// Whether packets may overtake each other (free) or keep their order (fifo).
    #[field(default = "free")]
    pub order: OrderConfig,
}

/// Order of arrivals.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, VariantNames, Described)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum OrderConfig {
    /// Each packet arrives after its own delay, so packets may overtake each other.
    Free,
    /// Packets arrive in the order of their departure, at least a picosecond apart.
    Fifo,
}

/// Reordering by packets that skip the delay of the same link's jitter (Linux: `netem reorder`).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
pub struct ReorderingConfig {
    /// A probability that a packet is sent at once, as in 0.25.
    #[field(range = "[0, 1]")]
    pub probability: f64,
    /// Weight of the previous draw in each draw.
    #[field(range = "[0, 1]", default = 0.0)]
    pub correlation: f64,
    /// Minimum distance between packets that may be sent at once [packets]; netem's gap.
    #[field(range = "[1, 1_000_000]", default = 1)]
    pub gap: u32,
}

impl JitterConfig {
    /// Returns the maximum additional delay [ps].
    pub(crate) fn max_ps(&self) -> u64 {
        // An entry of the distribution table is at most 4 times the jitter.
        self.delay_ps + 4 * self.jitter_ps
    }
}

impl Parameters for JitterConfig {
    const FACTS: Facts = Facts {
        draws: true,
        disorders: true,
        ..Facts::NONE
    };
}

impl Parameters for ReorderingConfig {
    const FACTS: Facts = Facts {
        draws: true,
        disorders: true,
        ..Facts::NONE
    };
}

/// Value of a table entry that corresponds to one `jitter` (`NETEM_DIST_SCALE`).
const SCALE: i64 = 8192;

/// Reordering: some packets skip the additional delay.
#[derive(Clone, Debug)]
struct Reordering {
    draws: Correlated,
    threshold: u32,
    gap: u32,
    counter: u32,
}

impl Reordering {
    fn new(config: &ReorderingConfig, stream: Stream) -> Reordering {
        Reordering {
            draws: Correlated::new(config.correlation, stream),
            threshold: Correlated::threshold(config.probability),
            gap: config.gap,
            counter: 0,
        }
    }

    /// Returns whether the next packet is sent at once.
    fn skips(&mut self) -> bool {
        let skips = self.counter >= self.gap - 1 && self.threshold >= self.draws.draw();
        self.counter = if skips { 0 } else { self.counter + 1 };
        skips
    }
}

/// The jitter of a wire.
#[derive(Clone, Debug)]
pub(crate) struct LinkJitter {
    mean_ns: i64,
    jitter_ns: i64,
    table: Option<Vec<i16>>,
    draws: Correlated,
    reordering: Option<Reordering>,
}

impl LinkJitter {
    /// Creates the jitter among a link's conditioners and its reordering, if any.
    pub fn among(configs: &[ConditionerConfig], seed: u64, link: u64) -> Option<Box<LinkJitter>> {
        let jitter = configs.iter().find_map(|config| match config {
            ConditionerConfig::Jitter(jitter) => Some(jitter),
            _ => None,
        })?;
        let reordering = configs.iter().find_map(|config| match config {
            ConditionerConfig::Reordering(reordering) => Some(reordering),
            _ => None,
        });
        Some(Box::new(LinkJitter::new(jitter, reordering, (seed, link))))
    }

    fn new(config: &JitterConfig, reordering: Option<&ReorderingConfig>, (seed, link): (u64, u64)) -> LinkJitter {
        LinkJitter {
            mean_ns: (config.delay_ps / PS_PER_NS) as i64,
            jitter_ns: (config.jitter_ps / PS_PER_NS) as i64,
            table: config.table.clone(),
            draws: Correlated::new(config.correlation, Stream::new(seed, "jitter", link)),
            reordering: reordering.map(|config| Reordering::new(config, Stream::new(seed, "reordering", link))),
        }
    }

    /// Returns the additional delay [ps] of the next packet; it is never negative.
    pub fn next(&mut self) -> u64 {
        if self.reordering.as_mut().is_some_and(Reordering::skips) {
            return 0;
        }
        self.drawn_ns().max(0) as u64 * PS_PER_NS
    }

    fn drawn_ns(&mut self) -> i64 {
        let sigma = self.jitter_ns;
        if sigma == 0 {
            return self.mean_ns;
        }
        let drawn = i64::from(self.draws.draw());
        let Some(table) = &self.table else {
            return self.mean_ns - sigma + drawn % (2 * sigma);
        };
        let entry = i64::from(table[drawn as usize % table.len()]);
        let part = (sigma % SCALE) * entry;
        let half = if part >= 0 { SCALE / 2 } else { -SCALE / 2 };
        (part + half) / SCALE + (sigma / SCALE) * entry + self.mean_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(table: Option<Vec<i16>>, correlation: f64) -> JitterConfig {
        JitterConfig {
            delay_ps: 10_000_000_000,
            jitter_ps: 2_000_000_000,
            table,
            correlation,
            order: OrderConfig::Free,
        }
    }

    fn delays(config: &JitterConfig, reordering: Option<&ReorderingConfig>, count: usize) -> Vec<f64> {
        let mut jitter = LinkJitter::new(config, reordering, (1, 0));
        (0..count).map(|_| jitter.next() as f64 / 1e9).collect()
    }

    /// Returns the mean and the standard deviation.
    fn moments(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        (mean, (squares / values.len() as f64).sqrt())
    }

    /// Checks the uniform distribution over mean ± jitter, whose standard deviation is jitter/√3. The modulo operation
    /// hides the correlation, as in netem.
    #[test]
    fn uniform_jitter_has_the_expected_moments_for_any_correlation() {
        for correlation in [0.0, 0.5] {
            let (mean, deviation) = moments(&delays(&config(None, correlation), None, 200_000));
            assert!((mean - 10.0).abs() < 0.02, "{mean}");
            assert!((deviation * 3f64.sqrt() / 2.0 - 1.0).abs() < 0.01, "{deviation}");
        }
    }

    /// Checks a table with one entry: 8192 is one jitter above the mean. Half nanoseconds are rounded away from zero.
    #[test]
    fn a_table_entry_is_in_units_of_the_jitter() {
        assert_eq!(delays(&config(Some(vec![8192]), 0.0), None, 1), [12.0]);
        assert_eq!(delays(&config(Some(vec![-4096]), 0.0), None, 1), [9.0]);
        // At ten jitters below the mean, the packet would arrive before it left.
        let early = JitterConfig {
            delay_ps: 1,
            ..config(Some(vec![-32768]), 0.0)
        };
        assert_eq!(delays(&early, None, 1), [0.0]);
    }

    /// Checks that every N-th packet is sent at once if the gap is N and the probability is 1, and that a fraction P of
    /// all packets is sent at once if the gap is 1.
    #[test]
    fn a_gap_selects_every_nth_packet_and_a_probability_a_fraction() {
        let still = JitterConfig {
            jitter_ps: 0,
            ..config(None, 0.0)
        };
        let every_third = ReorderingConfig {
            probability: 1.0,
            correlation: 0.0,
            gap: 3,
        };
        let found = delays(&still, Some(&every_third), 7);
        assert_eq!(found, [10.0, 10.0, 0.0, 10.0, 10.0, 0.0, 10.0]);
        let quarter = ReorderingConfig {
            probability: 0.25,
            correlation: 0.0,
            gap: 1,
        };
        let found = delays(&still, Some(&quarter), 100_000);
        let at_once = found.iter().filter(|&&delay| delay == 0.0).count();
        assert!((at_once as f64 / 1e5 - 0.25).abs() < 0.005, "{at_once}");
    }
}
