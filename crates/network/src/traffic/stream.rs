//! Applications that write to a TCP socket over time: at a constant rate, or in bursts.

use super::bursts::{Bursts, BurstsConfig};
use super::cbr::ConstantRate;
use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use super::schedule::{rate_problem, Even, Schedule};
use crate::bounds::refuse_unless;
use longpipe_events::Span;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};

/// Maximum length [byte] of a write.
const MAX_WRITE: u32 = 1 << 30;

/// Writes at a constant rate, or at a constant rate in bursts.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct StreamConfig {
    /// Rate [bit/s] of the data while on.
    pub rate_bps: u64,
    /// Length [byte] of each write; None means a full segment.
    pub write_bytes: Option<u32>,
    /// Durations of on and off periods; None means always on.
    pub bursts: Option<BurstsConfig>,
}

impl StreamConfig {
    fn even(&self, tcp: &TcpConfig) -> Even {
        Even::of_writes(self.rate_bps, self.write_bytes.unwrap_or(tcp.mss_bytes))
    }
}

impl Parameters for StreamConfig {
    const FACTS: Facts = Facts {
        is_bulk: true,
        ..Facts::new(Transport::Tcp)
    };

    fn problem(&self, tcp: &TcpConfig) -> Option<Problem> {
        let write = self.write_bytes.unwrap_or(1);
        rate_problem(self.rate_bps)
            .or_else(|| {
                let fits = (1..=MAX_WRITE).contains(&write);
                refuse_unless(fits, "write", write, "needs 1 byte to 1 GiB, in bytes")
            })
            .or_else(|| {
                let problem = self.bursts.and_then(|bursts| bursts.problem(self.even(tcp)));
                problem.map(|problem| problem.within("bursts"))
            })
    }

    fn application(&self, flow: &NewFlow<'_>) -> NewApplication {
        let (even, mut stream) = (self.even(flow.tcp), flow.stream("writes"));
        NewApplication::Stream(match self.bursts {
            None => Schedule::new(ConstantRate::new(even), stream),
            Some(bursts) => Schedule::new(Bursts::new(bursts, even, &mut stream), stream),
        })
    }

    fn interval(&self, tcp: &TcpConfig) -> Option<(&'static str, Span)> {
        Some(("write", self.even(tcp).interval()))
    }
}
