//! CUBIC in Linux's integer arithmetic (tcp_cubic.c).
//!
//! With cwnd in segments and t the time since the epoch's start, the window is W(t) = C (t - K)³ + origin, where K is the
//! time at which the plateau `origin` is reached. Times are in 1/1024 s, and factors in 1/1024.

use super::config::{CubicConfig, MARK_BETA};
use crate::congestion::control::{Ack, Cause};
use crate::congestion::flight::Flight;
use crate::congestion::linux::hystart::{Hystart, TrainSample};
use crate::congestion::linux::slow_start::SlowStart;
use crate::congestion::linux::{AckedSegments, CaEvent, CaState, Module, Socket};

/// The module's state.
#[derive(Clone, Debug)]
pub struct LinuxCubic {
    config: CubicConfig,
    slow_start: SlowStart,
    /// C in units of 1/1024 segment/s³ (`cube_rtt_scale`).
    scale: u64,
    /// Factor by which a loss multiplies cwnd, in units of 1/1024.
    beta: u32,
    /// Number of segments to be acknowledged before cwnd grows by one segment (`cnt`).
    cnt: u32,
    /// Window for which `cnt` was computed.
    last_cwnd: u32,
    /// Tick at which `cnt` was computed.
    last_time: u64,
    /// Window at the latest reduction (`last_max_cwnd`); 0 before the first reduction.
    last_max: u32,
    /// Minimum RTT sample [µs]; 0 before the first sample.
    delay_min: u32,
    epoch: Option<LinuxEpoch>,
}

/// Growth since a reduction.
#[derive(Clone, Copy, Debug)]
struct LinuxEpoch {
    /// Start of the epoch [tick], shifted by all idle periods.
    began: u64,
    /// Time from the start to the plateau (K) [1/1024 s].
    k: u64,
    /// Window at the plateau.
    origin: u32,
    /// Window that Reno would have, and number of segments acknowledged since that window last grew.
    reno_cwnd: u32,
    acked: u32,
}

/// Unit of C and β, 1/1024 (BICTCP_BETA_SCALE), and of times, 1/1024 s (BICTCP_HZ).
const SCALE: u32 = 1024;
const SCALE_BITS: u32 = 10;
/// The kernel's parameter for C (`bic_scale`) is a whole number of 10/1024 segment/s³.
const BIC_SCALE_UNIT: u64 = 10;
/// Maximum of `cnt` before the first loss, which makes cwnd grow by at least 5 % per RTT.
const MAX_CNT_BEFORE_LOSS: u32 = 20;
/// Minimum of `cnt`: cwnd grows by at most half of the acknowledged segments.
const MIN_CNT: u32 = 2;
/// While cwnd is above the cubic, it grows by one segment in this number of windows.
const WINDOWS_PER_SEGMENT_ABOVE_CUBIC: u32 = 100;
/// `cnt` is recomputed for an unchanged window after 1/32 s.
const UPDATES_PER_SECOND: u32 = 32;
/// Minimum window after a reduction [segment].
const MIN_CWND_SEGMENTS: u32 = 2;

impl Module for LinuxCubic {
    type Config = CubicConfig;

    fn new(config: &CubicConfig) -> LinuxCubic {
        let bic_scale = (config.scaling * f64::from(SCALE) / BIC_SCALE_UNIT as f64).round() as u64;
        LinuxCubic {
            config: *config,
            slow_start: SlowStart::new(config.hystart),
            scale: bic_scale.max(1) * BIC_SCALE_UNIT,
            beta: scaled(config.beta),
            cnt: 0,
            last_cwnd: 0,
            last_time: 0,
            last_max: 0,
            delay_min: 0,
            epoch: None,
        }
    }

    /// Also runs Linux's HyStart, with every RTT sample, including those of duplicate ACKs with SACK blocks
    /// (`cubictcp_acked`).
    #[inline(always)]
    fn on_acked(&mut self, acked: &AckedSegments, socket: &mut Socket) {
        if !self.is_blind(socket) {
            if let Some(rtt_us) = acked.rtt_us {
                self.on_rtt(rtt_us, socket);
            }
        }
    }

