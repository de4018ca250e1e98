//! Congestion control: how much may be in flight. It returns values; it never reaches into the sender.

mod aimd;
mod vegas;

use crate::config::{CongestionKind, TcpConfig};
use crate::flight::Flight;
use longpipe_events::Time;

/// The congestion control of one sender.
#[derive(Clone, Debug)]
pub enum Congestion {
    /// Slow start and congestion avoidance.
    Aimd {
        /// An ACK counts by the bytes it acknowledges.
        byte_counting: bool,
    },
    /// By the queueing that round trips show.
    Vegas(Box<vegas::Vegas>),
}

impl Congestion {
    /// The control named by the configuration.
    pub fn new(config: &TcpConfig) -> Congestion {
        match config.congestion {
            CongestionKind::Aimd => Congestion::Aimd {
                byte_counting: config.byte_counting,
            },
            CongestionKind::Vegas => Congestion::Vegas(Box::new(vegas::Vegas::new(config.vegas))),
        }
    }

    /// The segment `sequence..end` leaves, the first time or again.
    #[inline]
    pub fn on_sent(&mut self, now: Time, sequence: u64, end: u64) {
        match self {
            Congestion::Aimd { .. } => {}
            Congestion::Vegas(vegas) => vegas.on_sent(now, sequence, end),
        }
    }

    /// An ACK of `acked` new bytes came, which `flight` shows already.
    #[inline]
    pub fn on_ack(&mut self, now: Time, flight: &Flight, acked: u64) {
        match self {
            Congestion::Aimd { .. } => {}
            Congestion::Vegas(vegas) => vegas.on_ack(now, flight, acked),
        }
    }

    /// cwnd and ssthresh [byte] after one ACK that acknowledged `acked` bytes of new data.
    #[inline(always)]
    pub fn grown(&self, flight: &Flight, acked: u64) -> (f64, f64) {
        match *self {
            Congestion::Aimd { byte_counting } => {
                let counted = if byte_counting { acked } else { u64::from(flight.mss) };
                (aimd::grown(flight, counted), flight.ssthresh)
            }
            Congestion::Vegas(ref vegas) => vegas.grown(flight),
        }
    }

    /// Threshold [byte] after a loss was found.
    pub fn threshold(&self, flight: &Flight) -> f64 {
        match self {
            Congestion::Aimd { .. } | Congestion::Vegas(_) => aimd::threshold(flight),
        }
    }
}
