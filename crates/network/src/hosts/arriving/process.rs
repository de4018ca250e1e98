//! Arrival times and sizes of flows: a Poisson process, or a list.
//!
//! All operations give bit-identical results, so that the flows are equal on all machines.

use crate::hosts::source::pareto;
use crate::scenario::{ArrivalTimesConfig, FlowArrivalsConfig, SizesConfig, ALL_FLOWS, MAX_FLOW_BYTES};
use longpipe_events::{MaybeTime, Stream, Time};

/// Resolution of random shares: the number of parts into which each billionth is divided.
const PARTS: u64 = 1_000_000_000;

/// An arrival process.
#[derive(Clone, Debug)]
pub(super) struct Process {
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
        let known = next.map(|(at, bytes)| (Time(at), bytes));
        self.next = known.filter(|next| self.left > 0 && MaybeTime::from(next.0) < stop);
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
        let share = |from: u64, to: u64| sizes.iter().filter(|&&one| (from..to).contains(&one)).count() as f64 / 1e5;
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
