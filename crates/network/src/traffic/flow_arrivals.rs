//! Traffic of flows that arrive, transfer their data and leave.

use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use super::schedule::pareto;
use crate::bounds::{refuse_unless, MAX_DURATION};
use longpipe_events::{MaybeTime, Span, Stream, Time, PS_PER_SECOND};
use longpipe_json::FromJson;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

/// Flows that arrive one after another, each with its own TCP connection, which ends with its data.
///
/// They arrive as a Poisson process with this `rate`, or with the rate that loads the slowest link of the path to the
/// share `load`, or at the times in a `file`, a CSV file with the columns time (after the start, in seconds or with a
/// unit) and bytes.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[described(fact("in_lab", false), input(FlowArrivalsInput, "most_active"))]
#[serde(deny_unknown_fields)]
pub struct FlowArrivalsConfig {
    /// Arrival times and sizes.
    #[field(skip)]
    pub arrivals: ArrivalTimesConfig,
    /// Maximum number of simultaneous flows, for which memory is reserved; further flows wait until one ends.
    #[field(range = "[1, 100000]", default = 1000)]
    pub most_active: u32,
    /// Total number of flows; unlimited if None.
    #[field(skip)]
    pub most_flows: Option<u64>,
}

/// Fields from which Python computes the arrivals.
#[derive(Described)]
#[allow(dead_code)]
struct FlowArrivalsInput {
    /// Offered load, as a share of the slowest link's rate, including headers.
    #[field(range = "(0, 10]")]
    load: Option<f64>,
    /// Mean number of flows per second, in place of a load.
    #[field(range = "(0, 1e9]")]
    rate: Option<f64>,
    /// Distribution of the flows' sizes: fixed, pareto, web-search or file.
    sizes: Option<SizesConfig>,
    /// A path to a file of arrival times and sizes, in place of load, rate and sizes.
    #[field(len = "[1, 4096]")]
    file: Option<String>,
    /// Maximum number of flows that arrive; no limit if absent.
    #[field(range = "[1, 1000000000]")]
    flows: Option<u64>,
}

/// Arrival times of flows, and their sizes.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ArrivalTimesConfig {
    /// A Poisson process.
    Poisson {
        /// Mean time [ps] between arrivals.
        gap_ps: u64,
        /// Sizes of the flows.
        sizes: SizesConfig,
    },
    /// A list.
    List {
        /// Arrival time [ps], relative to the start and ascending, and size [byte] of each flow.
        flows_ps: Vec<(u64, u64)>,
    },
}

/// Distribution of the sizes of flows.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[described(input(SizesInput))]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SizesConfig {
    /// All flows have one size.
    #[described(name = "FixedSizes")]
    Fixed {
        /// Size of each flow [bytes], as in '100 KB'.
        #[field(range = "[1 B, 1000 GB]")]
        size_bytes: u64,
    },
    /// A Pareto distribution: few large flows carry most of the data.
    #[described(name = "ParetoSizes")]
    Pareto {
        /// Mean size [bytes].
        #[field(range = "[1 B, 1000 GB]", default = "100 KB")]
        mean_bytes: u64,
        /// Tail index; below 2 the variance is infinite; Crovella & Bestavros 1997.
        #[field(range = "(1, 100]", default = 1.2)]
        shape: f64,
    },
    /// Cumulative distribution, linear between its points.
    #[described(skip)]
    Cumulative {
        /// Sizes [byte], in ascending order, each with the cumulative share of flows [parts per billion]; the last
        /// share is 10⁹.
        #[field(skip)]
        points: Vec<(u64, u64)>,
    },
}

/// Kinds of sizes that Python converts to a cumulative distribution.
#[derive(Described)]
#[allow(dead_code)]
enum SizesInput {
    /// Flow sizes of a web search cluster, with a mean of 1.7 MB (Alizadeh et al. 2010).
    #[described(name = "WebSearchSizes")]
    WebSearch {},
    /// A cumulative distribution from a CSV file with the columns bytes and share, linear between its rows.
    #[described(name = "FileOfSizes")]
    File {
        /// A path to the file, which is read when the scenario is checked.
        #[field(len = "[1, 4096]")]
        file: String,
    },
}

/// Maximum size [byte] of a flow.
const MAX_FLOW_BYTES: u64 = 1_000_000_000_000;
/// All flows, the unit of shares in parts per billion.
const ALL_FLOWS: u64 = 1_000_000_000;

impl Parameters for FlowArrivalsConfig {
    const FACTS: Facts = Facts {
        short_transfers: true,
        many_connections: true,
        draws: true,
        ..Facts::new(Transport::Tcp)
    };

