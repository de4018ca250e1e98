//! Self-similar datagrams: the superposition of many on/off sources. If their periods have a Pareto distribution with a
//! shape below 2, the sum has long-range dependence with the Hurst parameter (3 - shape) / 2 (Taqqu, Willinger and
//! Sherman 1997).

use super::bursts::{Bursts, BurstsConfig, Times};
use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use super::schedule::{Even, Pattern, Schedule};
use longpipe_events::Stream;
use longpipe_json::FromJson;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Datagrams of many on/off sources, each with this rate during on periods; their sum is self-similar.
///
/// The sum's Hurst parameter is (3 - shape) / 2 for Pareto durations with a shape below 2 (Taqqu et al. 1997).
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
pub struct SelfSimilarConfig {
    /// Rate of the IP packets, including 28 bytes of headers each [bit/s].
    #[field(range = "[1 kbit/s, 10 Tbit/s]")]
    pub rate_bps: u64,
    /// Payload of each datagram [bytes].
    #[field(range = "[1 B, 65000 B]", default = "1000 B")]
    pub payload_bytes: u32,
    /// Mean duration of an on period [time]; ns-2 manual.
    #[field(range = "[1 us, 1000 s]", default = "500 ms")]
    pub on_ps: u64,
    /// Mean duration of an off period [time]; ns-2 manual.
    #[field(range = "[0 s, 1000 s]", default = "500 ms")]
    pub off_ps: u64,
    /// Distribution of both durations: exponential, pareto or fixed.
    #[field(default = "pareto")]
    pub times: Times,
    /// Number of on/off sources.
    #[field(range = "[1, 10000]", default = 50)]
    pub sources: u32,
}

impl SelfSimilarConfig {
    fn even(&self) -> Even {
        Even::of_datagrams(self.rate_bps, self.payload_bytes)
    }

    /// Returns the parameters of the on and off periods of one source.
    fn bursts(&self) -> BurstsConfig {
        BurstsConfig {
            on_ps: self.on_ps,
            off_ps: self.off_ps,
            times: self.times,
        }
    }

    /// Returns the times and lengths of the datagrams.
    fn schedule(&self, mut stream: Stream) -> Schedule {
        let bursts = (0..self.sources).map(|_| {
            // A source starts in an on period with the probability on / (on + off). Its first period has full length.
            let phase = stream.below(self.on_ps + self.off_ps);
            let first_off_ps = self.times.draw(self.off_ps, &mut stream);
            let begin = if phase < self.on_ps { 0 } else { first_off_ps };
            Bursts::new(self.bursts(), self.even(), &mut stream).starting(begin)
        });
        let mut sources: Vec<Bursts> = bursts.collect();
        let firsts = sources.iter_mut().map(|source| source.next(&mut stream));
        let firsts: Vec<_> = firsts.collect();
        let next = (0..)
            .zip(firsts)
            .filter_map(|(source, next)| Some(Reverse((next?, source))));
        let superposition = Superposition {
            next: next.collect(),
            sources,
        };
        Schedule::new(superposition, stream)
    }
}

impl Parameters for SelfSimilarConfig {
    const FACTS: Facts = Facts {
        draws: true,
        ..Facts::new(Transport::Datagrams)
    };

    fn problem(&self, _tcp: &TcpConfig) -> Option<Problem> {
        self.invalid().or_else(|| self.bursts().problem(self.even()))
    }

    fn application(&self, flow: &NewFlow<'_>) -> NewApplication {
        NewApplication::Datagrams(self.schedule(flow.stream("datagrams")))
    }

    fn payloads(&self) -> Option<[u32; 2]> {
        Some([self.payload_bytes; 2])
    }
}

/// Datagrams of several sources, in order of time.
#[derive(Debug)]
struct Superposition {
    sources: Vec<Bursts>,
    /// Next datagram of each source as time [ps] and length [byte], and the number of the source.
    next: BinaryHeap<Reverse<((u64, u32), usize)>>,
}

impl Pattern for Superposition {
    fn next(&mut self, stream: &mut Stream) -> Option<(u64, u32)> {
        let mut first = self.next.peek_mut()?;
        let Reverse((datagram, source)) = *first;
        let following = self.sources[source].next(stream)?;
        *first = Reverse((following, source));
        Some(datagram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::schedule::first;
    use longpipe_events::PS_PER_SECOND;

    /// Returns the number of datagrams in each interval of 20 ms.
    fn counts(shape: f64) -> Vec<f64> {
        let config = SelfSimilarConfig {
            sources: 50,
            rate_bps: 80_000,
            payload_bytes: 72,
            on_ps: PS_PER_SECOND / 5,
            off_ps: PS_PER_SECOND / 5,
            times: Times::Pareto { shape },
        };
        let sent = first(|stream| config.schedule(stream), 5_000_000);
        let mut counts = vec![0.0; (sent[sent.len() - 1].0 / (PS_PER_SECOND / 50)) as usize + 1];
        assert!(sent.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        for (at, _) in sent {
            counts[(at / (PS_PER_SECOND / 50)) as usize] += 1.0;
        }
        counts
    }

    /// Returns the variance of the means of `size` consecutive counts.
    fn variance(counts: &[f64], size: usize) -> f64 {
        let means: Vec<f64> = counts
            .chunks_exact(size)
            .map(|chunk| chunk.iter().sum::<f64>() / size as f64)
            .collect();
        let mean = means.iter().sum::<f64>() / means.len() as f64;
        means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / means.len() as f64
    }

    /// Each of 50 sources sends 100 datagrams/s for half of the time, which is 50 datagrams in 20 ms.
    #[test]
    fn the_mean_rate_is_the_sum_of_the_sources() {
        let counts = counts(2.5);
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        assert!((mean / 50.0 - 1.0).abs() < 0.05, "{mean}");
    }

    /// The variance of means over m intervals decreases as m^(2H - 2), which is m^-0.5 for a shape of 1.5 and H = 0.75;
    /// without long-range dependence, as for a shape of 10, it decreases as m^-1 or faster.
    #[test]
    fn heavy_tails_cause_long_range_dependence() {
        let slope = |shape| {
            let counts = counts(shape);
            (variance(&counts, 1600) / variance(&counts, 100)).ln() / 16f64.ln()
        };
        let (heavy, light) = (slope(1.5), slope(10.0));
        assert!((-0.65..-0.35).contains(&heavy), "{heavy}");
        assert!(light < -0.9, "{light}");
    }
}
