//! The socket that Linux's controllers read and write: windows in whole segments, times in ticks of the kernel's clock.

use crate::congestion::control::{Ack, CwndUpdate};
use crate::congestion::flight::Flight;
use crate::congestion::growth::whole_part;
use crate::congestion::linux::hystart::whole_micros;
use longpipe_events::{Span, Time, PS_PER_SECOND};

/// Slow-start threshold of a connection without losses (`TCP_INFINITE_SSTHRESH`).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// Ticks per second of the kernel's clock unless a scenario sets `tcp.hz`.
pub const DEFAULT_HZ: u32 = 250;
/// Unit of `srtt_us`, an eighth of a microsecond [ps].
const PS_PER_EIGHTH_US: u64 = 125_000;

/// Congestion state of a sender (`TCP_CA_Open` etc.).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaState {
    /// Open: no segment is lost or out of order.
    Open,
    /// Data arrived out of order, or a retransmission is in flight.
    Disorder,
    /// The window is being reduced because of ECN marks.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// Recovery after a retransmission timeout.
    Loss,
}

/// Inputs of an ACK before loss recovery processes it (`struct ack_sample`, and the values that `in_ack_event` reads).
#[derive(Clone, Copy, Debug, Default)]
pub struct AckedSegments {
    /// Number of segments that the ACK acknowledged cumulatively (`pkts_acked`).
    pub acked: u32,
    /// Number of segments newly known to have arrived, including those reported by SACK blocks.
    pub delivered: u32,
    /// Number of segments among `delivered` that arrived with an ECN mark.
    pub marked: u32,
    /// Bytes by which SND.UNA advanced.
    pub acked_bytes: u64,
    /// RTT sample [µs]; None for retransmitted segments (`rtt_us`).
    pub rtt_us: Option<u32>,
    /// Whether the kernel processes the ACK in its slow path (`CA_ACK_SLOWPATH`).
    pub slow_path: bool,
}

/// Fields of `struct tcp_sock` that a controller uses.
#[derive(Clone, Debug)]
pub struct Socket {
    /// Congestion window [segment].
    pub snd_cwnd: u32,
    /// Slow-start threshold [segment].
    pub snd_ssthresh: u32,
    /// Segments acknowledged since the window last grew.
    pub snd_cwnd_cnt: u32,
    /// Upper bound on the window [segment].
    pub snd_cwnd_clamp: u32,
    /// First unacknowledged byte.
    pub snd_una: u64,
    /// Next byte to send.
    pub snd_nxt: u64,
    /// Payload of a full segment [byte].
    pub mss: u32,
    /// Smoothed RTT in eighths of a microsecond; 0 before the first sample.
    pub srtt_us: u32,
    /// Congestion state before the event in progress.
    pub ca_state: CaState,
    /// Send time of the last segment before an idle period.
    pub lsndtime: Time,
    /// Idle time between the establishment of the connection and its first segment.
    pub preconnect: Span,
    /// Whether the sender is paced (`sk_pacing_status`).
    pub is_paced: bool,
    now: Time,
    hz: u32,
    tick: u64,
    /// Start and number of the kernel's current tick.
    current_tick: (u64, u64),
    /// The sender's windows at the latest `refresh`, in bytes and in whole segments.
    windows_bytes: (f64, f64),
    windows_segments: (u32, u32),
    is_cwnd_limited: bool,
    /// Maximum number of bytes in flight in this round trip (`max_packets_out`).
    max_bytes_out: u64,
    /// State from which the latest pacing rate is computed; None before the first rate.
    paced_from: Option<PacedFrom>,
}

/// State from which the kernel computes a pacing rate.
#[derive(Clone, Copy, Debug)]
struct PacedFrom {
    snd_cwnd: u32,
    snd_ssthresh: u32,
    srtt_us: u32,
    /// Bytes in flight.
    bytes_out: u64,
}

impl Socket {
    /// Returns the socket of a connection that has sent nothing.
    pub fn new() -> Socket {
        let mut socket = Socket {
            snd_cwnd: 0,
            snd_ssthresh: INFINITE_SSTHRESH,
            snd_cwnd_cnt: 0,
            snd_cwnd_clamp: u32::MAX,
            snd_una: 0,
            snd_nxt: 0,
            mss: 1,
            srtt_us: 0,
            ca_state: CaState::Open,
            lsndtime: Time::ZERO,
            preconnect: Span(0),
            is_paced: false,
            now: Time::ZERO,
            hz: 0,
            tick: 0,
            current_tick: (0, 0),
            windows_bytes: (f64::NAN, f64::NAN),
            windows_segments: (0, 0),
            is_cwnd_limited: false,
            max_bytes_out: 0,
            paced_from: None,
        };
        socket.set_hz(DEFAULT_HZ);
        socket
    }

