//! Histogram of lateness: by how many nanoseconds packets of a live run left later than the simulation scheduled them.
//!
//! Values below 2^7 ns have a bucket each. Every later octave (2^k to 2^(k+1) ns) is divided into 64 buckets of equal
//! width, so that a bucket's width is at most 1/64 of its values and 3776 counters cover all 64-bit values (as in
//! HdrHistogram).

/// Binary logarithm of the number of buckets per octave.
const BITS: u32 = 6;
const PER_OCTAVE: usize = 1 << BITS;
/// Number of buckets: 64 for values below 2^6, and 64 for each octave from 2^6 to 2^64.
const BUCKETS: usize = (64 - BITS as usize) * PER_OCTAVE + PER_OCTAVE;

/// A histogram of durations [ns].
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Number of values in each bucket.
    counts: Vec<u64>,
    /// Number of values.
    total: u64,
    /// Maximum value [ns].
    worst: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            counts: vec![0; BUCKETS],
            total: 0,
            worst: 0,
        }
    }
}

/// Returns the index of the bucket that contains a value: the value's leading bits, after those that its octave implies.
fn bucket(value: u64) -> usize {
    let shift = (64 - value.leading_zeros()).saturating_sub(BITS + 1);
    ((shift as usize) << BITS) + (value >> shift) as usize
}

/// Returns the largest value of a bucket.
fn upper(bucket: usize) -> u64 {
    let octave = (bucket >> BITS).saturating_sub(1);
    let within = (bucket - (octave << BITS)) as u64;
    ((within + 1) << octave).wrapping_sub(1)
}

impl Histogram {
    /// Counts a value [ns].
    pub fn add(&mut self, value: u64) {
        self.counts[bucket(value)] += 1;
        self.total += 1;
        self.worst = self.worst.max(value);
    }

    /// Returns the number of values.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the maximum [ns].
    pub fn worst(&self) -> u64 {
        self.worst
    }

    /// Returns a quantile [ns]; None if there are no values.
    ///
    /// `share` is the quantile's probability from 0 to 1. The value is interpolated, as if the values of a bucket were
    /// spread evenly over it. The error is at most the width of a bucket, 1/64 of the value, and much less if the bucket
    /// has many values.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let rank = ((self.total as f64 * share).ceil() as u64).clamp(1, self.total.max(1));
        if rank == self.total {
            return Some(self.worst);
        }
        let mut cumulative = 0;
        let bucket = self.counts.iter().position(|count| {
            cumulative += count;
            cumulative >= rank
        })?;
        let lower = if bucket == 0 { 0 } else { upper(bucket - 1) + 1 };
        let count = self.counts[bucket];
        let rank_in_bucket = rank - (cumulative - count);
        let width = u128::from(upper(bucket) - lower);
        let offset = width * u128::from(2 * rank_in_bucket - 1) / u128::from(2 * count);
        Some((lower + offset as u64).min(self.worst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bucket_ends_where_the_next_begins() {
        for number in 1..BUCKETS - PER_OCTAVE {
            assert_eq!(bucket(upper(number)), number);
            assert_eq!(bucket(upper(number) + 1), number + 1);
        }
        assert!(bucket(u64::MAX) < BUCKETS);
    }

    #[test]
    fn quantiles_are_within_a_64th_of_those_of_a_sorted_list() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        let values: Vec<u64> = (0..10_000).map(|n| n * n).collect();
        values.iter().for_each(|&value| histogram.add(value));
        for share in [0.5, 0.95, 0.99, 0.999, 1.0] {
            let exact = values[(share * 10_000.0) as usize - 1];
            let quantile = histogram.quantile(share).expect("values");
            assert!(
                exact.abs_diff(quantile) <= exact / 64 + 1,
                "{share}: {exact} {quantile}"
            );
        }
        assert_eq!(histogram.worst(), 9_999 * 9_999);
    }

    #[test]
    fn quantiles_of_many_values_are_interpolated() {
        let mut histogram = Histogram::default();
        (0..1_000_000).for_each(|value| histogram.add(value));
        for (share, exact) in [(0.5, 499_999_u64), (0.95, 949_999), (0.99, 989_999)] {
            let quantile = histogram.quantile(share).expect("values");
            assert!(exact.abs_diff(quantile) <= 2, "{share}: {exact} {quantile}");
        }
    }
}
