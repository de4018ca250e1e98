//! Web traffic: a client sends batches of pipelined requests for one file each (ATM Forum/98-0876 section 5). Where the
//! document leaves a rule open, a parameter selects one.
//!
//! All random numbers come from the flow's own streams, so two networks with the same seed have the same requests.

use super::client::{Client, Request};
use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use longpipe_events::{MaybeTime, Span, Stream, Time};
use longpipe_json::FromJson;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

/// Maximum mean of a Poisson-distributed variable. Values above 4 times this mean have a negligible probability.
const MAX_MEAN: f64 = 100.0;
/// Number of file sizes per class.
const SIZES: u32 = 9;
/// Resolution of a draw; f64 represents multiples of 2^-53 exactly.
const ONE: u64 = 1 << 53;
/// Sum of the shares of all classes [parts per billion].
const ALL_SHARES: u64 = 1_000_000_000;

/// A web server that sends a file for each request of its client, which is at the flow's receiving end.
///
/// The requests depend only on the seed and the flow, not on the network.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[described(
    fact("repeats", "cycle"),
    rule(
        "spacing_to",
        "spacing_to < spacing_from",
        "{spacing_to}; needs at least spacing_from, {spacing_from}"
    )
)]
#[serde(deny_unknown_fields)]
pub struct WebConfig {
    /// Time between batches of requests [time]; ATM Forum/98-0876 section 5.3.
    #[field(range = "[1 ms, 100000 s]", default = "10 s")]
    pub cycle_ps: u64,
    /// Request of a batch at which the next cycle starts: first-request or last-request; ATM Forum/98-0876 section 6.1
    /// (10 cycles in 100 s).
    #[field(default = "first-request")]
    pub cycle_from: CycleFrom,
    /// Payload of a request [bytes]; ATM Forum/98-0876 section 6.2.
    #[field(range = "[1 B, 65000 B]", default = "128 B")]
    pub request_bytes: u32,
    /// Minimum time between requests of a batch [time]; ATM Forum/98-0876 section 5.3.
    #[field(range = "[0 s, 1000 s]", default = "100 ms")]
    pub spacing_from_ps: u64,
    /// Maximum time between requests of a batch, uniform [time]; ATM Forum/98-0876 section 5.3.
    #[field(range = "[0 s, 1000 s]", default = "500 ms")]
    pub spacing_to_ps: u64,
    /// Mean of the Poisson-distributed number of requests per batch, before truncation; ATM Forum/98-0876 section 5.3.
    #[field(range = "(0, 100]", default = 5)]
    pub requests_mean: f64,
    /// Maximum number of requests per batch; ATM Forum/98-0876 section 5.3.
    #[field(range = "[1, 1000]", default = 9)]
    pub requests_most: u32,
    /// Mean of the Poisson-distributed index of a file's size within its class, 1 to 9, before it is restricted; ATM
    /// Forum/98-0876 section 5.2.
    #[field(range = "(0, 100]", default = 5)]
    pub size_mean: f64,
    /// Restriction of the Poisson variables to their ranges: rejection (draw again) or clamping (to the nearest end);
    /// left open by ATM Forum/98-0876.
    #[field(default = "clamping")]
    pub cut: PoissonCut,
    /// Share of the requests for each class [fraction]; ATM Forum/98-0876 table 1.
    #[field(range = "[0, 1]", len = "[0, 9]", sums_to_one, default = [0.2, 0.28, 0.4, 0.112, 0.008])]
    pub class_shares_ppb: Vec<u64>,
    /// Length of 1 KB [bytes], 1000 or 1024; class 0 has the sizes 0.1 to 0.9 KB, class 1 has 1 to 9 KB, and so on; left
    /// open by ATM Forum/98-0876.
    #[field(values("1000", "1024"), default = 1024)]
    pub kilobyte_bytes: u64,
}

/// The request in a batch at which the cycle to the next batch begins.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum CycleFrom {
    /// The first request, so that a batch starts every cycle.
    FirstRequest,
    /// The last request, so that one cycle passes after each batch.
    LastRequest,
}

