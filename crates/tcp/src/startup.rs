//! The threshold that a connection's first three ACKs suggest (Hoe 1996, section 3.1).

use longpipe_events::Time;

/// Times the first round trip, then the spacing of the second and third ACK.
#[derive(Clone, Copy, Debug)]
pub enum Startup {
    /// No ACK yet.
    First {
        /// When the first segment left.
        sent: Option<Time>,
    },
    /// One ACK.
    Second {
        /// First round-trip time [ps].
        rtt: u64,
    },
    /// Two ACKs.
    Third {
        /// First round-trip time [ps].
        rtt: u64,
        /// When the second ACK came.
        second: Time,
    },
    /// Nothing more to learn.
    Done,
}

impl Startup {
    /// A segment leaves.
    pub fn on_sent(&mut self, now: Time) {
        if let Startup::First { sent: sent @ None } = self {
            *sent = Some(now);
        }
    }

    /// An ACK came; the third one gives the bandwidth-delay product in whole segments, if they are spaced at all.
    pub fn on_ack(&mut self, now: Time) -> Option<u64> {
        let (next, segments) = match *self {
            Startup::First { sent } => {
                let rtt = sent.map_or(0, |sent| (now - sent).0);
                (Startup::Second { rtt }, None)
            }
            Startup::Second { rtt } => (Startup::Third { rtt, second: now }, None),
            Startup::Third { rtt, second } => (Startup::Done, rtt.checked_div((now - second).0)),
            Startup::Done => (Startup::Done, None),
        };
        *self = next;
        segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_the_round_trip_over_the_spacing_of_the_second_and_third_ack() {
        let mut startup = Startup::First { sent: None };
        startup.on_sent(Time(100));
        startup.on_sent(Time(500));
        assert_eq!(startup.on_ack(Time(1100)), None);
        assert_eq!(startup.on_ack(Time(2100)), None);
        assert_eq!(startup.on_ack(Time(2109)), Some(1000 / 9));
        assert_eq!(startup.on_ack(Time(2200)), None);
    }

    #[test]
    fn acks_at_one_instant_tell_nothing() {
        let mut startup = Startup::Third {
            rtt: 7,
            second: Time(1),
        };
        assert_eq!(startup.on_ack(Time(1)), None);
    }
}
