//! Bursts: datagrams or writes at a constant rate during on periods, none during off periods.

use super::schedule::{pareto, Even, Pattern};
use crate::bounds::refuse_unless;
use longpipe_events::Stream;
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

/// Periods in which an application writes at its rate (on) or does not write (off).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[described(name = "WriteBursts")]
#[serde(deny_unknown_fields)]
pub struct BurstsConfig {
    /// Mean duration of an on period [time]; ns-2 manual.
    #[field(range = "[1 us, 1000 s]", default = "500 ms")]
    pub on_ps: u64,
    /// Mean duration of an off period [time]; ns-2 manual.
    #[field(range = "[0 s, 1000 s]", default = "500 ms")]
    pub off_ps: u64,
    /// Distribution of both durations: exponential, pareto or fixed.
    #[field(default = "exponential")]
    pub times: Times,
}

/// Distribution of a duration with a given mean.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Times {
    /// All durations equal the mean.
    #[described(name = "FixedTimes")]
    Fixed {},
    /// Exponential durations.
    Exponential {},
    /// Pareto durations; many such flows together are self-similar (Willinger et al. 1997).
    Pareto {
        /// Tail index; below 2 the variance is infinite; ns-2 manual.
        #[field(range = "(1, 100]", default = 1.5)]
        shape: f64,
    },
}

impl Times {
    /// Returns whether every duration equals the mean.
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self, Times::Fixed {})
    }

    pub(crate) fn fixed() -> Times {
        Times::Fixed {}
    }

    /// Draws a duration [ps] with this mean.
    pub(crate) fn draw(self, mean: u64, stream: &mut Stream) -> u64 {
        match self {
            Times::Fixed {} => mean,
            Times::Exponential {} => stream.exponential(mean),
            Times::Pareto { shape } => pareto(mean as f64, shape, stream),
        }
    }
}

impl BurstsConfig {
    /// Returns the first invalid parameter, if any, of bursts of these datagrams or writes within their bounds. Every burst contains at least
    /// one of them, so a source whose bursts had shorter intervals than its datagrams or writes would exceed its own rate.
    pub(super) fn problem(&self, even: Even) -> Option<Problem> {
        let (cycle_ps, packet_ps) = (self.on_ps.saturating_add(self.off_ps), even.interval().0);
        let accepted = "needs, together with off, at least the transmission time of a packet at the rate, in ps";
        refuse_unless(cycle_ps >= packet_ps, "on", self.on_ps, accepted).or_else(|| {
            let Times::Pareto { shape } = self.times else {
                return None;
            };
            // If the shape is close to 1, nearly all durations equal the shortest one, mean · (shape - 1) / shape.
            let shortest_ps = cycle_ps as f64 * ((shape - 1.0) / shape);
            let accepted = "needs a shortest on plus off time of at least a hundredth of a packet's transmission time \
                            at the rate";
            refuse_unless(100.0 * shortest_ps >= packet_ps as f64, "times.shape", shape, accepted)
        })
    }
}

#[derive(Debug)]
pub(super) struct Bursts {
    config: BurstsConfig,
    even: Even,
    /// Number of datagrams or writes in the current burst so far.
    count: u64,
    /// Start [ps] of the current burst.
    begin: u64,
    /// Length [ps] of the current burst.
    length: u64,
}

impl Bursts {
    pub fn new(config: BurstsConfig, even: Even, stream: &mut Stream) -> Bursts {
        Bursts {
            config,
            even,
            count: 0,
            begin: 0,
            length: config.times.draw(config.on_ps, stream),
        }
    }
}

impl Bursts {
    /// Returns the bursts with their start at `begin` [ps], before the first burst.
    pub fn starting(self, begin: u64) -> Bursts {
        Bursts { begin, ..self }
    }
}

impl Pattern for Bursts {
    fn next(&mut self, stream: &mut Stream) -> Option<(u64, u32)> {
        let BurstsConfig { on_ps, off_ps, times } = self.config;
        if self.count > 0 && self.even.at(self.count) >= self.length {
            let off = times.draw(off_ps, stream);
            self.begin = self.begin.saturating_add(self.length).saturating_add(off);
            // A burst of length 0 would never advance the time.
            self.length = times.draw(on_ps, stream).max(1);
            self.count = 0;
        }
        let after = self.begin.saturating_add(self.even.at(self.count));
        self.count += 1;
        Some((after, self.even.length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_configured_mean_and_tail() {
        let mut stream = Stream::new(1, "test", 0);
        let shape = 2.5;
        let drawn: Vec<f64> = (0..1_000_000)
            .map(|_| Times::Pareto { shape }.draw(1_000_000, &mut stream) as f64 / 1e6)
            .collect();
        let mean = drawn.iter().sum::<f64>() / 1e6;
        // The variance is x² a/((a - 1)² (a - 2)) with x = 0.6, so the standard deviation is 0.9 for one value and
        // 0.0009 for the mean.
        assert!((mean - 1.0).abs() < 0.004, "{mean}");
        for at in [1.0f64, 2.0, 5.0] {
            let above = drawn.iter().filter(|&&gap| gap > at).count() as f64 / 1e6;
            let expected = (0.6 / at).powf(shape);
            let deviation = (expected * (1.0 - expected) / 1e6).sqrt();
            assert!((above - expected).abs() < 3.5 * deviation, "{at}: {above}");
        }
    }
}
