//! Token buckets as Linux computes them for `tc police` and `tbf`: `psched_ratecfg_precompute` and `psched_l2t_ns` of
//! `net/sched/sch_generic.c`. Times are whole nanoseconds; the transmission time of a length is computed by a
//! multiplication and a shift.

const NS_PER_SECOND: u64 = 1_000_000_000;

/// Transmission time of a given length at a rate (`struct psched_ratecfg`).
#[derive(Clone, Copy, Debug)]
pub(super) struct LengthToTime {
    mult: u32,
    shift: u32,
}

impl LengthToTime {
    /// Creates the conversion for a rate [byte/s] (`psched_ratecfg_precompute__`).
    pub fn new(bytes_per_second: u64) -> LengthToTime {
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

    /// Returns the number of bytes that can be sent in a time [ns], rounded up: the inverse of `of`.
    fn bytes_in(self, ns: i64) -> i64 {
        let bits = i128::from(ns) << self.shift;
        let mult = i128::from(self.mult);
        (bits.div_euclid(mult) + i128::from(bits.rem_euclid(mult) > 0)) as i64
    }

    /// Returns the transmission time [ns] of a packet (`psched_l2t_ns`).
    pub fn of(self, bytes: u32) -> i64 {
        ((u64::from(bytes) * u64::from(self.mult)) >> self.shift) as i64
    }
}

/// State of one token bucket; values are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    tokens: i64,
    peak_tokens: i64,
    /// Time at which a packet most recently conformed (`t_c`).
    checked: i64,
}

/// Fill rates and depths of a pair of token buckets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    rate: LengthToTime,
    depth_ns: i64,
    /// Peak rate, and transmission time of the largest packet at that rate.
    peak: Option<(LengthToTime, i64)>,
}

impl Rates {
    /// Creates buckets from a rate [bit/s] and a depth [ns], and optionally a peak rate [bit/s] whose bucket holds
    /// `mtu_bytes`.
    pub fn new(rate_bps: u64, depth_ns: i64, peak_bps: Option<u64>, mtu_bytes: u32) -> Rates {
        let peak = peak_bps.map(|peak| {
            let peak = LengthToTime::new(peak / 8);
            (peak, peak.of(mtu_bytes))
        });
        Rates {
            rate: LengthToTime::new(rate_bps / 8),
            depth_ns,
            peak,
        }
    }

    /// Returns a full bucket.
    pub fn full(&self) -> Bucket {
        Bucket {
            tokens: self.depth_ns,
            peak_tokens: self.peak.map_or(0, |(_, max)| max),
            checked: 0,
        }
    }

    /// Returns the tokens and peak tokens [ns] that would remain after a packet at `now`; negative values mean that
    /// there are too few.
    fn left(&self, bucket: &Bucket, now: i64, bytes: u32) -> (i64, i64) {
        let elapsed = (now - bucket.checked).min(self.depth_ns);
        let peak_tokens = self.peak.map_or(0, |(peak, max)| {
            (elapsed + bucket.peak_tokens).min(max) - peak.of(bytes)
        });
        let tokens = (elapsed + bucket.tokens).min(self.depth_ns) - self.rate.of(bytes);
        (tokens, peak_tokens)
    }

    /// Returns the time [ns] from `now` until a packet conforms; 0 if it conforms now.
    pub fn deficit(&self, bucket: &Bucket, now: i64, bytes: u32) -> i64 {
        let (tokens, peak_tokens) = self.left(bucket, now, bytes);
        (-tokens).max(-peak_tokens).max(0)
    }

    /// Returns the tokens and, with a peak rate, the peak tokens at `now` [ns], in bytes. They are negative if a packet
    /// that was released earlier waits for them.
    pub fn tokens_bytes(&self, bucket: &Bucket, now: i64) -> (i64, Option<i64>) {
        let (tokens, peak_tokens) = self.left(bucket, now, 0);
        let peak = self.peak.map(|(peak, _)| peak.bytes_in(peak_tokens));
        (self.rate.bytes_in(tokens), peak)
    }

    /// Consumes the tokens of a packet that conforms at `now` [ns].
    pub fn take(&self, bucket: &mut Bucket, now: i64, bytes: u32) {
        let (tokens, peak_tokens) = self.left(bucket, now, bytes);
        *bucket = Bucket {
            tokens,
            peak_tokens,
            checked: now,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_times_equal_those_of_linux() {
        // For 10 Mbit/s, Linux computes mult 3355443200 and shift 22, and 1514 bytes take 1211200 ns.
        let rate = LengthToTime::new(1_250_000);
        assert_eq!((rate.mult, rate.shift), (3_355_443_200, 22));
        assert_eq!(rate.of(1514), 1_211_200);
        assert_eq!(rate.bytes_in(1_211_200), 1514);
    }
}
