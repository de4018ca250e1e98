//! Link aggregation: a transmitter that sends packets in batches, like Wi-Fi's A-MPDUs, DOCSIS's grants and LTE's
//! transport blocks.
//!
//! When the transmitter starts a batch, it takes as many waiting packets as fit from the queue discipline. After the
//! overhead of the batch, they are sent as one transmission, and all of them leave when it ends.

use super::{ConditionerConfig, Facts, Parameters};
use crate::bounds::{refuse_unless, MAX_WAIT};
use longpipe_events::PS_PER_SECOND;
use longpipe_tcp::Problem;
use serde::{Deserialize, Serialize};

/// Aggregation of packets into batches.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct AggregationConfig {
    /// Batches begin at multiples of this interval [ps]; if absent, they begin whenever the transmitter is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ps: Option<u64>,
    /// Idle time [ps] before each batch.
    pub overhead_ps: u64,
    /// Additional length [byte] of each packet in a batch.
    pub packet_overhead_bytes: u32,
    /// Maximum number of packets per batch.
    pub max_packets: u32,
    /// Maximum length [byte] of a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_size_bytes: Option<u64>,
    /// Maximum duration [ps] of a batch, excluding its overhead, computed at the link rate when the batch starts; if
    /// absent, a batch may take the rest of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_duration_ps: Option<u64>,
}

impl Parameters for AggregationConfig {
    const FACTS: Facts = Facts::NONE;

    fn problem(&self) -> Option<Problem> {
        let time = |name, ps: Option<u64>, min: u64| {
            let ps = ps?;
            let fits = (min..=MAX_WAIT).contains(&ps);
            refuse_unless(
                fits,
                name,
                ps,
                "needs at most 1000 s, in ps, and an interval or duration more than 0",
            )
        };
        time("interval", self.interval_ps, 1)
            .or_else(|| time("overhead", Some(self.overhead_ps), 0))
            .or_else(|| time("max_duration", self.max_duration_ps, 1))
            .or_else(|| {
                let fits = self.packet_overhead_bytes <= 65_000;
                refuse_unless(
                    fits,
                    "packet_overhead",
                    self.packet_overhead_bytes,
                    "needs at most 65000 bytes",
                )
            })
            .or_else(|| {
                let fits = (1..=1_000_000).contains(&self.max_packets);
                refuse_unless(fits, "max_packets", self.max_packets, "needs 1 to 1000000 packets")
            })
            .or_else(|| {
                let fits = self.interval_ps.is_none_or(|interval| self.overhead_ps < interval);
                refuse_unless(fits, "overhead", self.overhead_ps, "needs less than the interval")
            })
    }
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
