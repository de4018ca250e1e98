//! Congestion control: how much may be in flight. It returns values; it never reaches into the sender.

mod aimd;

use crate::config::CongestionKind;
use crate::flight::Flight;

/// The congestion control of one sender.
#[derive(Clone, Debug)]
pub enum Congestion {
    /// Slow start and congestion avoidance.
    Aimd,
}

impl Congestion {
    /// The control named by the configuration.
    pub fn new(kind: CongestionKind) -> Congestion {
        match kind {
            CongestionKind::Aimd => Congestion::Aimd,
        }
    }

    /// cwnd [byte] after one ACK that acknowledged new data.
    pub fn grown(&self, flight: &Flight) -> f64 {
        match self {
            Congestion::Aimd => aimd::grown(flight),
        }
    }

    /// Threshold [byte] after a loss was found.
    pub fn threshold(&self, flight: &Flight) -> f64 {
        match self {
            Congestion::Aimd => aimd::threshold(flight),
        }
    }
}