    /// Evaluates the slow-start exits that the kernel's module does not have, such as HyStart++.
    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack, flight: &Flight, socket: &mut Socket) {
        let hystart = &self.slow_start.hystart;
        let counts = !matches!(hystart, Hystart::Linux(_)) && (ack.grows || hystart.counts_duplicates());
        if counts && socket.in_slow_start() {
            self.on_slow_start_ack(*ack, flight, socket);
        }
    }

    fn grow(&mut self, acked: u32, socket: &mut Socket) {
        if !socket.is_cwnd_limited() {
            return;
        }
        // Segments that remain for congestion avoidance after slow start has reached ssthresh.
        let remaining = if socket.in_slow_start() {
            socket.slow_start(self.slow_start.credit(acked))
        } else {
            acked
        };
        if remaining > 0 {
            self.update_cnt(remaining, socket);
            socket.grow_per(self.cnt, remaining);
        }
    }

    fn ssthresh(&mut self, cause: Cause, socket: &Socket) -> u32 {
        let beta = match cause {
            Cause::Mark { abe: true } => scaled(MARK_BETA),
            _ => self.beta,
        };
        let cwnd = socket.snd_cwnd;
        self.last_max = if self.config.fast_convergence && cwnd < self.last_max {
            cwnd.wrapping_mul(SCALE + beta) / (2 * SCALE)
        } else {
            cwnd
        };
        self.epoch = None;
        self.slow_start.hystart.on_reduction();
        (cwnd.wrapping_mul(beta) / SCALE).max(MIN_CWND_SEGMENTS)
    }

    fn set_state(&mut self, state: CaState, socket: &mut Socket) {
        if state == CaState::Loss {
            (self.cnt, self.last_cwnd, self.last_time) = (0, 0, 0);
            (self.last_max, self.delay_min, self.epoch) = (0, 0, None);
            self.slow_start.hystart.on_timeout(socket.now_us(), socket.snd_nxt);
        }
    }

    /// Shifts the epoch by an idle period; the last segment before it was sent at `lsndtime`.
    fn on_event(&mut self, event: CaEvent, socket: &mut Socket) {
        if let (CaEvent::TransmitStart, Some(epoch)) = (event, &mut self.epoch) {
            let now = socket.jiffies();
            let idle = now.saturating_sub(socket.jiffies_at(socket.lsndtime));
            if idle > 0 {
                epoch.began = (epoch.began + idle).min(now);
            }
        }
    }
}

impl LinuxCubic {
    /// Updates the minimum RTT and HyStart from an RTT sample [µs].
    #[inline(never)]
    fn on_rtt(&mut self, rtt_us: u32, socket: &mut Socket) {
        let delay = rtt_us.max(1);
        if self.delay_min == 0 || self.delay_min > delay {
            self.delay_min = delay;
        }
        if let (Hystart::Linux(trains), true) = (&mut self.slow_start.hystart, socket.in_slow_start()) {
            let sample = TrainSample {
                now_us: socket.now_us(),
                una: socket.snd_una,
                nxt: socket.snd_nxt,
                cwnd: socket.snd_cwnd,
                rtt_us: u64::from(delay),
                min_rtt_us: u64::from(self.delay_min),
                pacing_rate: socket.pacing_rate(),
                is_paced: socket.is_paced,
            };
            if trains.ends_at(&sample) {
                socket.snd_ssthresh = socket.snd_cwnd;
            }
        }
    }

    /// Evaluates the slow-start exits that the kernel's module does not have. The ACK is passed by value, because a reference
    /// would force the sender to store every ACK in memory.
    #[cold]
    #[inline(never)]
    fn on_slow_start_ack(&mut self, ack: Ack, flight: &Flight, socket: &mut Socket) {
        self.slow_start.on_ack(&ack, flight, socket);
    }

    /// Returns whether RTT samples are ignored, as they are in the first second after a reduction.
    #[inline]
    fn is_blind(&self, socket: &Socket) -> bool {
        self.epoch
            .is_some_and(|epoch| socket.jiffies() - epoch.began < u64::from(socket.hz()))
    }

