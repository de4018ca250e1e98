//! Datagrams at a constant rate while on, and none while off.

use super::bursts::{Bursts, BurstsConfig, Times};
use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use super::schedule::{Even, Schedule};
use longpipe_events::Stream;
use longpipe_json::FromJson;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

/// Datagrams of equal size at a constant rate during on periods, none during off periods.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[described(name = "Bursts")]
#[serde(deny_unknown_fields)]
pub struct OnOffDatagramsConfig {
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
    #[field(default = "exponential")]
    pub times: Times,
}

/// Kinds that Python converts to datagrams at a constant rate while on.
#[derive(Described)]
#[allow(dead_code)]
pub(super) enum DatagramsInput {
    /// One direction of a telephone call over RTP: a packet every 20 ms during talk spurts.
    #[described(fact("core_kind", "on-off"), fact("in_lab", false))]
    Voice {
        /// Codec: g711 (160 bytes of speech per packet, 80 kbit/s as IP) or g729 (20 bytes, 24 kbit/s); RFC 3551
        /// section 4.5.
        #[field(values("g711", "g729"), default = "g711")]
        codec: String,
        /// Mean duration of a talk spurt [time]; ITU-T P.59.
        #[field(range = "[1 us, 1000 s]", default = "1.004 s")]
        on_ps: u64,
        /// Mean duration of a pause [time]; ITU-T P.59.
        #[field(range = "[0 s, 1000 s]", default = "1.587 s")]
        off_ps: u64,
        /// Distribution of both durations: exponential, pareto or fixed.
        #[field(default = "exponential")]
        times: Times,
    },
}

impl OnOffDatagramsConfig {
    /// Returns the times and lengths of the datagrams.
    fn schedule(&self, mut stream: Stream) -> Schedule {
        Schedule::new(Bursts::new(self.bursts(), self.even(), &mut stream), stream)
    }

    /// Returns the durations of on and off periods.
    fn bursts(&self) -> BurstsConfig {
        BurstsConfig {
            on_ps: self.on_ps,
            off_ps: self.off_ps,
            times: self.times,
        }
    }

    fn even(&self) -> Even {
        Even::of_datagrams(self.rate_bps, self.payload_bytes)
    }
}

impl Parameters for OnOffDatagramsConfig {
    const FACTS: Facts = Facts::new(Transport::Datagrams);

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::schedule::first;
    use longpipe_events::PS_PER_SECOND;

    /// Checks that a burst of 50 ms contains 5 packets at intervals of 10 ms, and that a burst of 51 ms contains 6.
    #[test]
    fn bursts_of_a_fixed_length_have_a_known_number_of_packets() {
        let bursts = |on_ps| OnOffDatagramsConfig {
            rate_bps: 80_000,
            payload_bytes: 72,
            on_ps,
            off_ps: PS_PER_SECOND / 20,
            times: Times::Fixed {},
        };
        let ms = |sent: Vec<(u64, u32)>| -> Vec<u64> { sent.iter().map(|one| one.0 / 1_000_000_000).collect() };
        assert_eq!(
            ms(first(|stream| bursts(PS_PER_SECOND / 20).schedule(stream), 7)),
            [0, 10, 20, 30, 40, 100, 110]
        );
        let longer = bursts(51 * PS_PER_SECOND / 1000);
        assert_eq!(
            ms(first(|stream| longer.schedule(stream), 8)),
            [0, 10, 20, 30, 40, 50, 101, 111]
        );
    }
}
