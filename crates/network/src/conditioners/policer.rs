//! A policer: a token bucket that drops or marks packets that exceed a rate, and never delays a packet.
//!
//! The arithmetic follows Linux's `net/sched/act_police.c`, with the burst in ticks of 64 ns as iproute2 passes it.

use super::token_bucket::{Bucket, Rates};
use super::{Decision, Facts, Parameters};
use crate::packets::drops::DropCause;
use crate::packets::Circuit;
use longpipe_events::Time;
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// A token bucket that drops or marks packets that exceed a rate, and never delays them (Linux: `tc police`).
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(rule("peak", "peak <= rate", "{peak}; needs more than rate, {rate}"))]
#[described(rule(
    "mtu",
    "peak is not none and mtu is none",
    "absent; with a peak rate it needs the longest packet, as in '1500 B'"
))]
pub struct PolicerConfig {
    /// A token rate, in terms of IP packets [bit/s], as in '10 Mbit/s'.
    #[field(range = "[1 kbit/s, 1 Tbit/s]")]
    pub rate_bps: u64,
    /// A size of the bucket [bytes], as in '125 KB'.
    #[field(range = "[1 B, 1 GB]")]
    pub burst_bytes: u64,
    /// Peak rate, with a bucket of mtu bytes [bit/s]; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[1 kbit/s, 1 Tbit/s]", later)]
    pub peak_bps: Option<u64>,
    /// Packet length above which packets always exceed the rate [bytes]; no limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(range = "[1 B, 65000 B]", later)]
    pub mtu_bytes: Option<u32>,
    /// Action on packets that exceed the rate: drop, or mark, which marks ECN-capable packets and drops others.
    #[field(default = "drop")]
    pub exceed: Exceed,
    /// A bucket for each direction of each flow instead of one for all packets.
    #[field(default = false)]
    pub per_flow: bool,
}

/// Treatment of packets that exceed a rate.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum Exceed {
    /// Packets are dropped.
    Drop,
    /// ECN-capable packets are marked, other packets are dropped.
    Mark,
}

impl Parameters for PolicerConfig {
    const FACTS: Facts = Facts {
        repeats: true,
        has_bucket: true,
        beside_access: true,
        ..Facts::NONE
    };
}

/// Tick [ns] of iproute2, and number of ticks per second.
const TICK_NS: i64 = 64;
const TICKS_PER_SECOND: f64 = 15.625e6;

/// A policer with its token buckets.
#[derive(Clone, Debug)]
pub(super) struct Policer {
    rates: Rates,
    mtu_bytes: u32,
    exceed: Exceed,
    /// One bucket for all packets, or one per circuit.
    buckets: Vec<Bucket>,
}

impl Policer {
    /// Creates a policer with full buckets.
    pub fn new(config: &PolicerConfig, circuits: usize) -> Policer {
        let ticks = (config.burst_bytes as f64 / (config.rate_bps / 8) as f64 * TICKS_PER_SECOND).ceil();
        let mtu_bytes = config.mtu_bytes.unwrap_or(u32::MAX);
        let rates = Rates::new(config.rate_bps, ticks as i64 * TICK_NS, config.peak_bps, mtu_bytes);
        Policer {
            buckets: vec![rates.full(); if config.per_flow { circuits } else { 1 }],
            rates,
            mtu_bytes,
            exceed: config.exceed,
        }
    }

    /// Returns the tokens and the peak tokens [byte] of the bucket at `now`; `None` if there is a bucket per circuit.
    pub fn tokens_bytes(&self, now: Time) -> Option<(i64, Option<i64>)> {
        let [bucket] = &self.buckets[..] else { return None };
        Some(self.rates.tokens_bytes(bucket, now.as_nanoseconds()))
    }