/// Methods of limiting a Poisson-distributed variable to a range.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum PoissonCut {
    /// Draw again if the value is out of range.
    Rejection,
    /// Use the nearest end of the range.
    Clamping,
}

impl Parameters for WebConfig {
    const FACTS: Facts = Facts {
        short_transfers: true,
        has_requests: true,
        draws: true,
        ..Facts::new(Transport::Tcp)
    };

    fn problem(&self, _tcp: &TcpConfig) -> Option<Problem> {
        self.invalid()
    }

    fn application(&self, flow: &NewFlow<'_>) -> NewApplication {
        NewApplication::Client(Box::new(Browser::new(self, flow.seed, flow.flow)))
    }

    fn interval(&self, _tcp: &TcpConfig) -> Option<(&'static str, Span)> {
        Some(("cycle", Span(self.cycle_ps)))
    }
}

impl WebConfig {
    /// Returns the length [byte] of a file for a class and a size (1 to 9), rounded.
    pub fn file_bytes(&self, class: u32, size: u32) -> u64 {
        (u64::from(size) * 10u64.pow(class) * self.kilobyte_bytes + 5) / 10
    }

    /// Returns the times and the contents of the requests of a flow's client from `start` to before `end`: those of web
    /// traffic over TCP with equal parameters, seed and flow.
    pub fn requests(&self, seed: u64, flow: u64, start: Time, end: Time) -> Vec<(Time, Request)> {
        let mut client = Browser::new(self, seed, flow);
        let mut next = MaybeTime::from(start);
        let mut requests = Vec::new();
        while let Some(now) = next.get().filter(|now| *now < end) {
            let request;
            (request, next) = client.request(now);
            requests.push((now, request));
        }
        requests
    }
}

/// A Poisson-distributed variable limited to `1..=max`.
#[derive(Clone, Debug)]
struct CutPoisson {
    /// Cumulative probabilities in units of 1 / `ONE`: element k is P(X <= k + 1).
    cumulative: Vec<u64>,
}

impl CutPoisson {
    /// Creates a variable whose mean is `mean` before it is limited.
    pub fn new(mean: f64, max: u32, cut: PoissonCut) -> CutPoisson {
        // Weights mean^k / k!, without the common factor e^-mean; only multiplication and division are used, because
        // they give bit-identical results on all platforms.
        let weights: Vec<f64> = (1..=max.max(4 * MAX_MEAN as u32))
            .scan(1.0, |weight, k| {
                *weight *= mean / f64::from(k);
                Some(*weight)
            })
            .collect();
        // The weight of k = 0, which is 1, is not in the list.
        let (mut within, beyond) = (weights[..max as usize].to_vec(), &weights[max as usize..]);
        if cut == PoissonCut::Clamping {
            within[0] += 1.0;
            within[max as usize - 1] += beyond.iter().sum::<f64>();
        }
        let total: f64 = within.iter().sum();
        let mut sum = 0.0;
        let mut cumulative: Vec<u64> = within
            .iter()
            .map(|weight| {
                sum += weight;
                (sum / total * ONE as f64) as u64
            })
            .collect();
        cumulative[max as usize - 1] = ONE;
        CutPoisson { cumulative }
    }

    /// Draws a value from one random number of the stream.
    pub fn draw(&self, stream: &mut Stream) -> u32 {
        let uniform = stream.below(ONE);
        1 + self.cumulative.partition_point(|&share| share <= uniform) as u32
    }

    /// Returns P(X = k) for k = 1, 2, ...
    #[cfg(test)]
    pub fn probabilities(&self) -> Vec<f64> {
        let below = [0].into_iter().chain(self.cumulative.iter().copied());
        let pairs = below.zip(&self.cumulative);
        pairs.map(|(low, high)| (high - low) as f64 / ONE as f64).collect()
    }
}

/// Request process of a client.
#[derive(Clone, Debug)]
struct Browser {
    config: WebConfig,
    counts: CutPoisson,
    sizes: CutPoisson,
    /// Random streams for the counts, spacings, classes and sizes.
    streams: [Stream; 4],
    /// Time of the first request of the current batch.
    batch_start: Time,
    /// Number of requests that remain in the batch.
    remaining: u32,
}

