//! The sender's sequence space and window, shared by recovery and congestion control.

/// Sequence variables (RFC 9293 3.3.1) and the window. `una <= nxt <= max` always.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Flight {
    /// First unacknowledged byte (SND.UNA).
    pub una: u64,
    /// Next byte to send (SND.NXT).
    pub nxt: u64,
    /// First byte never sent (SND.MAX).
    pub max: u64,
    /// Congestion window [byte] -- real, so that congestion avoidance adds exactly MSS²/cwnd.
    pub cwnd: f64,
    /// Slow start threshold [byte].
    pub ssthresh: f64,
    /// Receiver's window [byte].
    pub rwnd: u64,
    /// Payload of a full segment [byte].
    pub mss: u32,
    /// Duplicate ACKs since SND.UNA last advanced.
    pub duplicates: u32,
}

impl Flight {
    /// min(cwnd, rwnd) [byte].
    #[inline]
    pub fn window(&self) -> u64 {
        // Never negative, and a signed conversion is one instruction.
        (self.cwnd as i64 as u64).min(self.rwnd)
    }

    /// Bytes sent and not acknowledged, counting from SND.MAX.
    pub fn outstanding(&self) -> u64 {
        self.max - self.una
    }

    /// MSS as a real number.
    pub fn mss(&self) -> f64 {
        f64::from(self.mss)
    }
}
