//! Link aggregation: a transmitter that sends packets in batches, like Wi-Fi's A-MPDUs, DOCSIS's grants and LTE's
//! transport blocks.
//!
//! When the transmitter starts a batch, it takes from the queue discipline as many waiting packets as fit. After the
//! overhead of the batch, they are sent as one transmission, and all of them leave when it ends.

use super::{ConditionerConfig, Facts, Parameters};
use longpipe_events::PS_PER_SECOND;
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// A transmitter that sends packets in batches (Wi-Fi's A-MPDUs, DOCSIS's grants, LTE's transport blocks).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(rule(
    "overhead",
    "overhead >= interval",
    "{overhead}; needs less than interval, {interval}"
))]
pub struct AggregationConfig {
    /// Batches begin at multiples of this interval [time], as in DOCSIS and LTE; if absent, a batch begins when the
    /// line is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[1 us, 1000 s]", later)]
    pub interval_ps: Option<u64>,
    /// Time before each batch in which no data is sent [time]: Wi-Fi's AIFS, backoff, preamble, SIFS and BlockAck.
    #[field(range = "[0 s, 1000 s]", default = "0 s")]
    pub overhead_ps: u64,
    /// Bytes that each packet adds to a batch [bytes]; 44 in an A-MPDU.
    #[field(range = "[0 B, 65000 B]", default = "0 B")]
    pub packet_overhead_bytes: u32,
    /// Maximum number of packets in a batch [packets]; BlockAck of IEEE 802.11n.
    #[field(range = "[1, 1_000_000]", default = 64)]
    pub max_packets: u32,
    /// Maximum length of a batch [bytes], 65535 in IEEE 802.11n; no limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[1 B, 1 GB]", later)]
    pub max_size_bytes: Option<u64>,
    /// Maximum duration of a batch, excluding overhead [time], Wi-Fi's TXOP; if absent, interval minus overhead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[1 us, 1000 s]", later)]
    pub max_duration_ps: Option<u64>,
}

impl Parameters for AggregationConfig {
    const FACTS: Facts = Facts::NONE;
}

/// Timing of batches, and limits on their size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aggregation(AggregationConfig);

impl Aggregation {
    /// Returns the aggregation among a link's conditioners.
    pub fn among(configs: &[ConditionerConfig]) -> Option<Aggregation> {
        configs.iter().find_map(|config| match config {
            ConditionerConfig::Aggregation(config) => Some(Aggregation(*config)),
            _ => None,
        })
    }

    /// Returns the interval [ps] at whose multiples batches begin; None if a batch begins whenever the transmitter is
    /// free.
    pub fn interval_ps(&self) -> Option<u64> {
        self.0.interval_ps
    }

    /// Returns the idle time [ps] before each batch.
    pub fn overhead_ps(&self) -> u64 {
        self.0.overhead_ps
    }

    /// Returns the length [byte] of a packet within a batch.
    pub fn line_bytes(&self, packet_bytes: u64) -> u64 {
        packet_bytes + u64::from(self.0.packet_overhead_bytes)
    }

    /// Returns the maximum number of packets per batch.
    pub fn max_packets(&self) -> usize {
        self.0.max_packets as usize
    }

    /// Returns the maximum length [byte] of a batch that is sent at a rate. A single packet may be longer.
    pub fn max_bytes(&self, rate_bps: u64) -> u64 {
        let within_interval = self
            .0
            .interval_ps
            .map(|interval| interval.saturating_sub(self.0.overhead_ps));
        let duration = self.0.max_duration_ps.or(within_interval);
        let sent = duration.map_or(u128::MAX, |duration| {
            u128::from(rate_bps) * u128::from(duration) / (8 * u128::from(PS_PER_SECOND))
        });
        let size = self.0.max_size_bytes.map_or(u128::MAX, u128::from);
        u64::try_from(sent.min(size)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks batches at multiples of 1 ms with 200 us of overhead: the remaining 800 us at 100 Mbit/s correspond to 10
    /// 000 bytes.
    #[test]
    fn a_batch_fits_into_the_interval_minus_its_overhead() {
        let config = AggregationConfig {
            interval_ps: Some(1_000_000_000),
            overhead_ps: 200_000_000,
            packet_overhead_bytes: 44,
            max_packets: 64,
            max_size_bytes: None,
            max_duration_ps: None,
        };
        let aggregation = Aggregation(config);
        assert_eq!(aggregation.max_bytes(100_000_000), 10_000);
        assert_eq!(aggregation.line_bytes(1500), 1544);
        // The smallest of the limits applies.
        let config = AggregationConfig {
            max_size_bytes: Some(65_535),
            max_duration_ps: Some(5_448_000_000),
            ..config
        };
        assert_eq!(Aggregation(config).max_bytes(65_000_000), 44_265);
        assert_eq!(Aggregation(config).max_bytes(1_000_000_000), 65_535);
    }
}
