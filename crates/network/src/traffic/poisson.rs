//! Fixed-length datagrams at exponentially distributed intervals (a Poisson process).

use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use super::schedule::{datagrams_problem, Even, Pattern, Schedule};
use longpipe_events::Stream;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};

/// Fixed-length datagrams at exponentially distributed intervals.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct PoissonConfig {
    /// Mean rate [bit/s] of the IP packets, including headers.
    pub rate_bps: u64,
    /// Payload [byte] of each datagram.
    pub payload_bytes: u32,
}

impl PoissonConfig {
    /// Returns the times and lengths of the datagrams.
    fn schedule(&self, stream: Stream) -> Schedule {
        let even = Even::of_datagrams(self.rate_bps, self.payload_bytes);
        Schedule::new(Poisson { even, sent: 0 }, stream)
    }
}

impl Parameters for PoissonConfig {
    const FACTS: Facts = Facts {
        draws: true,
        ..Facts::new(Transport::Datagrams)
    };

    fn problem(&self, _tcp: &TcpConfig) -> Option<Problem> {
        datagrams_problem(self.rate_bps, self.payload_bytes)
    }

    fn application(&self, flow: &NewFlow<'_>) -> NewApplication {
        NewApplication::Datagrams(self.schedule(flow.stream("datagrams")))
    }

    fn payloads(&self) -> Option<[u32; 2]> {
        Some([self.payload_bytes; 2])
    }
}

#[derive(Debug)]
struct Poisson {
    even: Even,
    /// Time [ps] of the latest datagram.
    sent: u64,
}

impl Pattern for Poisson {
    fn next(&mut self, stream: &mut Stream) -> Option<(u64, u32)> {
        self.sent = self.sent.saturating_add(stream.exponential(self.even.interval().0));
        Some((self.sent, self.even.length))
    }
}
