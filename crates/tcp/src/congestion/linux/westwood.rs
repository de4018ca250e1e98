//! Westwood+: after a loss cwnd is the ACK rate times the minimum RTT (Mascolo et al. 2004; tcp_westwood.c).

use crate::congestion::linux::{AckedSegments, CaEvent, Linux, Module, Socket};
use crate::described::Described;
use crate::variant::Parameters;
use longpipe_json::FromJson;
use serde::Serialize;

/// Westwood+: after a loss cwnd is the ACK rate times the minimum RTT, as in Linux (Mascolo 2004).
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "Westwood")]
#[described(fact(
    "after_loss",
    "the product of the measured bandwidth and the minimum RTT (Casetti et al. 2002)"
))]
pub struct WestwoodConfig {}

impl Parameters for WestwoodConfig {}

/// State of a sender that uses `tcp_westwood`.
pub type Westwood = Linux<WestwoodModule>;

/// The module's state; times are in ticks of the kernel's clock, rates in bytes per tick.
#[derive(Clone, Debug, Default)]
pub struct WestwoodModule {
    /// Bandwidth estimates after the first and after the second low-pass filter (bw_ns_est, bw_est).
    filtered_once: u32,
    filtered_twice: u32,
    /// Start of the current measurement, and bytes acknowledged since.
    began: u64,
    arrived: u32,
    /// Bytes that were already counted for duplicate ACKs; the ACK that fills the hole covers them again.
    accounted: u32,
    /// Whether an ACK has arrived.
    acked: bool,
    /// Latest and minimum RTT sample.
    rtt: u32,
    min_rtt: u32,
    /// Whether the minimum is known; after a timeout the next ACK resets it.
    has_min_rtt: bool,
}

/// A measurement lasts more than 50 ms, a twentieth of a second.
const MEASUREMENTS_PER_SECOND: u32 = 20;
/// RTT that is assumed before the first sample [s].
const INITIAL_RTT_S: u32 = 20;
/// Minimum cwnd after a reduction [segment].
const MIN_CWND_SEGMENTS: u32 = 2;

impl Module for WestwoodModule {
    type Config = WestwoodConfig;

    fn new(_config: &WestwoodConfig) -> WestwoodModule {
        WestwoodModule::default()
    }

    fn init(&mut self, socket: &mut Socket) {
        self.began = socket.jiffies();
        self.rtt = INITIAL_RTT_S * socket.hz();
        self.min_rtt = self.rtt;
    }

    fn on_acked(&mut self, acked: &AckedSegments, socket: &mut Socket) {
        // Linux records the RTT in `pkts_acked` and applies the filters in `in_ack_event`, which has been called after
        // `pkts_acked` since commit 149dfb31615e (2025).
        if let Some(rtt_us) = acked.rtt_us.filter(|&rtt_us| rtt_us > 0) {
            self.rtt = socket.usecs_to_jiffies(rtt_us);
        }
        self.end_measurement(socket);
        // The first ACK of the connection only sets the sequence number from which bytes are counted.
        let first = !std::mem::replace(&mut self.acked, true);
        let bytes = if first { 0 } else { acked.acked_bytes as u32 };
        self.arrived = self.arrived.wrapping_add(if acked.slow_path {
            self.count(bytes, socket.mss)
        } else {
            bytes
        });
        self.min_rtt = if self.has_min_rtt {
            self.min_rtt.min(self.rtt)
        } else {
            self.rtt
        };
        self.has_min_rtt = true;
    }

    /// Sets cwnd to the estimated BDP at the end of a reduction, and ssthresh at a timeout.
    fn on_event(&mut self, event: CaEvent, socket: &mut Socket) {
        match event {
            CaEvent::CompleteCwr => {
                socket.snd_ssthresh = self.path_segments(socket);
                socket.snd_cwnd = socket.snd_ssthresh;
            }
            CaEvent::Loss => {
                socket.snd_ssthresh = self.path_segments(socket);
                self.has_min_rtt = false;
            }
            CaEvent::TransmitStart => {}
        }
    }
}

impl WestwoodModule {
    /// At the end of a measurement, which lasts longer than an RTT, adds its rate to both filters, in which the old value
    /// has a weight of 7/8 (westwood_filter).
    fn end_measurement(&mut self, socket: &Socket) {
        let duration = (socket.jiffies() - self.began) as u32;
        if self.rtt == 0 || duration <= self.rtt.max(socket.hz() / MEASUREMENTS_PER_SECOND) {
            return;
        }
        let sample = self.arrived / duration;
        if self.filtered_once == 0 && self.filtered_twice == 0 {
            (self.filtered_once, self.filtered_twice) = (sample, sample);
        } else {
            self.filtered_once = smoothed(self.filtered_once, sample);
            self.filtered_twice = smoothed(self.filtered_twice, self.filtered_once);
        }
        (self.began, self.arrived) = (socket.jiffies(), 0);
    }

    /// Returns the bytes that an ACK reports as delivered; a duplicate counts as one segment
    /// (westwood_acked_count).
    fn count(&mut self, acked: u32, mss: u32) -> u32 {
        if acked == 0 {
            self.accounted += mss;
            return mss;
        }
        if acked <= mss {
            return acked;
        }
        if self.accounted >= acked {
            self.accounted -= acked;
            mss
        } else {
            acked - std::mem::take(&mut self.accounted)
        }
    }

    /// Returns the BDP [segment]: bandwidth estimate times minimum RTT.
    fn path_segments(&self, socket: &Socket) -> u32 {
        (self.filtered_twice.wrapping_mul(self.min_rtt) / socket.mss).max(MIN_CWND_SEGMENTS)
    }
}

fn smoothed(before: u32, sample: u32) -> u32 {
    before.wrapping_mul(7).wrapping_add(sample) / 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::control::Cause;
    use crate::congestion::trial::Trial;
    use crate::congestion::CongestionConfig;
    use longpipe_events::Span;

    /// Returns a trial whose ACKs deliver 100 segments per 100 ms.
    fn settled() -> Trial {
        let mut trial = Trial::new(&CongestionConfig::Westwood(WestwoodConfig {}), 100.0).over(Span::millis(100));
        for _ in 0..20_000 {
            trial.ack_after(Span::millis(1), false);
        }
        trial
    }

    #[test]
    fn a_recovery_ends_with_the_estimated_bdp() {
        let mut trial = settled();
        assert_eq!(trial.reduce(Cause::FastRetransmit), (50.0, 50.0));
        let (window, threshold) = trial.recover();
        assert!((99.0..=100.0).contains(&window), "{window}");
        assert_eq!(window, threshold);
    }

    #[test]
    fn a_timeout_sets_the_same_threshold_and_resets_the_minimum_rtt() {
        let mut trial = settled();
        let (window, threshold) = trial.reduce(Cause::Timeout);
        assert!(
            window == 1.0 && (99.0..=100.0).contains(&threshold),
            "{window} {threshold}"
        );
        // cwnd does not change until the next ACK.
        assert_eq!(trial.reduce(Cause::Timeout), (1.0, threshold));
    }
}