    fn problem(&self, _tcp: &TcpConfig) -> Option<Problem> {
        self.invalid().or_else(|| {
            let problem = match &self.arrivals {
                ArrivalTimesConfig::Poisson { gap_ps, sizes } => {
                    let fits = (1..=100_000 * PS_PER_SECOND).contains(gap_ps);
                    refuse_unless(fits, "gap", gap_ps, "needs 1 ps to 100 000 s, in ps")
                        .or_else(|| sizes.problem().map(|problem| problem.within("sizes")))
                }
                ArrivalTimesConfig::List { flows_ps } => list_problem(flows_ps),
            };
            problem.map(|problem| problem.within("arrivals"))
        })
    }

    fn application(&self, _flow: &NewFlow<'_>) -> NewApplication {
        NewApplication::Arrivals
    }

    fn interval(&self, _tcp: &TcpConfig) -> Option<(&'static str, Span)> {
        match self.arrivals {
            ArrivalTimesConfig::Poisson { gap_ps, .. } => Some(("arrivals.gap", Span(gap_ps))),
            ArrivalTimesConfig::List { .. } => None,
        }
    }
}

impl SizesConfig {
    fn problem(&self) -> Option<Problem> {
        let SizesConfig::Cumulative { points } = self else {
            return self.invalid();
        };
        let rises = points
            .windows(2)
            .all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
        let ends = points.last().is_some_and(|last| last.1 == ALL_FLOWS);
        let fits = points.iter().all(|point| point.0 <= MAX_FLOW_BYTES);
        let accepted = "needs ascending sizes of up to 1 TB and ascending shares, the last of one billion";
        refuse_unless(
            rises && ends && fits,
            "points",
            format!("{} points", points.len()),
            accepted,
        )
    }
}

fn list_problem(flows_ps: &[(u64, u64)]) -> Option<Problem> {
    let problem = |value: u64, accepted| Some(Problem::new("flows", value, accepted));
    if let Some(pair) = flows_ps.windows(2).find(|pair| pair[0].0 > pair[1].0) {
        return problem(pair[1].0, "needs nondecreasing times, in ps");
    }
    if let Some(&(_, bytes)) = flows_ps.iter().find(|flow| !(1..=MAX_FLOW_BYTES).contains(&flow.1)) {
        return problem(bytes, "needs sizes of 1 byte to 1 TB");
    }
    match flows_ps.last() {
        Some(&(time_ps, _)) if time_ps > MAX_DURATION => problem(time_ps, "needs at most 100 days, in ps"),
        _ => None,
    }
}

/// Resolution of random shares: the number of parts into which each billionth is divided.
const PARTS: u64 = 1_000_000_000;

/// An arrival process.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    times: ArrivalTimesConfig,
    gaps: Stream,
    sizes: Stream,
    start: Time,
    stop: MaybeTime,
    /// Number of flows that may still follow the next flow.
    left: u64,
    /// Number of the next flow in a list.
    number: usize,
    /// Next flow: arrival time and size [byte].
    next: Option<(Time, u64)>,
}

impl Process {
    /// Creates a process for flow `entity` in which flows arrive from `start` until before `stop`.
    pub fn new(config: &FlowArrivalsConfig, start: Time, stop: MaybeTime, (seed, entity): (u64, u64)) -> Process {
        let mut process = Process {
            times: config.arrivals.clone(),
            gaps: Stream::new(seed, "flow arrivals", entity),
            sizes: Stream::new(seed, "flow sizes", entity),
            start,
            stop,
            left: config.most_flows.unwrap_or(u64::MAX),
            number: 0,
            next: None,
        };
        process.step(start);
        process
    }

    /// Returns the arrival time and the size [byte] of the next flow; None if there are no more flows.
    pub fn due(&self) -> Option<(Time, u64)> {
        self.next
    }

    /// Advances to the flow after the one that arrived at `time`.
    pub fn step(&mut self, time: Time) {
        let next = match &self.times {
            ArrivalTimesConfig::Poisson { gap_ps, sizes } => {
                let after = time.0.checked_add(self.gaps.exponential(*gap_ps));
                after.map(|after| (after, size(sizes, &mut self.sizes)))
            }
            ArrivalTimesConfig::List { flows_ps } => {
                let next = flows_ps.get(self.number);
                next.and_then(|&(after, bytes)| Some((self.start.0.checked_add(after)?, bytes)))
            }
        };
        self.number += 1;
        let stop = self.stop;
        let arrival = next.map(|(at, bytes)| (Time(at), bytes));
        self.next = arrival.filter(|next| self.left > 0 && MaybeTime::from(next.0) < stop);
        self.left = self.left.saturating_sub(1);
    }
}