    /// Decides whether a packet of a circuit conforms to the rate (`tcf_police_act`). A packet that exceeds the rate
    /// consumes no tokens.
    pub fn decide(&mut self, now: Time, vc: Circuit, bytes: u32) -> Decision {
        let bucket = match &mut self.buckets[..] {
            [all] => all,
            each => &mut each[vc.index()],
        };
        if bytes <= self.mtu_bytes && self.rates.deficit(bucket, now.as_nanoseconds(), bytes) == 0 {
            self.rates.take(bucket, now.as_nanoseconds(), bytes);
            return Decision::Pass;
        }
        match self.exceed {
            Exceed::Drop => Decision::Drop(DropCause::Policer),
            Exceed::Mark => Decision::Mark(DropCause::Policer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longpipe_events::PS_PER_NS;

    fn config() -> PolicerConfig {
        PolicerConfig {
            rate_bps: 8_000_000,
            burst_bytes: 10_000,
            peak_bps: None,
            mtu_bytes: None,
            exceed: Exceed::Drop,
            per_flow: false,
        }
    }

    /// Returns those of the times `ns` at which a packet passes.
    fn passed(policer: &mut Policer, ns: &[u64], bytes: u32) -> Vec<u64> {
        let passes = |&&ns: &&u64| policer.decide(Time(ns * PS_PER_NS), Circuit(0), bytes) == Decision::Pass;
        ns.iter().filter(passes).copied().collect()
    }

    /// Checks the bound σ + ρt: a burst of exactly σ bytes passes, and afterwards a packet of L bytes passes every
    /// L/rate.
    #[test]
    fn passed_bytes_are_bounded_by_the_burst_and_the_rate() {
        let mut policer = Policer::new(&config(), 2);
        // 1000 bytes take 1 ms.
        let every_100_us: Vec<u64> = (0..1000).map(|n| n * 100_000).collect();
        let found = passed(&mut policer, &every_100_us, 1000);
        for (arrivals, &now) in (1..).zip(&every_100_us) {
            let count = found.iter().filter(|&&at| at <= now).count() as u64;
            assert_eq!(count, ((10_000_000 + now) / 1_000_000).min(arrivals), "at {now} ns");
        }
    }

    #[test]
    fn a_dropped_packet_consumes_no_tokens_and_an_oversized_one_never_passes() {
        let mut policer = Policer::new(
            &PolicerConfig {
                mtu_bytes: Some(1500),
                ..config()
            },
            2,
        );
        assert_eq!(passed(&mut policer, &[0], 1501), [0; 0]);
        assert_eq!(passed(&mut policer, &[0; 12], 1000).len(), 10);
        // Tokens for 999 bytes accumulate in 999 us, because dropped packets consume no tokens.
        assert_eq!(passed(&mut policer, &[999_000, 999_999], 1000), [0; 0]);
        assert_eq!(passed(&mut policer, &[1_000_000], 1000), [1_000_000]);
    }

    /// Checks that, with a peak rate of 16 Mbit/s and an MTU of 1000 bytes, one packet of a burst passes every 500 us.
    #[test]
    fn a_peak_rate_spaces_a_burst() {
        let limited = PolicerConfig {
            peak_bps: Some(16_000_000),
            mtu_bytes: Some(1000),
            ..config()
        };
        let mut policer = Policer::new(&limited, 2);
        let every_100_us: Vec<u64> = (0..40).map(|n| n * 100_000).collect();
        let found = passed(&mut policer, &every_100_us, 1000);
        assert_eq!(
            found,
            [0, 500_000, 1_000_000, 1_500_000, 2_000_000, 2_500_000, 3_000_000, 3_500_000]
        );
    }

    #[test]
    fn each_flow_has_its_own_bucket() {
        let mut policer = Policer::new(
            &PolicerConfig {
                per_flow: true,
                ..config()
            },
            4,
        );
        let passes = |policer: &mut Policer, vc| policer.decide(Time(0), Circuit(vc), 1000) == Decision::Pass;
        assert_eq!((0..20).filter(|_| passes(&mut policer, 0)).count(), 10);
        assert_eq!((0..20).filter(|_| passes(&mut policer, 2)).count(), 10);
    }
}