    /// Sets the ticks per second of the kernel's clock (`CONFIG_HZ`).
    pub fn set_hz(&mut self, hz: u32) {
        (self.hz, self.tick) = (hz, PS_PER_SECOND / u64::from(hz));
        self.current_tick = (0, 0);
    }

    /// Copies the clock, sequence numbers and windows from the sender.
    #[inline]
    pub fn refresh(&mut self, now: Time, flight: &Flight) {
        self.now = now;
        let at = (now + self.preconnect).0;
        if at.wrapping_sub(self.current_tick.0) >= self.tick {
            let number = at / self.tick;
            self.current_tick = (number * self.tick, number);
        }
        (self.snd_una, self.snd_nxt, self.mss) = (flight.una, flight.nxt, flight.mss);
        // Divides only if the sender's windows have changed, which is rare.
        let bytes = (flight.cwnd(), flight.ssthresh());
        if bytes != self.windows_bytes {
            self.windows_bytes = bytes;
            self.windows_segments = in_segments(bytes, flight.mss());
        }
        (self.snd_cwnd, self.snd_ssthresh) = self.windows_segments;
    }

    /// Updates the smoothed RTT and the cwnd-limited state from an ACK.
    #[inline]
    pub fn take(&mut self, ack: &Ack) {
        self.srtt_us = ack.srtt.map_or(0, |srtt| (srtt.0 / PS_PER_EIGHTH_US) as u32);
        self.is_cwnd_limited = ack.usage.full;
        self.max_bytes_out = ack.usage.most;
    }

    /// Records the state after an ACK, from which the pacing rate is computed (`tcp_update_pacing_rate`).
    #[inline]
    pub fn set_pacing_rate(&mut self, flight: &Flight) {
        self.paced_from = Some(PacedFrom {
            snd_cwnd: self.snd_cwnd,
            snd_ssthresh: self.snd_ssthresh,
            srtt_us: self.srtt_us,
            bytes_out: flight.outstanding(),
        });
    }

    /// Returns the pacing rate after the latest ACK [byte/s] (`sk_pacing_rate`): twice the window per RTT in the first
    /// half of slow start, 1.2 times the window later. The kernel computes it whether or not the sender is paced.
    pub fn pacing_rate(&self) -> u64 {
        let Some(from) = self.paced_from else {
            return u64::MAX;
        };
        let percent = match from.snd_cwnd < from.snd_ssthresh / 2 {
            true => 200,
            false => 120,
        };
        let segments = from.snd_cwnd.max(segments(from.bytes_out, self.mss));
        let scaled = (u64::from(self.mss) * (1_000_000 / 100 * 8) * percent).saturating_mul(u64::from(segments));
        scaled.checked_div(u64::from(from.srtt_us)).unwrap_or(scaled)
    }

    /// Returns the current time of the kernel's clock in whole microseconds (`tcp_mstamp`).
    pub fn now_us(&self) -> u64 {
        whole_micros(self.now + self.preconnect)
    }

    /// Returns windows for the sender; a window that the module did not change keeps its fraction of a segment.
    #[inline]
    pub fn update(&self, before: (u32, u32), flight: &Flight) -> CwndUpdate {
        // Most ACKs change neither.
        if self.windows() == before {
            return CwndUpdate::unchanged(flight);
        }
        let bytes = |now: u32, before: u32, bytes: f64| {
            if now == before {
                bytes
            } else {
                f64::from(now) * flight.mss()
            }
        };
        CwndUpdate {
            window: bytes(self.snd_cwnd, before.0, flight.cwnd()),
            threshold: bytes(self.snd_ssthresh, before.1, flight.ssthresh()),
            pacing: None,
        }
    }

    /// Returns the congestion window and the slow-start threshold.
    pub fn windows(&self) -> (u32, u32) {
        (self.snd_cwnd, self.snd_ssthresh)
    }

    /// Returns the time of the event in progress.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the number of ticks per second of the kernel's clock.
    pub fn hz(&self) -> u32 {
        self.hz
    }

    /// Returns the current tick of the kernel's clock (`tcp_jiffies32`).
    #[inline]
    pub fn jiffies(&self) -> u64 {
        let (start, number) = self.current_tick;
        match (self.now + self.preconnect).0.wrapping_sub(start) < self.tick {
            true => number,
            false => self.jiffies_at(self.now),
        }
    }

