//! Monitor intervals: data sent, delivered and lost, and RTT samples, between two decisions of a controller.

use longpipe_events::{Span, Time};
use longpipe_tcp::congestion::control::Ack;

/// Length of a monitor interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// A duration.
    Time(Span),
    /// A number of smoothed round-trip times, as estimated at the start of the interval. If there was no estimate then,
    /// the interval lasts at least until there is one.
    RoundTrips(f64),
    /// A number of ACKs.
    Acks(u64),
}

/// Sums over one monitor interval of one sender.
#[derive(Clone, Debug, Default)]
pub struct Monitor {
    /// Start of the interval.
    pub began: Time,
    /// Number of ACKs that have arrived.
    pub acks: u64,
    /// Bytes by which SND.UNA advanced.
    pub acked: u64,
    /// Bytes newly known to have arrived, cumulatively or selectively acknowledged.
    pub delivered: u64,
    /// Bytes declared lost.
    pub lost: u64,
    /// Bytes that arrived with an ECN mark.
    pub marked: u64,
    /// Bytes sent, including retransmissions.
    pub sent: u64,
    /// RTT samples of the retransmission timer in order of arrival [s].
    rtts: Vec<f64>,
    /// Smoothed RTT at the start of the interval.
    srtt: Option<Span>,
}

impl Monitor {
    /// Begins an interval.
    pub fn begin(&mut self, now: Time, srtt: Option<Span>) {
        let mut rtts = std::mem::take(&mut self.rtts);
        rtts.clear();
        *self = Monitor {
            began: now,
            rtts,
            srtt,
            ..Monitor::default()
        };
    }

    /// Counts an ACK.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack) {
        self.acks += 1;
        self.acked += ack.acked;
        self.delivered += ack.delivered;
        self.lost += ack.lost;
        self.marked += ack.marked;
        if let Some(rtt) = ack.seq_rtt {
            self.rtts.push(rtt.as_seconds());
        }
    }

    /// Returns whether an interval of this length has ended; `srtt` is the current estimate, which is used only if there
    /// was none at the start of the interval.
    #[inline]
    pub fn has_ended(&self, length: Length, now: Time, srtt: Option<Span>) -> bool {
        match length {
            Length::Time(span) => now - self.began >= span,
            Length::RoundTrips(count) => self
                .srtt
                .or(srtt)
                .is_some_and(|srtt| (now - self.began).0 as f64 >= count * srtt.0 as f64),
            Length::Acks(count) => self.acks >= count,
        }
    }

    /// Returns the mean RTT [s]; NaN if there is no sample.
    pub fn mean_rtt(&self) -> f64 {
        mean(&self.rtts)
    }

    /// Returns the minimum RTT [s]; NaN if there is no sample.
    pub fn min_rtt(&self) -> f64 {
        self.rtts.iter().copied().fold(f64::NAN, f64::min)
    }

    /// Returns the mean RTT of the second half of the samples minus that of the first half [s] (PCC-RL: latency
    /// increase); 0 if there are fewer than two samples.
    pub fn rtt_increase(&self) -> f64 {
        let half = self.rtts.len() / 2;
        if half == 0 {
            return 0.0;
        }
        mean(&self.rtts[half..]) - mean(&self.rtts[..half])
    }

    /// Returns the lost data divided by the sum of lost and delivered data; 0 if both are 0.
    pub fn loss_rate(&self) -> f64 {
        match self.lost + self.delivered {
            0 => 0.0,
            total => self.lost as f64 / total as f64,
        }
    }
}

/// Returns the mean; NaN if there are no values.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_rtts(rtts: &[f64]) -> Monitor {
        Monitor {
            rtts: rtts.to_vec(),
            ..Monitor::default()
        }
    }

    #[test]
    fn the_rtt_increase_matches_pcc_rl() {
        // get_latency_increase of PCC-RL: np.mean(rtts[half:]) - np.mean(rtts[:half]), half = len // 2.
        assert_eq!(with_rtts(&[1.0, 2.0, 4.0]).rtt_increase(), 2.0);
        assert_eq!(with_rtts(&[3.0, 1.0]).rtt_increase(), -2.0);
        assert_eq!(with_rtts(&[5.0]).rtt_increase(), 0.0);
        assert!(with_rtts(&[]).mean_rtt().is_nan());
        assert_eq!(with_rtts(&[3.0, 1.0, 2.0]).min_rtt(), 1.0);
    }

    #[test]
    fn an_interval_ends_after_a_time_a_number_of_rtts_or_acks() {
        let mut monitor = Monitor::default();
        let second = Span(1_000_000_000_000);
        monitor.begin(Time(5), Some(second));
        assert!(!monitor.has_ended(Length::Time(second), Time(second.0 + 4), None));
        assert!(monitor.has_ended(Length::Time(second), Time(second.0 + 5), None));
        assert!(!monitor.has_ended(Length::RoundTrips(2.0), Time(2 * second.0 + 4), None));
        assert!(monitor.has_ended(Length::RoundTrips(2.0), Time(2 * second.0 + 5), None));
        monitor.acks = 3;
        assert!(
            monitor.has_ended(Length::Acks(3), Time(6), None) && !monitor.has_ended(Length::Acks(4), Time(6), None)
        );
        // Without an RTT estimate, an interval whose length is given in round trips does not end.
        monitor.begin(Time(5), None);
        assert!(!monitor.has_ended(Length::RoundTrips(1.0), Time(u64::MAX), None));
    }
}