/// Draws the size [byte] of a flow.
fn size(sizes: &SizesConfig, stream: &mut Stream) -> u64 {
    let bytes = match sizes {
        SizesConfig::Fixed { size_bytes } => *size_bytes,
        SizesConfig::Pareto { mean_bytes, shape } => pareto(*mean_bytes as f64, *shape, stream),
        SizesConfig::Cumulative { points } => {
            let share = stream.below(ALL_FLOWS * PARTS);
            let place = points.partition_point(|point| point.1 * PARTS <= share);
            let (bytes, above) = points[place];
            match place.checked_sub(1).map(|before| points[before]) {
                None => bytes,
                Some((min, below)) => {
                    let within = u128::from(share - below * PARTS) * u128::from(bytes - min);
                    min + (within / (u128::from(above - below) * u128::from(PARTS))) as u64
                }
            }
        }
    };
    bytes.clamp(1, MAX_FLOW_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use longpipe_events::PS_PER_SECOND;

    fn drawn(sizes: &SizesConfig) -> Vec<u64> {
        let mut stream = Stream::new(1, "test", 0);
        (0..100_000).map(|_| size(sizes, &mut stream)).collect()
    }

    fn mean(sizes: &[u64]) -> f64 {
        sizes.iter().map(|&bytes| bytes as f64).sum::<f64>() / sizes.len() as f64
    }

    /// A quarter of the flows have 100 bytes, half have a uniformly distributed size from 100 to 300 bytes, and a
    /// quarter from 1000 to 2000 bytes.
    #[test]
    fn sizes_follow_their_cumulative_distribution() {
        let points = vec![
            (100, 250_000_000),
            (300, 750_000_000),
            (1000, 750_000_000),
            (2000, ALL_FLOWS),
        ];
        let sizes = drawn(&SizesConfig::Cumulative { points });
        let share = |from: u64, to: u64| sizes.iter().filter(|&&size| (from..to).contains(&size)).count() as f64 / 1e5;
        for (found, expected) in [
            (share(0, 100), 0.0),
            (share(100, 101), 0.2525),
            (share(200, 300), 0.25),
            (share(300, 1000), 0.0),
            (share(1500, 2000), 0.125),
        ] {
            assert!((found - expected).abs() < 0.005, "{found} {expected}");
        }
        // The mean is 25 + 100 + 375, with a standard error of 1.9.
        assert!((mean(&sizes) - 500.0).abs() < 8.0, "{}", mean(&sizes));
    }

    /// A Pareto distribution with a mean of 1000 and shape 3 has a minimum of 667 and a standard deviation of 577.
    #[test]
    fn sizes_follow_a_pareto_distribution() {
        let sizes = drawn(&SizesConfig::Pareto {
            mean_bytes: 1000,
            shape: 3.0,
        });
        assert!((mean(&sizes) - 999.5).abs() < 8.0, "{}", mean(&sizes));
        assert!(sizes.iter().all(|&bytes| bytes >= 666));
    }

    #[test]
    fn a_process_ends_after_its_number_of_flows_or_at_its_stop() {
        let config = |most_flows, flows_ps| FlowArrivalsConfig {
            arrivals: ArrivalTimesConfig::List { flows_ps },
            most_active: 1,
            most_flows,
        };
        let all = |config: &FlowArrivalsConfig, stop: MaybeTime| {
            let mut process = Process::new(config, Time(10), stop, (1, 0));
            let mut found = vec![];
            while let Some((at, bytes)) = process.due() {
                found.push((at.0, bytes));
                process.step(at);
            }
            found
        };
        let list = vec![(0, 5), (3, 6), (3, 7), (9, 8)];
        let (none, stop) = (MaybeTime::NONE, Time(19).into());
        assert_eq!(
            all(&config(None, list.clone()), none),
            [(10, 5), (13, 6), (13, 7), (19, 8)]
        );
        assert_eq!(all(&config(Some(2), list.clone()), none), [(10, 5), (13, 6)]);
        assert_eq!(all(&config(None, list), stop), [(10, 5), (13, 6), (13, 7)]);
    }

    #[test]
    fn poisson_arrivals_have_their_rate() {
        let config = FlowArrivalsConfig {
            arrivals: ArrivalTimesConfig::Poisson {
                gap_ps: PS_PER_SECOND / 1000,
                sizes: SizesConfig::Fixed { size_bytes: 1 },
            },
            most_active: 1,
            most_flows: Some(100_000),
        };
        let mut process = Process::new(&config, Time(0), MaybeTime::NONE, (1, 0));
        let mut last = Time(0);
        while let Some((at, _)) = process.due() {
            last = at;
            process.step(at);
        }
        // The last of 100 000 flows arrives at 100 s, with a standard deviation of 0.32 s.
        assert!((last.as_seconds() - 100.0).abs() < 1.3, "{}", last.as_seconds());
    }
}
