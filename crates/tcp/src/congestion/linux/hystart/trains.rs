//! Linux's HyStart (tcp_cubic.c, Ha and Rhee 2011): slow start ends when the RTT grows or ACKs arrive in a long train.

use super::SAMPLES;
use crate::congestion::control::Ack;
use crate::congestion::flight::Flight;
use crate::congestion::linux::micros;
use longpipe_events::{Span, Time};

/// Minimum window for Linux's HyStart [segment].
const MIN_WINDOW: u32 = 16;
/// Maximum gap within a train of ACKs.
const TRAIN_GAP_US: u64 = 2000;
/// Four maximum bursts of Linux's sender [byte]; sending them extends a train by at most 1 ms.
const BURST: u64 = 4 * 65_536;
const MAX_BURST_US: u64 = 1000;
/// Bounds on the RTT increase that ends slow start (HYSTART_DELAY_THRESH).
const MIN_INCREASE_US: u64 = 4000;
const MAX_INCREASE_US: u64 = 16_000;
const MICROS_PER_SECOND: u64 = 1_000_000;

/// Inputs of Linux's HyStart (`hystart_update`). Times are in whole microseconds of the kernel's clock.
#[derive(Clone, Copy, Debug)]
pub struct TrainSample {
    /// Arrival time of the ACK.
    pub now_us: u64,
    /// First unacknowledged byte and next byte to send.
    pub una: u64,
    pub nxt: u64,
    /// Congestion window [segment].
    pub cwnd: u32,
    /// RTT sample, and minimum RTT sample of the connection.
    pub rtt_us: u64,
    pub min_rtt_us: u64,
    /// Pacing rate [byte/s], and whether the sender is paced.
    pub pacing_rate: u64,
    pub is_paced: bool,
}

impl TrainSample {
    /// Returns the inputs from an ACK at a sender that does not follow Linux's code; None if there is no RTT sample.
    pub(super) fn of(ack: &Ack, flight: &Flight) -> Option<TrainSample> {
        let micros = |span: Span| u64::from(micros(ack.now, span));
        let rate = |srtt: Span| (2.0 * flight.cwnd() / srtt.as_seconds()) as u64;
        Some(TrainSample {
            now_us: whole_micros(ack.now),
            una: flight.una,
            nxt: flight.nxt,
            cwnd: (flight.cwnd() / flight.mss()) as u32,
            rtt_us: micros(ack.rtt?),
            min_rtt_us: micros(ack.least_rtt?),
            pacing_rate: ack.srtt.map_or(u64::MAX, rate),
            is_paced: ack.paced,
        })
    }

    /// Returns the maximum length of an ACK train that does not end slow start.
    ///
    /// If the sender is paced, this is the minimum RTT plus the time to send a burst at the pacing rate, which counts
    /// as at most 1 ms (`hystart_ack_delay`). Otherwise it is half of that sum. The limit is higher for paced senders
    /// because pacing alone may spread a window over half an RTT.
    fn longest_train_us(&self) -> u64 {
        let burst_us = BURST * MICROS_PER_SECOND / self.pacing_rate.max(1);
        let paced_train_us = self.min_rtt_us + burst_us.min(MAX_BURST_US);
        if self.is_paced {
            paced_train_us
        } else {
            paced_train_us / 2
        }
    }
}

/// Returns a time truncated to whole microseconds, as read from a clock of this resolution.
pub fn whole_micros(time: Time) -> u64 {
    time.0 / 1_000_000
}

/// State of Linux's HyStart (tcp_cubic.c). Times are in microseconds.
#[derive(Clone, Debug, Default)]
pub struct Trains {
    /// First byte after the round.
    round_end: u64,
    round_begin_us: u64,
    /// Arrival of the latest ACK of the train.
    last_ack_us: u64,
    /// Minimum RTT sample of the round.
    round_min_rtt_us: Option<u64>,
    samples: u32,
    /// Whether the criterion for leaving slow start has been met.
    is_met: bool,
}

impl Trains {
    pub(super) fn begin(now_us: u64, round_end: u64) -> Trains {
        Trains {
            round_end,
            round_begin_us: now_us,
            last_ack_us: now_us,
            ..Trains::default()
        }
    }

    /// Processes the RTT sample of an ACK in slow start. Returns whether slow start ends: ssthresh becomes cwnd.
    pub fn ends_at(&mut self, sample: &TrainSample) -> bool {
        if self.is_met {
            return false;
        }
        // Rounds start with the first ACK, regardless of the window (fixed in tcp_cubic.c in January 2025).
        if sample.una > self.round_end {
            *self = Trains::begin(sample.now_us, sample.nxt);
        }
        if sample.cwnd < MIN_WINDOW {
            return false;
        }
        if sample.now_us - self.last_ack_us <= TRAIN_GAP_US {
            self.last_ack_us = sample.now_us;
            self.is_met = sample.now_us - self.round_begin_us > sample.longest_train_us();
        }
        self.round_min_rtt_us = self.round_min_rtt_us.min(Some(sample.rtt_us)).or(Some(sample.rtt_us));
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            let increase_us = (sample.min_rtt_us / 8).clamp(MIN_INCREASE_US, MAX_INCREASE_US);
            self.is_met |= self.round_min_rtt_us > Some(sample.min_rtt_us + increase_us);
        }
        self.is_met
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Hystart, HystartConfig};

    /// A timeout calls bictcp_hystart_reset, as in Linux 6.1.
    #[test]
    fn linux_a_timeout_starts_a_round_of_all_data_sent() {
        let mut hystart = Hystart::new(HystartConfig::Linux);
        hystart.on_timeout(7, 50_000);
        let Hystart::Linux(trains) = hystart else {
            panic!("{hystart:?}");
        };
        assert_eq!(
            (trains.round_end, trains.round_begin_us, trains.last_ack_us),
            (50_000, 7, 7)
        );
        assert_eq!(
            (trains.samples, trains.round_min_rtt_us, trains.is_met),
            (0, None, false)
        );
    }
}
