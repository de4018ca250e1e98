//! Fixed-length datagrams at exponentially distributed intervals (a Poisson process).

use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use super::schedule::{Even, Pattern, Schedule};
use longpipe_events::Stream;
use longpipe_json::FromJson;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

/// Datagrams of equal size with exponential gaps (Poisson process).
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
pub struct PoissonConfig {
    /// Rate of the IP packets, including 28 bytes of headers each [bit/s].
    #[field(range = "[1 kbit/s, 10 Tbit/s]")]
    pub rate_bps: u64,
    /// Payload of each datagram [bytes].
    #[field(range = "[1 B, 65000 B]", default = "1000 B")]
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
        self.invalid()
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