    /// Returns the tick of the kernel's clock at a time after the first segment was sent; the clock starts with the
    /// connection.
    pub fn jiffies_at(&self, at: Time) -> u64 {
        (at + self.preconnect).0 / self.tick
    }

    /// Converts a time to ticks, rounded up (`usecs_to_jiffies`).
    pub fn usecs_to_jiffies(&self, us: u32) -> u32 {
        (u64::from(us) * 1_000_000).div_ceil(self.tick) as u32
    }

    /// Returns whether the window is below the slow-start threshold.
    pub fn in_slow_start(&self) -> bool {
        self.snd_cwnd < self.snd_ssthresh
    }

    /// Returns whether the window, not the application, limits the sender; in slow start, using half of the window is
    /// enough (`tcp_is_cwnd_limited`).
    pub fn is_cwnd_limited(&self) -> bool {
        let max_packets_out = || segments(self.max_bytes_out, self.mss);
        self.is_cwnd_limited || (self.in_slow_start() && self.snd_cwnd < max_packets_out().saturating_mul(2))
    }

    /// Adds `acked` segments to the window, up to the threshold, and returns the remaining ones (`tcp_slow_start`).
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = self.snd_cwnd.saturating_add(acked).min(self.snd_ssthresh);
        let remaining = acked - (cwnd - self.snd_cwnd);
        self.snd_cwnd = cwnd.min(self.snd_cwnd_clamp);
        remaining
    }

    /// Adds `acked` segments to the window in slow start. Returns the segments that remain for congestion avoidance: none
    /// if the window does not limit the sender.
    pub fn remaining_after_slow_start(&mut self, acked: u32) -> u32 {
        if !self.is_cwnd_limited() {
            0
        } else if self.in_slow_start() {
            self.slow_start(acked)
        } else {
            acked
        }
    }

    /// Adds one segment to the window per `cnt` acknowledged segments (`tcp_cong_avoid_ai`). If `cnt` has become
    /// smaller than the accumulated count, one segment is added immediately.
    pub fn grow_per(&mut self, cnt: u32, acked: u32) {
        if self.snd_cwnd_cnt >= cnt {
            self.snd_cwnd_cnt = 0;
            self.snd_cwnd += 1;
        }
        self.snd_cwnd_cnt += acked;
        if self.snd_cwnd_cnt >= cnt {
            let growth = self.snd_cwnd_cnt / cnt;
            self.snd_cwnd_cnt -= growth * cnt;
            self.snd_cwnd += growth;
        }
        self.snd_cwnd = self.snd_cwnd.min(self.snd_cwnd_clamp);
    }

    /// Increases the window as Reno does (`tcp_reno_cong_avoid`).
    pub fn grow_as_reno(&mut self, acked: u32) {
        let remaining = self.remaining_after_slow_start(acked);
        if remaining > 0 {
            self.grow_per(self.snd_cwnd, remaining);
        }
    }

    /// Returns half of the window, at least two segments (`tcp_reno_ssthresh`).
    pub fn halved(&self) -> u32 {
        (self.snd_cwnd / 2).max(2)
    }
}

/// Returns cwnd and ssthresh in whole segments, as the kernel counts them.
fn in_segments((cwnd, ssthresh): (f64, f64), mss: f64) -> (u32, u32) {
    let ssthresh = if ssthresh.is_finite() {
        (whole_part(ssthresh / mss) as u32).min(INFINITE_SSTHRESH)
    } else {
        INFINITE_SSTHRESH
    };
    ((whole_part(cwnd / mss) as u32).max(1), ssthresh)
}

/// Returns the number of segments that hold `bytes`.
#[inline]
pub fn segments(bytes: u64, mss: u32) -> u32 {
    let mss = u64::from(mss);
    // Avoids a division for up to two segments, which is what most ACKs report.
    if bytes <= 2 * mss {
        return u32::from(bytes > 0) + u32::from(bytes > mss);
    }
    bytes.div_ceil(mss) as u32
}

/// Returns a duration that ends at `now` as measured by a microsecond clock: the difference of two truncated readings.
#[inline]
pub fn micros(now: Time, span: Span) -> u32 {
    let us = |time: u64| time / 1_000_000;
    now.0
        .checked_sub(span.0)
        .map_or(us(span.0), |sent| us(now.0) - us(sent)) as u32
}
