//! State of a sender for observers: as in Linux's TCP_INFO for packetdrill scripts, and for traces.

use super::Sender;
use crate::congestion::path_model::Model;
use crate::journal::CongestionState;
use crate::retransmission_queue::Count;
use longpipe_events::MaybeTime;
use strum::VariantNames;

/// State of a connection; counts are in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpInfo {
    /// Congestion window [byte].
    pub cwnd: f64,
    /// Slow start threshold [byte].
    pub ssthresh: f64,
    /// First byte that the application has not written yet.
    pub written: u64,
    /// First byte never sent.
    pub max: u64,
    /// First byte that has not been acknowledged.
    pub una: u64,
    /// Congestion state and segment counts; present only with RACK.
    pub records: Option<(CongestionState, Count)>,
}

/// State of a sender for observers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderState {
    /// Path model of the congestion controller, if it has one.
    pub model: Option<Model>,
    /// Pacing rate, as payload per second [bit/s]; None if the sender is not paced.
    pub pacing_bps: Option<u64>,
    /// Congestion state.
    pub state: CongestionState,
    /// Data in flight.
    pub sending: Sending,
}

/// Data in flight of a sender, and the constraint that prevents it from sending more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// Number of bytes sent but not acknowledged. With RACK, or if the congestion controller needs records, bytes that
    /// were SACKed or declared lost are not counted, either.
    pub in_flight: u64,
    /// Constraint that prevents the next new segment from being sent.
    pub limit: SendLimit,
}

/// Constraint that prevents a sender from sending its next new segment: the first variant that applies; of the two
/// windows, the smaller one counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum SendLimit {
    /// The application has written no more data, or not enough data for a segment.
    #[default]
    Application,
    /// The pacer.
    Pacing,
    /// The congestion window.
    Cwnd,
    /// The receiver's window.
    ReceiverWindow,
}

impl Sender {
    /// Returns the bytes in flight, and the constraint that prevents the sender from sending more.
    fn sending(&self) -> Sending {
        let flight = &self.flight;
        let (cc_state, mss) = (self.cc_state.as_deref(), u64::from(flight.mss));
        let in_flight = cc_state.map_or(flight.outstanding(), |cc_state| cc_state.in_flight(flight));
        let length = self.written.saturating_sub(flight.nxt).min(mss);
        let pacer = cc_state.and_then(|cc_state| cc_state.pacer.as_ref());
        let beyond_rwnd = flight.nxt + length > flight.una + flight.rwnd();
        let limit = if length == 0 {
            SendLimit::Application
        } else if pacer.is_some_and(|pacer| pacer.resume() != MaybeTime::NONE) {
            SendLimit::Pacing
        } else if beyond_rwnd && flight.rwnd() as f64 <= flight.cwnd() {
            // The receiver's window also bounds cwnd, so the two are equal here.
            SendLimit::ReceiverWindow
        } else if (in_flight + length) as f64 > flight.cwnd() {
            SendLimit::Cwnd
        } else if beyond_rwnd {
            SendLimit::ReceiverWindow
        } else {
            SendLimit::Application
        };
        Sending { in_flight, limit }
    }

    /// Returns the bitrate that the congestion control permits the application: that of its model of the path, or else cwnd
    /// per SRTT; 0 before the first RTT [bit/s].
    pub fn permitted_bps(&self) -> f64 {
        match (self.congestion.model(), self.rtt.srtt()) {
            (Some(model), _) => model.bandwidth_bps,
            (None, Some(srtt)) => 8.0 * self.flight.cwnd() / srtt.as_seconds(),
            (None, None) => 0.0,
        }
    }

    /// Returns the state for traces.
    pub fn state(&self) -> SenderState {
        SenderState {
            sending: self.sending(),
            model: self.congestion.model(),
            pacing_bps: self.pacing().map(|pacing| pacing.rate_bps),
            state: self.recovery.state(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::config;
    use crate::config::TcpConfig;
    use crate::segment::AckSegment;
    use longpipe_events::{Span, Time};

    /// Sends what the window allows at `now`. Returns the bytes in flight and the constraint that prevents the sender
    /// from sending more.
    fn sent(sender: &mut Sender, now: Time) -> (u64, SendLimit) {
        while sender.poll_transmit(now).is_some() {}
        let Sending { in_flight, limit } = sender.state().sending;
        (in_flight, limit)
    }

    #[test]
    fn a_sender_is_limited_by_the_smaller_window_or_the_application() {
        let config = TcpConfig {
            mss_bytes: 1000,
            initial_window_segments: 2,
            receiver_window_bytes: 3000,
            ..config()
        };
        let mut sender = Sender::new(&config, Span(0));
        assert_eq!(sent(&mut sender, Time(0)), (0, SendLimit::Application));
        sender.write_up_to(10_000);
        assert_eq!(sent(&mut sender, Time(0)), (2000, SendLimit::Cwnd));
        // Slow start would enlarge cwnd to four segments, but the receiver accepts only three.
        for acknowledgement in [1000, 2000] {
            let ack = AckSegment {
                acknowledgement,
                ..AckSegment::default()
            };
            sender.on_ack(Time(Span::millis(50).0), &ack);
        }
        assert_eq!(
            sent(&mut sender, Time(Span::millis(50).0)),
            (3000, SendLimit::ReceiverWindow)
        );
        sender.write_up_to(10_000);
        for acknowledgement in (3000..=10_000).step_by(1000) {
            let ack = AckSegment {
                acknowledgement,
                ..AckSegment::default()
            };
            sender.on_ack(Time(Span::millis(99).0), &ack);
            sent(&mut sender, Time(Span::millis(99).0));
        }
        assert_eq!(sent(&mut sender, Time(Span::millis(99).0)), (0, SendLimit::Application));
    }
}
