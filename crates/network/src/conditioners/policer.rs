//! A policer: a token bucket that drops or marks what exceeds a rate, and never delays a packet.
//!
//! The arithmetic is Linux's (`net/sched/act_police.c`, `psched_ratecfg_precompute` and `psched_l2t_ns` of `net/sched/sch_generic.c`):
//! times in whole nanoseconds, a length's time by a multiplication and a shift, the burst in ticks of 64 ns as iproute2 passes it.

use super::Decision;
use crate::drops::DropCause;
use crate::packets::Circuit;
use crate::scenario::conditioners::{Exceed, PolicerConfig};
use longpipe_events::Time;

const NS_PER_SECOND: u64 = 1_000_000_000;
/// Picoseconds of a nanosecond.
const PS_PER_NS: u64 = 1_000;
/// iproute2's tick [ns], and ticks per second.
const TICK_NS: i64 = 64;
const TICKS_PER_SECOND: f64 = 15.625e6;

/// The time that lengths take at a rate (`struct psched_ratecfg`).
#[derive(Clone, Copy, Debug)]
struct LengthToTime {
    mult: u32,
    shift: u32,
}

impl LengthToTime {
    /// At this rate [byte/s] (`psched_ratecfg_precompute__`).
    fn new(bytes_per_second: u64) -> LengthToTime {
        let (mut factor, mut shift) = (NS_PER_SECOND, 0);
        loop {
            let mult = (factor / bytes_per_second) as u32;
            if mult & (1 << 31) != 0 || factor & (1 << 63) != 0 {
                return LengthToTime { mult, shift };
            }
            factor <<= 1;
            shift += 1;
        }
    }

    /// Time of a packet [ns] (`psched_l2t_ns`).
    fn of(self, bytes: u32) -> i64 {
        ((u64::from(bytes) * u64::from(self.mult)) >> self.shift) as i64
    }
}

/// State of one token bucket [ns].
#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: i64,
    peak_tokens: i64,
    /// When a packet last conformed (`t_c`).
    checked: i64,
}

/// The policer.
#[derive(Clone, Debug)]
pub(super) struct Policer {
    rate: LengthToTime,
    burst_ns: i64,
    /// Peak rate, and the time of the largest packet at it.
    peak: Option<(LengthToTime, i64)>,
    mtu_bytes: u32,
    exceed: Exceed,
    /// One for all, or one for each circuit.
    buckets: Vec<Bucket>,
}

impl Policer {
    /// A policer with full buckets.
    pub fn new(config: &PolicerConfig, circuits: usize) -> Policer {
        let bytes_per_second = config.rate_bps / 8;
        let ticks = (config.burst_bytes as f64 / bytes_per_second as f64 * TICKS_PER_SECOND).ceil();
        let burst_ns = ticks as i64 * TICK_NS;
        let mtu_bytes = config.mtu_bytes.unwrap_or(u32::MAX);
        let peak = config.peak_bps.map(|peak| {
            let peak = LengthToTime::new(peak / 8);
            (peak, peak.of(mtu_bytes))
        });
        let bucket = Bucket {
            tokens: burst_ns,
            peak_tokens: peak.map_or(0, |(_, most)| most),
            checked: 0,
        };
        Policer {
            rate: LengthToTime::new(bytes_per_second),
            burst_ns,
            peak,
            mtu_bytes,
            exceed: config.exceed,
            buckets: vec![bucket; if config.per_flow { circuits } else { 1 }],
        }
    }

    /// Decides about a packet of a circuit (`tcf_police_act`). A packet that exceeds the rate leaves the buckets as they are.
    pub fn decide(&mut self, now: Time, vc: Circuit, bytes: u32) -> Decision {
        let bucket = match &mut self.buckets[..] {
            [all] => all,
            each => &mut each[vc.index()],
        };
        let now = (now.0 / PS_PER_NS) as i64;
        if bytes <= self.mtu_bytes {
            let elapsed = (now - bucket.checked).min(self.burst_ns);
            let peak_tokens = self.peak.map_or(0, |(peak, most)| {
                (elapsed + bucket.peak_tokens).min(most) - peak.of(bytes)
            });
            let tokens = (elapsed + bucket.tokens).min(self.burst_ns) - self.rate.of(bytes);
            if tokens >= 0 && peak_tokens >= 0 {
                *bucket = Bucket {
                    tokens,
                    peak_tokens,
                    checked: now,
                };
                return Decision::Pass;
            }
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

    #[test]
    fn lengths_take_the_time_that_linux_computes() {
        // 10 Mbit/s in Linux: mult 3355443200, shift 22, and 1514 bytes take 1211200 ns.
        let rate = LengthToTime::new(1_250_000);
        assert_eq!((rate.mult, rate.shift), (3_355_443_200, 22));
        assert_eq!(rate.of(1514), 1_211_200);
    }

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

    /// Those of the instants [ns] at which a packet passes.
    fn passed(policer: &mut Policer, ns: &[u64], bytes: u32) -> Vec<u64> {
        let passes = |&&ns: &&u64| policer.decide(Time(ns * PS_PER_NS), Circuit(0), bytes) == Decision::Pass;
        ns.iter().filter(passes).copied().collect()
    }

    /// A burst passes to the byte, equality conforms, and afterwards packets of L bytes pass every L/rate: σ + ρt.
    #[test]
    fn what_passes_by_a_time_is_the_burst_and_the_rate() {
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
    fn a_refused_packet_costs_nothing_and_a_long_one_never_passes() {
        let mut policer = Policer::new(
            &PolicerConfig {
                mtu_bytes: Some(1500),
                ..config()
            },
            2,
        );
        assert_eq!(passed(&mut policer, &[0], 1501), [0; 0]);
        assert_eq!(passed(&mut policer, &[0; 12], 1000).len(), 10);
        // 999 us later tokens for 999 bytes have come, whatever was refused meanwhile.
        assert_eq!(passed(&mut policer, &[999_000, 999_999], 1000), [0; 0]);
        assert_eq!(passed(&mut policer, &[1_000_000], 1000), [1_000_000]);
    }

    /// With a peak of 16 Mbit/s and an MTU of 1000 bytes a burst passes a packet every 500 us.
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
    fn flows_have_buckets_of_their_own() {
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
