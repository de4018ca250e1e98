//! The sender's sequence space and window, which recovery and congestion control read.

/// Sequence variables (RFC 9293 section 3.3.1) and the window. `una <= nxt <= max` always.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Flight {
    /// First unacknowledged byte (SND.UNA).
    pub una: u64,
    /// Next byte to send (SND.NXT).
    pub nxt: u64,
    /// First byte never sent (SND.MAX).
    pub max: u64,
    /// Congestion window and slow start threshold.
    pub limits: Limits,
    /// Window that the receiver advertised last [byte].
    pub rwnd: u32,
    /// Largest window that the receiver can advertise [byte]; an upper bound on cwnd.
    pub most_rwnd: u32,
    /// Payload of a full segment [byte].
    pub mss: u32,
    /// Duplicate ACKs since SND.UNA last advanced.
    pub duplicates: u32,
}

impl Flight {
    /// Returns the state before the first segment, for a receiver whose window is constant.
    pub fn new(limits: Limits, rwnd: u64, mss: u32) -> Flight {
        // A window is at most 1 GiB (RFC 7323 section 2.3).
        let rwnd = u32::try_from(rwnd).unwrap_or(u32::MAX);
        Flight {
            una: 0,
            nxt: 0,
            max: 0,
            limits,
            rwnd,
            most_rwnd: rwnd,
            mss,
            duplicates: 0,
        }
    }

    /// Returns the congestion window [byte]. It is a real number, so that congestion avoidance can add exactly
    /// MSS²/cwnd.
    #[inline(always)]
    pub fn cwnd(&self) -> f64 {
        self.limits.cwnd()
    }

    /// Returns the slow start threshold [byte].
    #[inline(always)]
    pub fn ssthresh(&self) -> f64 {
        self.limits.ssthresh()
    }

    /// Returns min(cwnd, rwnd) [byte].
    #[inline]
    pub fn window(&self) -> u64 {
        // cwnd is never negative, so it can be converted to a signed integer, which takes one instruction.
        (self.cwnd() as i64 as u64).min(self.rwnd())
    }

    /// Returns the window that the receiver advertised last [byte].
    #[inline(always)]
    pub fn rwnd(&self) -> u64 {
        u64::from(self.rwnd)
    }

    /// Returns the bytes sent and not acknowledged: SND.MAX − SND.UNA (RFC 5681: FlightSize).
    #[inline(always)]
    pub fn outstanding(&self) -> u64 {
        self.max - self.una
    }

    /// Returns the MSS as a real number.
    #[inline(always)]
    pub fn mss(&self) -> f64 {
        f64::from(self.mss)
    }
}

/// Congestion window and slow start threshold [byte]. Every module may read them, but only `congestion` may write them.
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
    pub(crate) fn set(&mut self, cwnd: f64, ssthresh: f64) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }
}
