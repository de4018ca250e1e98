//! A shaper: a token bucket that delays packets that exceed a rate before they reach the transmitter (Linux: `tbf`).
//!
//! The arithmetic follows Linux's `net/sched/sch_tbf.c`, with the burst in bytes, as iproute2 passes it since 2013. A
//! packet that waits for tokens has already left the queue discipline, as with Linux's `qdisc_peek_dequeued`, but it
//! still occupies the buffer.

use super::token_bucket::{Bucket, LengthToTime, Rates};
use super::{ConditionerConfig, Facts, Parameters};
use longpipe_events::{Time, PS_PER_NS};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// A token bucket that delays packets above a rate, between the queue discipline and the line (Linux: `tbf`).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(rule("peak", "peak <= rate", "{peak}; needs more than rate, {rate}"))]
#[described(rule(
    "mtu",
    "peak is not none and mtu is none",
    "absent; with a peak rate it needs the longest packet, as in '1500 B'"
))]
pub struct TbfConfig {
    /// A token rate, in terms of IP packets [bit/s], as in '10 Mbit/s'.
    #[field(range = "[1 kbit/s, 1 Tbit/s]")]
    pub rate_bps: u64,
    /// A size of the bucket [bytes], as in '16 KB'; longer packets are dropped.
    #[field(range = "[1 B, 1 GB]")]
    pub burst_bytes: u32,
    /// Peak rate, with a bucket of mtu bytes [bit/s]; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[1 kbit/s, 1 Tbit/s]", later)]
    pub peak_bps: Option<u64>,
    /// Packet length above which packets are dropped [bytes]; no limit other than the burst if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[1 B, 65000 B]", later)]
    pub mtu_bytes: Option<u32>,
}

impl Parameters for TbfConfig {
    const FACTS: Facts = Facts {
        has_bucket: true,
        ..Facts::NONE
    };
}

/// A shaper with its token bucket.
#[derive(Clone, Debug)]
pub(crate) struct Tbf {
    rates: Rates,
    bucket: Bucket,
    max_bytes: u64,
}

impl Tbf {
    /// Creates the shaper among a link's conditioners, with a full bucket.
    pub fn among(configs: &[ConditionerConfig]) -> Option<Tbf> {
        configs.iter().find_map(|config| match config {
            ConditionerConfig::Tbf(tbf) => Some(Tbf::new(tbf)),
            _ => None,
        })
    }

    fn new(config: &TbfConfig) -> Tbf {
        let mtu_bytes = config.mtu_bytes.unwrap_or(u32::MAX);
        let depth_ns = LengthToTime::new(config.rate_bps / 8).of(config.burst_bytes);
        let rates = Rates::new(config.rate_bps, depth_ns, config.peak_bps, mtu_bytes);
        Tbf {
            bucket: rates.full(),
            rates,
            max_bytes: u64::from(config.burst_bytes.min(mtu_bytes)),
        }
    }

    /// Returns whether a packet is longer than the burst or the MTU and is therefore dropped at enqueue, because the
    /// buckets can never hold enough tokens for it.
    pub fn is_too_long(&self, bytes: u64) -> bool {
        bytes > self.max_bytes
    }

    /// Returns the tokens and the peak tokens [byte] at `now`.
    pub fn tokens_bytes(&self, now: Time) -> (i64, Option<i64>) {
        self.rates.tokens_bytes(&self.bucket, now.as_nanoseconds())
    }

    /// Consumes the tokens of the first packet, which the transmitter could start to send at `now`. Returns the time at
    /// which there are enough tokens.
    pub fn release(&mut self, now: Time, bytes: u16) -> Time {
        let now_ns = now.as_nanoseconds();
        let deficit = self.rates.deficit(&self.bucket, now_ns, u32::from(bytes));
        self.rates.take(&mut self.bucket, now_ns + deficit, u32::from(bytes));
        match deficit {
            0 => now,
            _ => Time((now_ns + deficit) as u64 * PS_PER_NS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a burst leaves at once, that packets of L bytes follow every L/rate, and that the bucket is full
    /// again after a pause.
    #[test]
    fn after_a_burst_packets_leave_every_l_over_rate() {
        let config = TbfConfig {
            rate_bps: 8_000_000,
            burst_bytes: 3000,
            peak_bps: None,
            mtu_bytes: None,
        };
        let mut tbf = Tbf::new(&config);
        let mut now = Time::ZERO;
        let mut left = vec![];
        for packet in 0..7 {
            if packet == 5 {
                now = Time(10_000_000_000);
            }
            now = tbf.release(now, 1000);
            left.push(now.0 / 1_000_000_000);
        }
        assert_eq!(left, [0, 0, 0, 1, 2, 10, 10]);
        assert!(tbf.is_too_long(3001) && !tbf.is_too_long(3000));
    }

    /// Checks that, with a peak rate of 16 Mbit/s and an MTU of 1000 bytes, the packets of a burst leave every 500 us.
    #[test]
    fn a_peak_rate_spaces_a_burst() {
        let config = TbfConfig {
            rate_bps: 8_000_000,
            burst_bytes: 3000,
            peak_bps: Some(16_000_000),
            mtu_bytes: Some(1000),
        };
        let mut tbf = Tbf::new(&config);
        let mut now = Time::ZERO;
        let left: Vec<u64> = (0..7)
            .map(|_| {
                now = tbf.release(now, 1000);
                now.0 / 1_000_000
            })
            .collect();
        // The initial tokens for 3000 bytes, plus those for 1000 bytes per ms, are spent at 2000 bytes per ms, so they
        // last until 2 ms.
        assert_eq!(left, [0, 500, 1000, 1500, 2000, 3000, 4000]);
    }
}