    /// Updates `cnt` for `acked` more segments, unless the window is unchanged and the latest update was less than 1/32 s ago
    /// (`bictcp_update`).
    fn update_cnt(&mut self, acked: u32, socket: &Socket) {
        let (cwnd, now) = (socket.snd_cwnd, socket.jiffies());
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += acked;
        }
        if self.last_cwnd == cwnd && now - self.last_time <= u64::from(socket.hz() / UPDATES_PER_SECOND) {
            return;
        }
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => LinuxEpoch::begin(now, cwnd, self.last_max, acked, self.scale),
        };
        // The kernel evaluates the cubic at most once per tick, but always after a reduction, which ends the epoch.
        if self.epoch.is_none() || now != self.last_time {
            (self.last_cwnd, self.last_time) = (cwnd, now);
            self.cnt = self.cubic_cnt(&epoch, cwnd, socket);
        }
        if self.config.reno_friendly {
            self.cnt = self.cnt.min(epoch.reno_cnt(cwnd, self.beta));
        }
        self.cnt = self.cnt.max(MIN_CNT);
        self.epoch = Some(epoch);
    }

    /// Returns the number of segments to be acknowledged before cwnd grows by one segment so that it reaches, after one
    /// minimum RTT, the cubic's value at that time.
    fn cubic_cnt(&self, epoch: &LinuxEpoch, cwnd: u32, socket: &Socket) -> u32 {
        let ticks = socket.jiffies() - epoch.began + u64::from(socket.usecs_to_jiffies(self.delay_min));
        let t = (ticks << SCALE_BITS) / u64::from(socket.hz());
        let off = t.abs_diff(epoch.k);
        // C |t - K|³: C is in units of 2^-10, and the cube in units of 2^-30.
        let cube = self.scale.wrapping_mul(off).wrapping_mul(off).wrapping_mul(off);
        let delta = (cube >> (4 * SCALE_BITS)) as u32;
        let target = if t < epoch.k {
            epoch.origin.wrapping_sub(delta)
        } else {
            epoch.origin.wrapping_add(delta)
        };
        let cnt = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            WINDOWS_PER_SEGMENT_ABOVE_CUBIC * cwnd
        };
        if self.last_max == 0 {
            cnt.min(MAX_CNT_BEFORE_LOSS)
        } else {
            cnt
        }
    }
}

/// Returns a factor below 1 in units of 1/1024.
fn scaled(factor: f64) -> u32 {
    ((factor * f64::from(SCALE)).round() as u32).min(SCALE - 1)
}

impl LinuxEpoch {
    /// Starts an epoch at a window of `cwnd` segments: K = ((last_max - cwnd) / C)^(1/3) in units of 1/1024 s, or 0 if cwnd is
    /// not below the window at the latest reduction.
    fn begin(now: u64, cwnd: u32, last_max: u32, acked: u32, scale: u64) -> LinuxEpoch {
        let distance = u64::from(last_max.saturating_sub(cwnd));
        let factor = (1u64 << (4 * SCALE_BITS)) / scale;
        LinuxEpoch {
            began: now,
            k: if distance > 0 {
                u64::from(cube_root(factor * distance))
            } else {
                0
            },
            origin: last_max.max(cwnd),
            reno_cwnd: cwnd,
            acked,
        }
    }

    /// Returns the number of segments to be acknowledged before cwnd grows by one segment so that it reaches Reno's
    /// estimated window within one window. This window grows by one segment per cwnd (1 + β) / (3 (1 - β)) acknowledged
    /// segments (RFC 9438 section 4.3), where the factor of cwnd is rounded down to eighths.
    fn reno_cnt(&mut self, cwnd: u32, beta: u32) -> u32 {
        let eighths = 8 * (SCALE + beta) / 3 / (SCALE - beta);
        let window = (cwnd.wrapping_mul(eighths) / 8).max(1);
        while self.acked > window {
            self.acked -= window;
            self.reno_cwnd += 1;
        }
        if self.reno_cwnd > cwnd {
            cwnd / (self.reno_cwnd - cwnd)
        } else {
            u32::MAX
        }
    }
}

/// The kernel's table of cube roots times 64, indexed by the six leading bits of a number.
#[rustfmt::skip]
const ROOTS: [u8; 64] = [
      0,  54,  54,  54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156,
    157, 161, 164, 168, 170, 173, 176, 179, 181, 185, 187, 190, 192, 194, 197, 199,
    200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229,
    231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

/// Returns the cube root with a mean error of 0.2 % (`cubic_root`): the kernel's table, and one step of Newton's method,
/// x' = (2 x + a / x²) / 3. The kernel approximates 1/3 by 84/256 and by 341/1024; 35 and 10 are its rounding terms.
fn cube_root(number: u64) -> u32 {
    let digits = u64::BITS - number.leading_zeros();
    if digits < 7 {
        return (u32::from(ROOTS[number as usize]) + 35) >> 6;
    }
    let thirds = ((digits * 84) >> 8) - 1;
    let leading = (number >> (3 * thirds)) as usize;
    let root = ((u32::from(ROOTS[leading]) + 10) << thirds) >> 6;
    let quotient = number / (u64::from(root) * u64::from(root - 1));
    ((2 * root + quotient as u32) * 341) >> 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cube_root_has_an_error_below_five_percent() {
        for number in (1..60u32)
            .flat_map(|power| [3u64.pow(power.min(39)), 1 << power])
            .filter(|&n| n > 1 << 12)
        {
            let ratio = f64::from(cube_root(number)) / (number as f64).cbrt();
            assert!((0.95..1.01).contains(&ratio), "{number}: {ratio}");
        }
    }
}
