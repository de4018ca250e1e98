//! Applications that write to a TCP socket over time: at a constant rate, or in bursts.

use super::bursts::{Bursts, BurstsConfig};
use super::cbr::ConstantRate;
use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use super::schedule::{Even, Schedule};
use longpipe_events::Span;
use longpipe_json::FromJson;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

/// An application that writes data at a constant rate into a TCP socket, always or in bursts.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
pub struct StreamConfig {
    /// Rate at which the application writes payload [bit/s], as in '5 Mbit/s'.
    #[field(range = "[1 kbit/s, 10 Tbit/s]")]
    pub rate_bps: u64,
    /// Length of each write [bytes]; the MSS if absent.
    #[field(range = "[1 B, 1 GiB]")]
    pub write_bytes: Option<u32>,
    /// On and off periods of the writer; always on if absent.
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
        self.invalid().or_else(|| {
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