impl Browser {
    /// Creates the client of a flow.
    fn new(config: &WebConfig, seed: u64, flow: u64) -> Browser {
        Browser {
            config: config.clone(),
            counts: CutPoisson::new(config.requests_mean, config.requests_most, config.cut),
            sizes: CutPoisson::new(config.size_mean, SIZES, config.cut),
            streams: ["web-requests", "web-spacing", "web-class", "web-size"]
                .map(|purpose| Stream::new(seed, purpose, flow)),
            batch_start: Time::ZERO,
            remaining: 0,
        }
    }
}

impl Client for Browser {
    fn request_bytes(&self) -> u32 {
        self.config.request_bytes
    }

    fn request(&mut self, now: Time) -> (Request, MaybeTime) {
        let [counts, spacings, classes, sizes] = &mut self.streams;
        if self.remaining == 0 {
            self.remaining = self.counts.draw(counts);
            self.batch_start = now;
        }
        self.remaining -= 1;
        let config = &self.config;
        let next = if self.remaining > 0 {
            let (from, to) = (config.spacing_from_ps, config.spacing_to_ps);
            now + Span(from + spacings.below(to - from + 1))
        } else {
            let from = match config.cycle_from {
                CycleFrom::FirstRequest => self.batch_start,
                CycleFrom::LastRequest => now,
            };
            // A batch that lasts longer than a cycle delays the next batch.
            (from + Span(config.cycle_ps)).max(now)
        };
        let mut point = classes.below(ALL_SHARES);
        let mut class = 0;
        while point >= config.class_shares_ppb[class] {
            point -= config.class_shares_ppb[class];
            class += 1;
        }
        let bytes = config.file_bytes(class as u32, self.sizes.draw(sizes));
        let class = class as u32;
        (Request { class, bytes }, next.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longpipe_events::PS_PER_SECOND;

    const SECOND: u64 = PS_PER_SECOND;

    /// Returns the parameters of ATM Forum/98-0876.
    pub fn config(cut: PoissonCut) -> WebConfig {
        WebConfig {
            cycle_ps: 10 * SECOND,
            cycle_from: CycleFrom::FirstRequest,
            request_bytes: 128,
            spacing_from_ps: SECOND / 10,
            spacing_to_ps: SECOND / 2,
            requests_mean: 5.0,
            requests_most: 9,
            size_mean: 5.0,
            cut,
            class_shares_ppb: vec![200_000_000, 280_000_000, 400_000_000, 112_000_000, 8_000_000],
            kilobyte_bytes: 1000,
        }
    }

    /// Values of e^-5 5^k / k! for k = 0 to 9.
    fn poisson_of_five() -> Vec<f64> {
        let factorials = [1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0, 40_320.0, 362_880.0];
        let term = |(k, factorial): (usize, &f64)| (-5f64).exp() * 5f64.powi(k as i32) / factorial;
        factorials.iter().enumerate().map(term).collect()
    }

    #[test]
    fn a_limited_poisson_variable_has_the_exact_probabilities() {
        let plain = poisson_of_five();
        let within: f64 = plain[1..].iter().sum();
        let rejected: Vec<f64> = plain[1..].iter().map(|p| p / within).collect();
        let mut clamped = plain[1..].to_vec();
        clamped[0] += plain[0];
        clamped[8] += 1.0 - plain.iter().sum::<f64>();
        for (cut, expected, mean) in [
            (PoissonCut::Rejection, rejected, 4.846),
            (PoissonCut::Clamping, clamped, 4.952),
        ] {
            let found = CutPoisson::new(5.0, 9, cut).probabilities();
            let worst = found
                .iter()
                .zip(&expected)
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f64::max);
            assert!(worst < 1e-12, "{cut:?}: {worst}");
            let of_found: f64 = found.iter().enumerate().map(|(k, p)| (k + 1) as f64 * p).sum();
            assert!((of_found - mean).abs() < 1e-3, "{cut:?}: {of_found}");
        }
    }

    #[test]
    fn extreme_means_stay_in_range() {
        let mut stream = Stream::new(1, "test", 0);
        for (mean, max) in [(1e-9, 9), (100.0, 9), (100.0, 1000), (5.0, 1)] {
            for cut in [PoissonCut::Rejection, PoissonCut::Clamping] {
                let poisson = CutPoisson::new(mean, max, cut);
                let all: f64 = poisson.probabilities().iter().sum();
                assert!((all - 1.0).abs() < 1e-12, "{mean} {max}: {all}");
                assert!((0..100).all(|_| (1..=max).contains(&poisson.draw(&mut stream))));
            }
        }
    }

    /// Checks that Pearson's chi-squared statistic is below its 99.99 % quantile (32 and 24 for 8 and 4 degrees of
    /// freedom).
    #[test]
    fn counts_classes_and_sizes_follow_their_distributions() {
        let config = config(PoissonCut::Rejection);
        let (mut counts, mut classes, mut sizes) = ([0u32; 9], [0u32; 5], [0u32; 9]);
        let draws = 100_000;
        let mut client = Browser::new(&config, 7, 3);
        let (mut now, mut count) = (Time::ZERO, 0);
        for _ in 0..draws {
            let (request, next) = client.request(now);
            classes[request.class as usize] += 1;
            let step = config.file_bytes(request.class, 1);
            assert_eq!(request.bytes % step, 0);
            sizes[(request.bytes / step) as usize - 1] += 1;
            count += 1;
            if client.remaining == 0 {
                counts[count - 1] += 1;
                count = 0;
            }
            now = next.get().expect("time of the next request");
        }
        let statistic = |found: &[u32], probabilities: &[f64]| {
            let all = f64::from(found.iter().sum::<u32>());
            let terms = found.iter().zip(probabilities);
            terms
                .map(|(&n, p)| (f64::from(n) - all * p).powi(2) / (all * p))
                .sum::<f64>()
        };
        let poisson = CutPoisson::new(5.0, 9, PoissonCut::Rejection).probabilities();
        assert!(statistic(&counts, &poisson) < 32.0, "{counts:?}");
        assert!(statistic(&sizes, &poisson) < 32.0, "{sizes:?}");
        let shares = [0.2, 0.28, 0.4, 0.112, 0.008];
        assert!(statistic(&classes, &shares) < 24.0, "{classes:?}");
    }

    #[test]
    fn batches_start_every_cycle_with_requests_100_to_500_ms_apart() {
        for from in [CycleFrom::FirstRequest, CycleFrom::LastRequest] {
            let config = WebConfig {
                cycle_from: from,
                ..config(PoissonCut::Clamping)
            };
            let mut client = Browser::new(&config, 1, 0);
            let mut now = Time(5);
            for _ in 0..1000 {
                let (_, next) = client.request(now);
                let next = next.get().expect("time of the next request");
                let gap = (next - now).0;
                if client.remaining > 0 {
                    assert!((SECOND / 10..=SECOND / 2).contains(&gap));
                } else if from == CycleFrom::FirstRequest {
                    assert_eq!((next - client.batch_start).0, 10 * SECOND);
                } else {
                    assert_eq!(gap, 10 * SECOND);
                }
                now = next;
            }
        }
    }

    #[test]
    fn sizes_are_multiples_of_decades_of_a_kilobyte() {
        let mut config = config(PoissonCut::Clamping);
        let sizes = |config: &WebConfig| [(0, 1), (0, 9), (1, 1), (2, 5), (4, 9)].map(|(c, s)| config.file_bytes(c, s));
        assert_eq!(sizes(&config), [100, 900, 1000, 50_000, 9_000_000]);
        config.kilobyte_bytes = 1024;
        assert_eq!(sizes(&config), [102, 922, 1024, 51_200, 9_216_000]);
    }

    #[test]
    fn the_limiting_method_changes_neither_spacings_nor_classes() {
        let draw = |cut| {
            let mut client = Browser::new(&config(cut), 1, 2);
            let requests: Vec<u32> = (0..50).map(|_| client.request(Time::ZERO).0.class).collect();
            requests
        };
        assert_eq!(draw(PoissonCut::Rejection), draw(PoissonCut::Clamping));
    }
}
