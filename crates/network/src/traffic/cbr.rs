//! Fixed-length datagrams at a constant rate.

use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use super::schedule::{Even, Pattern, Schedule};
use longpipe_events::Stream;
use longpipe_json::FromJson;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

/// Datagrams of equal size at a constant rate.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
pub struct CbrConfig {
    /// Rate of the IP packets, including 28 bytes of headers each [bit/s].
    #[field(range = "[1 kbit/s, 10 Tbit/s]")]
    pub rate_bps: u64,
    /// Payload of each datagram [bytes].
    #[field(range = "[1 B, 65000 B]", default = "1000 B")]
    pub payload_bytes: u32,
}

impl CbrConfig {
    /// Returns the times and lengths of the datagrams.
    fn schedule(&self, stream: Stream) -> Schedule {
        let even = Even::of_datagrams(self.rate_bps, self.payload_bytes);
        Schedule::new(ConstantRate::new(even), stream)
    }
}

impl Parameters for CbrConfig {
    const FACTS: Facts = Facts::new(Transport::Datagrams);

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

/// Datagrams or writes at a constant rate.
#[derive(Debug)]
pub(super) struct ConstantRate {
    even: Even,
    /// Number of the next datagram or write.
    number: u64,
}

impl ConstantRate {
    pub fn new(even: Even) -> ConstantRate {
        ConstantRate { even, number: 0 }
    }
}

impl Pattern for ConstantRate {
    fn next(&mut self, _stream: &mut Stream) -> Option<(u64, u32)> {
        let after = self.even.at(self.number);
        self.number += 1;
        Some((after, self.even.length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::schedule::first;
    use longpipe_events::PS_PER_SECOND;

    /// Checks the times of 200-byte packets: at 80 kbit/s their interval is 20 ms, and at 3 bit/s packet k is sent at
    /// k·1600/3 s, rounded down.
    #[test]
    fn a_constant_rate_is_exact_to_the_picosecond() {
        let cbr = |rate_bps| CbrConfig {
            rate_bps,
            payload_bytes: 172,
        };
        assert!((0..)
            .zip(first(|stream| cbr(80_000).schedule(stream), 1000))
            .all(|(k, (at, _))| at == k * PS_PER_SECOND / 50));
        let expected = |k: u64| (u128::from(k) * 1600 * 1_000_000_000_000 / 3) as u64;
        assert!((0..)
            .zip(first(|stream| cbr(3).schedule(stream), 1000))
            .all(|(k, (at, _))| at == expected(k)));
    }
}
