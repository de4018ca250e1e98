//! Conditions for a fast retransmit: number of duplicate ACKs, and minimum interval between fast retransmits.

use crate::congestion::flight::Flight;
use longpipe_events::{MaybeTime, Span, Time};

/// Conditions for the fast retransmits of one sender.
#[derive(Clone, Debug)]
pub struct Triggers {
    threshold: u32,
    interval: Span,
    latest: MaybeTime,
}

impl Triggers {
    /// Creates the conditions: `threshold` duplicate ACKs must have arrived, and `interval` must have passed since the
    /// previous fast retransmit.
    pub fn new(threshold: u32, interval: Span) -> Triggers {
        Triggers {
            threshold,
            interval,
            latest: MaybeTime::NONE,
        }
    }

    /// Returns the condition under which a duplicate ACK that arrives now triggers a fast retransmit.
    pub fn at(&self, now: Time) -> Trigger {
        Trigger {
            threshold: self.threshold,
            ready: self
                .latest
                .get()
                .is_none_or(|latest| now.since(latest) >= self.interval),
        }
    }

    /// Records a fast retransmit.
    pub fn on_fast_retransmit(&mut self, now: Time) {
        self.latest = now.into();
    }
}

/// Condition under which one duplicate ACK triggers a fast retransmit.
///
/// Two rules exist because the specifications differ. RFC 5681 section 3.2 triggers on the arrival of one certain ACK,
/// the third duplicate: if the guard or the minimum interval suppresses this fast retransmit, later duplicates do not
/// trigger it. RFC 6675 section 5 triggers as soon as DupAcks >= DupThresh or SND.UNA counts as lost, so a
/// suppressed fast retransmit takes place at a later duplicate.
#[derive(Clone, Copy, Debug)]
pub struct Trigger {
    /// Number of duplicate ACKs that indicates a loss.
    pub threshold: u32,
    ready: bool,
}

impl Trigger {
    /// Returns whether a fast retransmit is triggered by `duplicates` duplicate ACKs that report new data; fewer
    /// suffice if there is other `evidence` of a loss (RFC 6675 section 5).
    pub fn is_met_by(self, duplicates: u32, evidence: bool) -> bool {
        (duplicates >= self.threshold || evidence) && self.ready
    }

    /// Returns whether the latest duplicate ACK, which `flight` already counts, triggers a fast retransmit.
    pub fn fires(self, flight: &Flight) -> bool {
        flight.duplicates == self.threshold && self.ready
    }
}
