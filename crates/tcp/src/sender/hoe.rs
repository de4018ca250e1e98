//! Estimate of the initial ssthresh from the first three ACKs of a connection (Hoe 1996, section 3.1).

use longpipe_events::Time;

/// Measures the first round-trip time, then the interval between the second and the third ACK.
#[derive(Clone, Copy, Debug)]
pub enum HoeEstimator {
    /// Before the first ACK.
    First {
        /// Time at which the first segment was sent.
        sent: Option<Time>,
    },
    /// The first ACK has arrived.
    Second {
        /// First round-trip time [ps].
        rtt: u64,
    },
    /// After the second ACK.
    Third {
        /// First round-trip time [ps].
        rtt: u64,
        /// Arrival of the second ACK.
        second: Time,
    },
    /// The estimate has been made.
    Done,
}

impl HoeEstimator {
    /// Records the departure of a segment.
    pub fn on_sent(&mut self, now: Time) {
        if let HoeEstimator::First { sent: sent @ None } = self {
            *sent = Some(now);
        }
    }

    /// Processes an ACK. For the third ACK, returns the bandwidth-delay product in whole segments, or None if this ACK
    /// arrived at the same time as the second one.
    pub fn on_ack(&mut self, now: Time) -> Option<u64> {
        let (next, segments) = match *self {
            HoeEstimator::First { sent } => {
                let rtt = sent.map_or(0, |sent| (now - sent).0);
                (HoeEstimator::Second { rtt }, None)
            }
            HoeEstimator::Second { rtt } => (HoeEstimator::Third { rtt, second: now }, None),
            HoeEstimator::Third { rtt, second } => (HoeEstimator::Done, rtt.checked_div((now - second).0)),
            HoeEstimator::Done => (HoeEstimator::Done, None),
        };
        *self = next;
        segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hoe_threshold_is_rtt_divided_by_ack_spacing() {
        let mut hoe = HoeEstimator::First { sent: None };
        hoe.on_sent(Time(100));
        hoe.on_sent(Time(500));
        assert_eq!(hoe.on_ack(Time(1100)), None);
        assert_eq!(hoe.on_ack(Time(2100)), None);
        assert_eq!(hoe.on_ack(Time(2109)), Some(1000 / 9));
        assert_eq!(hoe.on_ack(Time(2200)), None);
    }

    #[test]
    fn simultaneous_acks_give_no_estimate() {
        let mut hoe = HoeEstimator::Third {
            rtt: 7,
            second: Time(1),
        };
        assert_eq!(hoe.on_ack(Time(1)), None);
    }
}
