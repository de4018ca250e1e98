//! How a connection stands, as Linux's TCP_INFO tells it, for those who play scripts to a sender.

use super::Sender;
use crate::ledger::Count;
use crate::recovery::rack::State;

/// Counts are of segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Congestion window [byte].
    pub cwnd: f64,
    /// Slow start threshold [byte].
    pub ssthresh: f64,
    /// Bytes written, sent and acknowledged.
    pub written: u64,
    /// First byte never sent.
    pub max: u64,
    /// First byte not acknowledged.
    pub una: u64,
    /// What a recovery by records knows besides.
    pub records: Option<(State, Count)>,
}

impl Sender {
    /// How it stands.
    pub fn standing(&mut self) -> Standing {
        let state = self.recovery.by_records().map(|rack| rack.state());
        let ledger = self.told.as_deref().and_then(|told| told.ledger.as_ref());
        Standing {
            cwnd: self.flight.cwnd(),
            ssthresh: self.flight.ssthresh(),
            written: self.written,
            max: self.flight.max,
            una: self.flight.una,
            records: state.zip(ledger.map(|ledger| ledger.count())),
        }
    }

    /// The receiver advertises another window [byte].
    pub fn advertise(&mut self, window: u64) {
        self.flight.rwnd = window;
    }
}
