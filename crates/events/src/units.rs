//! Newtypes for rates and sizes.

use crate::time::{Time, PS_PER_SECOND};

/// Bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

impl Rate {
    /// Returns the utilization at `now` of a line of this rate that has sent `bytes`. It is at most 1, even though
    /// departure times are rounded.
    pub fn share_used(self, bytes: u64, now: Time) -> f64 {
        (8.0 * bytes as f64 / (self.0 as f64 * now.as_seconds())).min(1.0)
    }

    /// Returns whether a line of this rate could have sent `bytes` by `now`. Departures are rounded to a picosecond.
    pub fn can_have_sent(self, bytes: u64, now: Time) -> bool {
        8 * u128::from(bytes) * u128::from(PS_PER_SECOND) < u128::from(self.0) * (u128::from(now.0) + 1)
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// A number of 53-byte ATM cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cells(pub u64);
