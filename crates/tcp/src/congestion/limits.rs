//! cwnd and ssthresh of a sender, which every module may read but only this one may write.

/// Congestion window and slow start threshold [byte].
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Limits {
    cwnd: f64,
    ssthresh: f64,
}

impl Limits {
    /// Creates the initial values of a connection, given in bytes.
    pub fn new(cwnd: f64, ssthresh: f64) -> Limits {
        Limits { cwnd, ssthresh }
    }

    /// Returns the congestion window [byte].
    #[inline(always)]
    pub fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// Returns the slow start threshold [byte].
    #[inline(always)]
    pub fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// Sets both values [byte].
    #[inline(always)]
    pub(super) fn set(&mut self, cwnd: f64, ssthresh: f64) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }
}
